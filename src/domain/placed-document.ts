import { BlockChains } from './block-chains.ts'
import type { Document, DocumentKey } from './document.ts'
import { subjectOf, WHOLE_MARKET } from './document.ts'
import { PackedDocument } from './packed-document.ts'
import type { Facts } from './packed-facts.ts'
import { answeredLineOf, answeredOf, factsFrom } from './packed-facts.ts'

/** Address space; the system provides what is used. 230 coins use 20 MiB. Further documents are copied to the gateway. */
const MEMORY_BYTES_MAX = 128 * 2 ** 20

/** So many wait only for a gateway that has stopped reading; the memory would keep the size that they need. */
const WAITING_MAX = 1_000

/** What crosses between threads: the own properties of a {@link PlacedDocument}, which structured clone keeps. */
export type Placed = Omit<ConstructorParameters<typeof PackedDocument>[0], 'content'> & {
  /** Where the content of the packed document begins, and its length. */
  readonly first: number
  readonly length: number
}

/** A document as an engine sends it. */
export type SentDocument = Document | PlacedDocument

/**
 * A document in the memory that engine and gateway share. The engine writes others there after it has replaced this one
 * and the gateway has released it. It is therefore not a {@link Document} itself: a reader gets a copy.
 */
export class PlacedDocument implements Placed {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  readonly end: Uint8Array | undefined
  readonly factsLength: number
  readonly first: number
  readonly length: number
  /** null as soon as the content may change. */
  #chains: BlockChains | null

  constructor(
    { key, version, renderedAtMs, end, factsLength, first, length }: Placed,
    chains: BlockChains,
  ) {
    this.key = key
    this.version = version
    this.renderedAtMs = renderedAtMs
    this.end = end
    this.factsLength = factsLength
    this.first = first
    this.length = length
    this.#chains = chains
  }

  /** @returns undefined after {@link release} or {@link freeIfReleased} */
  copy(): PackedDocument | undefined {
    const content = this.#chains?.read(this.first, this.length)
    return content && new PackedDocument({ ...this, content })
  }

  /** @returns undefined as {@link copy} */
  facts(): Facts | undefined {
    const facts = this.#chains?.read(this.first, this.factsLength)
    return facts && factsFrom(facts)
  }

  hasAnswerIn(view: string): boolean {
    const facts = this.#chains?.read(this.first, this.factsLength)
    return facts !== undefined && answeredOf(answeredLineOf(facts)).includes(view)
  }

  /** Called by the gateway, for which it is another object than for the engine. */
  release(): void {
    this.#chains?.release(this.first)
    this.#chains = null
  }

  /** Called by the engine for a document that it has replaced. */
  freeIfReleased(): boolean {
    if (this.#chains?.isReleased(this.first) === false) return false
    this.#chains?.free(this.first)
    this.#chains = null
    return true
  }
}

/** Documents whose bytes nothing changes. */
export function ownDocuments(sent: readonly SentDocument[]): readonly Document[] {
  return sent.flatMap((document) =>
    document instanceof PlacedDocument ? (document.copy() ?? []) : document,
  )
}

/** Of one engine; a later one gets other memory, so documents of an engine that has ended never change. */
export function newDocumentMemory(bytesMax = MEMORY_BYTES_MAX): SharedArrayBuffer {
  return new SharedArrayBuffer(0, { maxByteLength: bytesMax })
}

/** The engine's side of the memory. */
export class DocumentMemory {
  readonly #chains: BlockChains
  readonly #newest = new Map<DocumentKey, PlacedDocument>()
  /** Not released yet. */
  #replaced: PlacedDocument[] = []

  constructor(memory: SharedArrayBuffer) {
    this.#chains = new BlockChains(memory)
  }

  /** @returns packed documents as they are if the memory is full or too many wait: the message to the gateway copies them */
  place(documents: readonly PackedDocument[]): readonly (PackedDocument | PlacedDocument)[] {
    this.#replaced = this.#replaced.filter((document) => !document.freeIfReleased())
    return documents.map((document) => {
      const { content, ...others } = document
      const first = this.#replaced.length < WAITING_MAX ? this.#chains.write(content) : null
      this.#replace(document.key)
      if (first === null) return document
      const placed = new PlacedDocument({ ...others, first, length: content.length }, this.#chains)
      this.#newest.set(document.key, placed)
      return placed
    })
  }

  /** Call it when the gateway is sent the list of coins, as the gateway releases the documents of all others then. */
  retain(coins: ReadonlySet<string>): void {
    for (const key of this.#newest.keys())
      if (subjectOf(key) !== WHOLE_MARKET && !coins.has(subjectOf(key))) this.#replace(key)
  }

  #replace(key: DocumentKey): void {
    const replaced = this.#newest.get(key)
    if (replaced === undefined) return
    this.#newest.delete(key)
    this.#replaced.push(replaced)
  }
}

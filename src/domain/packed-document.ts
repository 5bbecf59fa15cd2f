import type { Document, DocumentKey, NumberedViews, Part, View } from './document.ts'
import { bytesOf, viewOf } from './document.ts'
import type { Facts } from './packed-facts.ts'
import { answeredLineOf, answeredOf, factsFrom, packFacts } from './packed-facts.ts'

/** What crosses between threads: the own properties of a {@link PackedDocument}, which structured clone keeps. */
type Packed = {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  /** The bytes before {@link Document.tail}; {@link sharedBytes}. */
  readonly head: Uint8Array
  readonly end: Uint8Array | undefined
  /** As `packFacts` writes them. */
  readonly facts: Uint8Array
}

/**
 * A document whose parts and views are JSON in shared memory until they are read. As objects they take 5 kB in each
 * thread, and cloning them costs more than writing them as JSON; most documents are replaced before a buyer reads them.
 */
export class PackedDocument implements Document, Packed {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  readonly head: Uint8Array
  // Not named as in `Document`, whose readers would add it to `bytes`.
  readonly end: Uint8Array | undefined
  readonly facts: Uint8Array
  #read: Facts | null = null

  constructor({ key, version, renderedAtMs, head, end, facts }: Packed) {
    this.key = key
    this.version = version
    this.renderedAtMs = renderedAtMs
    this.head = head
    this.end = end
    this.facts = facts
  }

  get bytes(): Uint8Array {
    return bytesOf({ bytes: this.head, tail: this.end })
  }

  get nextUpdateMs(): number | undefined {
    return this.#facts().nextUpdateMs
  }

  get parts(): readonly Part[] {
    return this.#facts().parts
  }

  get views(): Readonly<Record<string, View>> {
    return this.#facts().views
  }

  get numbered(): NumberedViews | undefined {
    return this.#facts().numbered
  }

  /** Reads the first line alone: all facts take twenty times as long. */
  hasAnswerIn(view: string): boolean {
    return answeredOf(answeredLineOf(this.facts)).includes(view)
  }

  /** Always the same objects for the same document. */
  #facts(): Facts {
    this.#read ??= factsFrom(this.facts)
    return this.#read
  }
}

/** Whether a view, which is not a numbered one, has an answer. */
export function hasAnswerIn(document: Document, view: string): boolean {
  return document.hasAnswerIn?.(view) ?? viewOf(document, view)?.kind === 'answer'
}

/** @returns the same object for a packed document */
export function packDocument(document: Document): PackedDocument {
  if (document instanceof PackedDocument) return document
  const { key, version, renderedAtMs, bytes, tail } = document
  const facts = packFacts(document)
  return new PackedDocument({ key, version, renderedAtMs, head: bytes, end: tail, facts })
}

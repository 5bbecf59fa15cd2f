import type { Document, DocumentKey, NumberedViews, Part, View } from './document.ts'
import { viewOf } from './document.ts'
import { bytesOf } from './document-bytes.ts'
import type { Facts } from './packed-facts.ts'
import { answeredLineOf, answeredOf, factsFrom, packFacts } from './packed-facts.ts'

/** What crosses between threads: the own properties of a {@link PackedDocument}, which structured clone keeps. */
type Packed = {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  /** Facts, as `packFacts` writes them, then the bytes before {@link Document.tail}. */
  readonly content: Uint8Array
  readonly factsLength: number
  readonly end: Uint8Array | undefined
}

/**
 * A document whose parts and views are JSON until they are read. As objects they take 5 kB in each
 * thread, and cloning them costs more than writing them as JSON; most documents are replaced before a buyer reads them.
 */
export class PackedDocument implements Document, Packed {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  readonly content: Uint8Array
  readonly factsLength: number
  // Not named as in `Document`, whose readers would add it to `bytes`.
  readonly end: Uint8Array | undefined
  #read: Facts | null = null

  constructor({ key, version, renderedAtMs, content, factsLength, end }: Packed) {
    this.key = key
    this.version = version
    this.renderedAtMs = renderedAtMs
    this.content = content
    this.factsLength = factsLength
    this.end = end
  }

  get facts(): Uint8Array {
    return this.content.subarray(0, this.factsLength)
  }

  get head(): Uint8Array {
    return this.content.subarray(this.factsLength)
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
  const content = new Uint8Array(facts.length + bytes.length)
  content.set(facts)
  content.set(bytes, facts.length)
  return new PackedDocument({
    ...{ key, version, renderedAtMs, content, factsLength: facts.length, end: tail },
  })
}

import type { Document, DocumentKey, NumberedViews, Part, View } from '../../domain/document.ts'
import { PackedDocument } from '../../domain/packed-document.ts'
import { answeredOf } from '../../domain/packed-facts.ts'
import type { DocumentContent } from './document-content.ts'
import { readContent } from './document-content.ts'

export type Mirrored = Pick<PackedDocument, 'key' | 'version' | 'renderedAtMs' | 'end'> & {
  /** The line of the facts that lists the views with an answer: it is read of every version, the content of few. */
  readonly answered: Uint8Array
  readonly content: DocumentContent
}

/** A gateway's copy of a document, inflated when it is read: most are replaced before a buyer reads them. */
export class MirroredDocument implements Document {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  readonly end: Uint8Array | undefined
  #held: Pick<Mirrored, 'answered' | 'content'> | PackedDocument

  constructor({ key, version, renderedAtMs, answered, content, end }: Mirrored) {
    this.key = key
    this.version = version
    this.renderedAtMs = renderedAtMs
    this.end = end
    this.#held = { answered, content }
  }

  get bytes(): Uint8Array {
    return this.#read().bytes
  }

  get nextUpdateMs(): number | undefined {
    return this.#read().nextUpdateMs
  }

  get parts(): readonly Part[] {
    return this.#read().parts
  }

  get views(): Readonly<Record<string, View>> {
    return this.#read().views
  }

  get numbered(): NumberedViews | undefined {
    return this.#read().numbered
  }

  hasAnswerIn(view: string): boolean {
    if (this.#held instanceof PackedDocument) return this.#held.hasAnswerIn(view)
    return answeredOf(this.#held.answered).includes(view)
  }

  /** What is read replaces what was carried, so that both are never held. */
  #read(): PackedDocument {
    if (this.#held instanceof PackedDocument) return this.#held
    const { key, version, renderedAtMs, end } = this
    const read = readContent(this.#held.content)
    this.#held = new PackedDocument({ key, version, renderedAtMs, end, ...read })
    return this.#held
  }
}

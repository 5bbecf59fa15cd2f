import type { Document, DocumentKey, NumberedViews, Part, View } from './document.ts'
import { bytesOf, sharedBytes, viewOf } from './document.ts'

/** What crosses between threads: the own properties of a {@link PackedDocument}, which structured clone keeps. */
type Packed = {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  /** The bytes before {@link Document.tail}; {@link sharedBytes}. */
  readonly head: Uint8Array
  readonly end: Uint8Array | undefined
  /** Two lines of JSON in UTF-8: keys of the views that have an answer, numbered ones left out; {@link PackedFacts}. */
  readonly facts: Uint8Array
}

/** All members of a document except its bytes. */
export type PackedFacts = Omit<Document, 'bytes' | 'tail' | 'hasAnswerIn'>

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
  #read: PackedFacts | null = null

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

  /** Reads the first line alone: all facts take fifty times as long. */
  hasAnswerIn(view: string): boolean {
    return answeredOf(answeredLineOf(this.facts)).includes(view)
  }

  /** Always the same objects for the same document. */
  #facts(): PackedFacts {
    this.#read ??= factsFrom(this.facts)
    return this.#read
  }
}

const decoder = new TextDecoder()
const LINE_END = 0x0a

/** Whether a view, which is not a numbered one, has an answer. */
export function hasAnswerIn(document: Document, view: string): boolean {
  return document.hasAnswerIn?.(view) ?? viewOf(document, view)?.kind === 'answer'
}

/** @returns the same object for a packed document */
export function packDocument(document: Document): PackedDocument {
  if (document instanceof PackedDocument) return document
  const { key, version, renderedAtMs, bytes, tail } = document
  const facts = factsOf(document)
  return new PackedDocument({ key, version, renderedAtMs, head: bytes, end: tail, facts })
}

function factsOf({ bytes: _, tail: __, ...facts }: Document): Uint8Array {
  const { parts, numbered, views } = facts
  const answered = Object.keys(views).filter((key) => views[key]?.kind === 'answer')
  const text = `${JSON.stringify(answered)}\n${JSON.stringify({
    ...facts,
    parts: parts.map((part) =>
      part.kind === 'choice'
        ? { ...part, starts: Array.from(part.starts), ends: Array.from(part.ends) }
        : part,
    ),
    numbered: numbered && { ...numbered, outcomeOf: Array.from(numbered.outcomeOf) },
  })}`
  const shared = sharedBytes(Buffer.byteLength(text))
  new TextEncoder().encodeInto(text, shared)
  return shared
}

/**
 * The members in the order of the document, which the checksums of recordings cover.
 * @throws SyntaxError, and TypeError for other JSON than {@link packDocument} writes
 */
export function factsFrom(facts: Uint8Array): PackedFacts {
  const [answered, all] = linesOf(facts)
  answeredOf(answered)
  const read: PackedFacts = JSON.parse(decoder.decode(all))
  const { parts, numbered } = read
  return {
    ...read,
    parts: parts.map((part) =>
      part.kind === 'choice'
        ? { ...part, starts: Uint32Array.from(part.starts), ends: Uint32Array.from(part.ends) }
        : part,
    ),
    ...(numbered && {
      numbered: { ...numbered, outcomeOf: Uint8Array.from(numbered.outcomeOf) },
    }),
  }
}

/** The line of facts that lists the views with an answer. */
export function answeredLineOf(facts: Uint8Array): Uint8Array {
  return linesOf(facts)[0]
}

/** @throws SyntaxError, and TypeError for other JSON */
export function answeredOf(line: Uint8Array): readonly string[] {
  const answered: unknown = JSON.parse(decoder.decode(line))
  if (!Array.isArray(answered)) throw new TypeError('the first line of facts lists views')
  return answered
}

/** JSON has no line end of its own. */
function linesOf(facts: Uint8Array): readonly [Uint8Array, Uint8Array] {
  const end = facts.indexOf(LINE_END)
  return [facts.subarray(0, end), facts.subarray(end + 1)]
}

import type { DocumentKey } from '../../domain/document.ts'
import type { PackedDocument } from '../../domain/packed-document.ts'
import { answeredLineOf } from '../../domain/packed-facts.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { contentOf } from './document-content.ts'
import type { Mirrored } from './mirrored-document.ts'
import { MirroredDocument } from './mirrored-document.ts'

/**
 * A document as it travels. Its end outlives many versions, so it has a part of its own; `held`: the receiver has it from
 * an earlier version.
 */
export type CarriedDocument = Omit<Mirrored, 'end'> & {
  readonly end: Uint8Array | 'held' | undefined
}

/** `key`: name of the part in the broker. */
export type DocumentPart = {
  readonly key: string
  readonly write: (to: ByteWriter) => void
}

const partKinds = ['document', 'end'] as const

/** No key of a document has this character. */
const END = '#'

export function documentParts(document: CarriedDocument): readonly DocumentPart[] {
  const { key, end } = document
  const own = { key, write: (to: ByteWriter) => writeDocument(to, document) }
  if (end === undefined || end === 'held') return [own]
  return [own, { key: key + END, write: (to: ByteWriter) => writeEnd(to, key, end) }]
}

function writeDocument(to: ByteWriter, document: CarriedDocument): void {
  to.u8(partKinds.indexOf('document'))
  to.text(document.key)
  to.f64(document.version)
  to.f64(document.renderedAtMs)
  to.u8(document.end === undefined ? 0 : 1)
  to.bytes(document.answered)
  to.u32(document.content.factsLength)
  to.u32(document.content.length)
  to.bytes(document.content.bytes)
}

function writeEnd(to: ByteWriter, key: DocumentKey, end: Uint8Array): void {
  to.u8(partKinds.indexOf('end'))
  to.text(key)
  to.bytes(end)
}

/**
 * @param parts in any order
 * @throws RangeError for bytes that are not a document
 */
export function carriedDocuments(parts: readonly ByteReader[]): readonly CarriedDocument[] {
  const ends = new Map<DocumentKey, Uint8Array>()
  const documents: CarriedDocument[] = []
  for (const part of parts) {
    const kind = partKinds[part.u8()]
    const key = part.text()
    if (!isDocumentKey(key)) throw new RangeError(`"${key}" is not the key of a document`)
    if (kind === 'end') ends.set(key, part.bytes())
    else documents.push(readDocument(part, key))
    if (kind === undefined || part.left > 0) throw new RangeError(`${key} has another form`)
  }
  return documents.map((document) =>
    document.end === 'held' ? { ...document, end: ends.get(document.key) ?? 'held' } : document,
  )
}

function readDocument(from: ByteReader, key: DocumentKey): CarriedDocument {
  const [version, renderedAtMs] = [from.f64(), from.f64()]
  const end = from.u8() === 0 ? undefined : 'held'
  const answered = from.bytes()
  const content = { factsLength: from.u32(), length: from.u32(), bytes: from.bytes() }
  return { key, version, renderedAtMs, answered, content, end }
}

/** @returns null if the end of its bytes is missing */
export function completedDocument(
  carried: CarriedDocument,
  before: MirroredDocument | undefined,
): MirroredDocument | null {
  const { end } = carried
  if (end !== 'held') return new MirroredDocument({ ...carried, end })
  return before?.end === undefined ? null : new MirroredDocument({ ...carried, end: before.end })
}

/** @param earlier end that the receiver has */
export function carriedFrom(
  document: PackedDocument,
  earlier: Uint8Array | undefined,
): CarriedDocument {
  const { key, version, renderedAtMs, facts, end } = document
  const isHeld = end !== undefined && earlier !== undefined && Buffer.compare(end, earlier) === 0
  return {
    ...{ key, version, renderedAtMs, answered: answeredLineOf(facts) },
    ...{ content: contentOf(document), end: isHeld ? 'held' : end },
  }
}

function isDocumentKey(text: string): text is DocumentKey {
  return text.includes('/')
}

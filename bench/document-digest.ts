import { createHash } from 'node:crypto'
import type { Document } from '../src/domain/document.ts'
import { bytesOf } from '../src/domain/document-bytes.ts'

/** Time that nothing sets, the same in all processes of a machine, milliseconds. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Of everything that a reader can see of a document. */
export function digestOf(document: Document): string {
  const { key, version, renderedAtMs, parts, views, numbered } = document
  return createHash('sha256')
    .update(JSON.stringify([key, version, renderedAtMs, parts, views, numbered], sorted))
    .update(bytesOf(document))
    .digest('hex')
}

/** The order of members does not matter to a reader. */
function sorted(_key: string, value: unknown): unknown {
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}

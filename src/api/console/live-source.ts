import { crc32 } from 'node:zlib'
import type { ConsoleRefusal } from '../../domain/console-protocol.ts'
import type { Refusal } from '../send-problem.ts'

/** What a page can follow: documents by the path of their call, such as `/pulse/BTC?timeframes=1h`. */
export interface LiveSource {
  /** A document to follow, or why there is none of this name. */
  open(name: string): LiveDocument | Refusal
}

export type LiveDocument = {
  readonly kind: 'document'
  /** null before there is anything to show. */
  newest(): LiveVersion | null
}

/** One version of a document. */
export type LiveVersion = {
  /** Differs between versions; no space or comma. */
  readonly version: string
  /** Instant for which `body` states ages, Unix milliseconds. */
  readonly atMs: number
  /** JSON of the answer, or of the refusal that a call would get now. */
  readonly body: { readonly answer: string } | { readonly refusal: string }
}

/** What a page shows in place of an answer. Another code or detail is another version. */
export function refusedVersion({ code, facts }: Refusal, atMs: number): LiveVersion {
  const shown: ConsoleRefusal = { code, detail: facts.detail }
  const version = `refused-${code}-${crc32(facts.detail).toString(36)}`
  return { version, atMs, body: { refusal: JSON.stringify(shown) } }
}

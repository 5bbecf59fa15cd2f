import type { Clock } from '../../domain/clock.ts'
import { isRecord, parsedJson } from '../../domain/json.ts'

export type FacilitatorClientOptions = {
  readonly url: string
  /** Value of the `Authorization` header, such as `Bearer …`. */
  readonly authorization?: string
  readonly clock: Clock
}

export type FacilitatorQuery = {
  readonly path: 'verify' | 'settle' | 'supported'
  /** Sent by POST; without it the request is a GET. */
  readonly body?: unknown
  readonly msMax: number
  readonly bytesMax: number
}

/** Response of a facilitator with any status. */
export type FacilitatorReply = {
  readonly status: number
  /** null if it is not a JSON object, or too long. */
  readonly body: Readonly<Record<string, unknown>> | null
  /** Its beginning in printable characters, for logs. */
  readonly excerpt: string
  readonly retryAfterSeconds: number | null
  /** Header `EXTENSION-RESPONSES`; null if it is invalid. */
  readonly extensionResponses: string | null
}

const EXCERPT_CHARS_MAX = 200
/** Upper bound of the wait that a buyer is given. */
const RETRY_AFTER_SECONDS_MAX = 3_600
/** With the other payment headers it must fit into the 16 KiB that clients read. */
const EXTENSION_RESPONSES_CHARS_MAX = 2_048

/**
 * One request to a facilitator. The client of the SDK reads replies of any length, prints to standard output, and drops
 * `Retry-After` and, for refusals, `EXTENSION-RESPONSES`.
 * @throws Error without a complete response; its `cause` is that of `fetch`
 */
export async function askFacilitator(
  { url, authorization, clock }: FacilitatorClientOptions,
  { path, body, msMax, bytesMax }: FacilitatorQuery,
): Promise<FacilitatorReply> {
  const abort = new AbortController()
  const cancel = clock.after(msMax, () => abort.abort())
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(authorization === undefined ? {} : { authorization }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: abort.signal,
    })
    const text = await boundedText(response, bytesMax)
    const reply = text === null ? null : parsedJson(text)
    return {
      status: response.status,
      body: isRecord(reply) ? reply : null,
      excerpt: text === null ? `(longer than ${bytesMax} bytes)` : excerptOf(text),
      retryAfterSeconds: retryAfterOf(response, clock.nowMs()),
      extensionResponses: extensionResponsesOf(response),
    }
  } catch (cause) {
    if (abort.signal.aborted) throw new Error(`no answer within ${msMax} ms`)
    throw cause
  } finally {
    cancel()
  }
}

/** @returns null above `bytesMax`; the remainder is not read */
async function boundedText(response: Response, bytesMax: number): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function excerptOf(text: string): string {
  const printable = text.slice(0, 2 * EXCERPT_CHARS_MAX).replace(/[^\x21-\x7e]+/g, ' ')
  return printable.trim().slice(0, EXCERPT_CHARS_MAX) || '(empty)'
}

/** RFC 9110: seconds or a date. */
function retryAfterOf({ headers }: Response, nowMs: number): number | null {
  const text = headers.get('retry-after') ?? ''
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1_000
  return seconds > 0 ? Math.min(Math.ceil(seconds), RETRY_AFTER_SECONDS_MAX) : null
}

/** Base64 of a JSON object: a result for each extension. */
function extensionResponsesOf({ headers }: Response): string | null {
  const text = headers.get('extension-responses') ?? ''
  if (text.length > EXTENSION_RESPONSES_CHARS_MAX) return null
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null
  return isRecord(parsedJson(Buffer.from(text, 'base64').toString('utf8'))) ? text : null
}

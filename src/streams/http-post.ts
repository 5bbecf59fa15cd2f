import { Observable } from 'rxjs'
import { request } from 'undici'
import { OperatingError } from '../domain/errors.ts'
import type { HttpReply, Post } from './runtime.ts'

/** 5,000 candles have about 1 MB. */
const REPLY_BYTES_MAX = 16 * 1024 * 1024
const HEADERS_MS_MAX = 10_000
/** Between two pieces of the body; the caller bounds the whole. */
const BODY_SILENCE_MS_MAX = 10_000

/** One exchange, never repeated here: only the caller knows what a repetition costs. */
export const postJson: Post = (url, body) =>
  new Observable<HttpReply>((subscriber) => {
    const abort = new AbortController()
    exchange(url, body, abort.signal).then(
      (reply) => {
        subscriber.next(reply)
        subscriber.complete()
      },
      (cause: unknown) => {
        subscriber.error(
          cause instanceof OperatingError
            ? cause
            : new OperatingError('request_failed', `${url}: ${String(cause)}`, { cause }),
        )
      },
    )
    return () => abort.abort()
  })

async function exchange(url: string, body: unknown, signal: AbortSignal): Promise<HttpReply> {
  const response = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    headersTimeout: HEADERS_MS_MAX,
    bodyTimeout: BODY_SILENCE_MS_MAX,
    signal,
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    const piece = Buffer.from(chunk)
    bytes += piece.byteLength
    // Leaving the loop destroys the body and its connection.
    if (bytes > REPLY_BYTES_MAX) throw new OperatingError('reply_too_large', url)
    chunks.push(piece)
  }
  return { status: response.statusCode, body: Buffer.concat(chunks).toString('utf8') }
}

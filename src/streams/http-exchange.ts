import { Observable } from 'rxjs'
import { request } from 'undici'
import { OperatingError } from '../domain/errors.ts'
import { hostOf } from '../domain/host-of.ts'
import type { Follow, Get, HttpHeaders, HttpReply, Post } from './runtime.ts'

/** 5,000 candles have about 1 MB, all data packages of an oracle network about 5 MB. */
const REPLY_BYTES_MAX = 16 * 1024 * 1024
const HEADERS_MS_MAX = 10_000
/** Limit between two chunks of the body; the caller bounds the whole exchange. */
const BODY_SILENCE_MS_MAX = 10_000
/** A followed response sends a chunk every few seconds. */
const FOLLOWED_SILENCE_MS_MAX = 60_000

/** The server answered with another status than expected. */
export class HttpStatusError extends OperatingError {
  readonly status: number

  constructor(status: number, url: string) {
    super('http_status', `${hostOf(url)} answered ${status}`)
    this.status = status
  }
}

type HttpRequest = {
  readonly method: 'GET' | 'POST'
  readonly headers: HttpHeaders
  readonly body?: string
}

/** One request without retries: only the caller knows their cost. */
export const postJson: Post = (url, body) =>
  exchange(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

export const getText: Get = (url, headers = {}) => exchange(url, { method: 'GET', headers })

export const followText: Follow = (url, headers = {}) =>
  new Observable<string>((subscriber) => {
    const abort = new AbortController()
    const read = async () => {
      const response = await request(url, {
        method: 'GET',
        headers,
        headersTimeout: HEADERS_MS_MAX,
        bodyTimeout: FOLLOWED_SILENCE_MS_MAX,
        signal: abort.signal,
      })
      if (response.statusCode !== 200) {
        // An unread body keeps the connection busy.
        await response.body.dump()
        throw new HttpStatusError(response.statusCode, url)
      }
      // Not `setEncoding`: undici decodes each chunk alone, and a character may span two.
      const decoder = new TextDecoder()
      for await (const piece of response.body as AsyncIterable<Buffer>)
        subscriber.next(decoder.decode(piece, { stream: true }))
    }
    read().then(
      () => subscriber.complete(),
      (cause: unknown) => subscriber.error(operatingError(url, cause)),
    )
    return () => abort.abort()
  })

function exchange(url: string, options: HttpRequest): Observable<HttpReply> {
  return new Observable<HttpReply>((subscriber) => {
    const abort = new AbortController()
    readReply(url, options, abort.signal).then(
      (reply) => {
        subscriber.next(reply)
        subscriber.complete()
      },
      (cause: unknown) => subscriber.error(operatingError(url, cause)),
    )
    return () => abort.abort()
  })
}

async function readReply(
  url: string,
  options: HttpRequest,
  signal: AbortSignal,
): Promise<HttpReply> {
  const response = await request(url, {
    ...options,
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
    if (bytes > REPLY_BYTES_MAX) throw new OperatingError('reply_too_large', hostOf(url))
    chunks.push(piece)
  }
  return { status: response.statusCode, body: Buffer.concat(chunks).toString('utf8') }
}

function operatingError(url: string, cause: unknown): OperatingError {
  if (cause instanceof OperatingError) return cause
  return new OperatingError('request_failed', `${hostOf(url)}: ${String(cause)}`, { cause })
}

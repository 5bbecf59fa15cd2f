import { Observable } from 'rxjs'
import { request } from 'undici'
import { OperatingError } from '../domain/errors.ts'
import type { Follow, Get, HttpHeaders, HttpReply, Post } from './runtime.ts'

/** 5,000 candles have about 1 MB, all data packages of an oracle network some 5. */
const REPLY_BYTES_MAX = 16 * 1024 * 1024
const HEADERS_MS_MAX = 10_000
/** Between two pieces of the body; the caller bounds the whole. */
const BODY_SILENCE_MS_MAX = 10_000
/** What is followed says something every few seconds. */
const FOLLOWED_SILENCE_MS_MAX = 60_000

/** A server refused in plain words. */
export class HttpStatusError extends OperatingError {
  readonly status: number

  constructor(status: number, url: string) {
    super('http_status', `${url} answered ${status}`)
    this.status = status
  }
}

type Question = {
  readonly method: 'GET' | 'POST'
  readonly headers: HttpHeaders
  readonly body?: string
}

/** One exchange, never repeated here: only the caller knows what a repetition costs. */
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
        // Unread, it would hold the connection.
        await response.body.dump()
        throw new HttpStatusError(response.statusCode, url)
      }
      // Not `setEncoding`: undici's decodes each piece for itself, and a character may lie across two.
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

function exchange(url: string, question: Question): Observable<HttpReply> {
  return new Observable<HttpReply>((subscriber) => {
    const abort = new AbortController()
    ask(url, question, abort.signal).then(
      (reply) => {
        subscriber.next(reply)
        subscriber.complete()
      },
      (cause: unknown) => subscriber.error(operatingError(url, cause)),
    )
    return () => abort.abort()
  })
}

async function ask(url: string, question: Question, signal: AbortSignal): Promise<HttpReply> {
  const response = await request(url, {
    ...question,
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

function operatingError(url: string, cause: unknown): OperatingError {
  if (cause instanceof OperatingError) return cause
  return new OperatingError('request_failed', `${url}: ${String(cause)}`, { cause })
}

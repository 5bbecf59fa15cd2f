import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../domain/clock.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import { callerKey } from '../../payment/rate-limit.ts'
import type { Refusal } from '../send-problem.ts'
import { refusal, sendRefusal } from '../send-problem.ts'
import { unknownQueryParameter } from '../unknown-parameter.ts'
import { CONSOLE_PATH } from './console-page.ts'
import type { LiveDocument, LiveSource, LiveVersion } from './live-source.ts'
import { refusedVersion } from './live-source.ts'

export type LiveStreamOptions = {
  readonly source: LiveSource
  readonly engine: EngineReader
  readonly clock: Clock
  /** Whether the caller may still read; without it everyone may. */
  readonly isGranted?: (request: FastifyRequest) => boolean
}

/** Documents change about once a second. */
const PERIOD_MS = 500
/** A page without an event for 5 s says that the connection is lost. */
const SERVICE_PERIOD_MS = 2_000
const DOCUMENTS_MAX = 32
const STREAMS_MAX = 256
/** Pages of an office behind one address. */
const STREAMS_PER_ADDRESS_MAX = 16
/** A page that reads nothing for so long is disconnected. */
const STALLED_MS_MAX = 30_000

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // nginx would collect the events.
  'x-accel-buffering': 'no',
} as const

/**
 * `GET /console/live?document=<name>&document=<name>`: server-sent events with the newest version of each document. There
 * is no queue: what a slow page misses, it does not get.
 */
export function liveStream(app: FastifyInstance, options: LiveStreamOptions): void {
  const { clock, isGranted = () => true } = options
  const streams = new Set<Stream>()
  let stop: (() => void) | null = null
  const close = (stream: Stream) => {
    streams.delete(stream)
    if (streams.size > 0) return
    stop?.()
    stop = null
  }
  app.addHook('preClose', (done) => {
    for (const { response } of streams) response.end()
    done()
  })

  app.get(`${CONSOLE_PATH}/live`, { exposeHeadRoute: false }, (request, reply) => {
    const caller = callerKey(request.ip)
    const own = ofCaller(streams, caller).length
    const isFull = streams.size >= STREAMS_MAX
    const ending = isFull ? replaceable(streams, own) : undefined
    const isRefused = own >= STREAMS_PER_ADDRESS_MAX || (isFull && ending === undefined)
    const opened = isRefused ? tooMany() : openAll(request, options.source)
    if ('kind' in opened) {
      sendRefusal(reply, opened)
      return
    }
    if (ending !== undefined) {
      streams.delete(ending)
      ending.response.destroy()
    }
    const stream = begin(request, reply, opened, { caller, nowMs: clock.nowMs() })
    // A pipelined request can come after the end of its connection, which emits no further `close`.
    if (stream.response.destroyed) return
    stream.response.once('close', () => close(stream))
    streams.add(stream)
    const sendAll = () => {
      const rendered = new Map<string, { readonly version: string; readonly data: string }>()
      for (const each of streams) {
        if (isGranted(each.request)) send(each, options, rendered)
        else {
          close(each)
          each.response.destroy()
        }
      }
    }
    send(stream, options, new Map())
    stop ??= clock.every(PERIOD_MS, sendAll)
  })
}

type Stream = {
  readonly request: FastifyRequest
  readonly response: ServerResponse
  readonly caller: string
  readonly documents: readonly (readonly [name: string, document: LiveDocument])[]
  /** In the order of `documents`; '' for none. */
  readonly sentVersions: string[]
  sentEngineState: string
  sentServiceAtMs: number
  readableAtMs: number
}

function ofCaller(streams: ReadonlySet<Stream>, caller: string): readonly Stream[] {
  return [...streams].filter((stream) => stream.caller === caller)
}

/**
 * The oldest stream of the address with the most, so a few addresses cannot shut out the others.
 * @param own streams of the caller. @returns undefined if that address would keep fewer than the caller then has
 */
function replaceable(streams: ReadonlySet<Stream>, own: number): Stream | undefined {
  let most: readonly Stream[] = []
  for (const caller of new Set(Array.from(streams, (stream) => stream.caller))) {
    const theirs = ofCaller(streams, caller)
    if (theirs.length > most.length) most = theirs
  }
  return most.length > own + 1 ? most[0] : undefined
}

function tooMany(): Refusal {
  return refusal('rate_limited', {
    detail: 'Too many pages of the console are open. Close some, or try again later.',
    retryAfterSeconds: 30,
  })
}

function openAll(request: FastifyRequest, source: LiveSource): Stream['documents'] | Refusal {
  const unknown = unknownQueryParameter(request.query, ['document'])
  if (unknown !== null) return unknown
  const { document = [] } = request.query as { readonly document?: string | readonly string[] }
  const names = [document].flat()
  if (names.length > DOCUMENTS_MAX)
    return refusal('invalid_parameter', {
      detail: `document may occur at most ${DOCUMENTS_MAX} times.`,
      param: 'document',
    })
  const documents: [string, LiveDocument][] = []
  for (const name of new Set(names)) {
    const opened = source.open(name)
    documents.push([name, opened.kind === 'document' ? opened : alwaysRefused(opened)])
  }
  return documents
}

/** One unknown name does not end the stream of the others. */
function alwaysRefused(refused: Refusal): LiveDocument {
  return { kind: 'document', newest: () => refusedVersion(refused, 0) }
}

function begin(
  request: FastifyRequest,
  reply: FastifyReply,
  documents: Stream['documents'],
  { caller, nowMs }: { readonly caller: string; readonly nowMs: number },
): Stream {
  reply.hijack()
  const response = reply.raw
  response.writeHead(200, streamHeaders)
  return {
    ...{ request, response, caller, documents },
    sentVersions: versionsOf(request.headers['last-event-id'], documents.length),
    sentEngineState: '',
    sentServiceAtMs: Number.NEGATIVE_INFINITY,
    readableAtMs: nowMs,
  }
}

/** The versions that a page has, from the id of its last event. */
function versionsOf(lastEventId: string | string[] | undefined, count: number): string[] {
  const versions = String(lastEventId ?? '').split(',')
  return versions.length === count ? versions : Array.from({ length: count }, () => '')
}

/** @param rendered events of this turn by name, which all pages share */
function send(
  stream: Stream,
  { engine, clock }: LiveStreamOptions,
  rendered: Map<string, { readonly version: string; readonly data: string }>,
): void {
  const { response, documents, sentVersions } = stream
  const nowMs = clock.nowMs()
  if (response.writableNeedDrain) {
    if (nowMs - stream.readableAtMs > STALLED_MS_MAX) response.destroy()
    return
  }
  stream.readableAtMs = nowMs
  let events = ''
  const state = engine.state(nowMs)
  if (
    state !== stream.sentEngineState ||
    Math.abs(nowMs - stream.sentServiceAtMs) >= SERVICE_PERIOD_MS
  ) {
    events += `event: service\ndata: ${JSON.stringify({ engine: state, now: nowMs })}\n\n`
    stream.sentEngineState = state
    stream.sentServiceAtMs = nowMs
  }
  for (const [at, [name, document]] of documents.entries()) {
    const newest = document.newest()
    if (newest === null || newest.version === sentVersions[at]) continue
    const known = rendered.get(name)
    const event =
      known?.version === newest.version
        ? known
        : { version: newest.version, data: dataOf(name, newest) }
    rendered.set(name, event)
    sentVersions[at] = newest.version
    events += `event: document\nid: ${sentVersions.join()}\ndata: ${event.data}\n\n`
  }
  if (events !== '') response.write(events)
}

/** An answer is one line of JSON, so it is one line of the event. */
function dataOf(name: string, { version, atMs, body }: LiveVersion): string {
  const head = `{"name":${JSON.stringify(name)},"version":${JSON.stringify(version)},"at":${atMs}`
  return 'answer' in body
    ? `${head},"answer":${body.answer}}`
    : `${head},"refusal":${body.refusal}}`
}

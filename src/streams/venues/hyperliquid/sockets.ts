import type { Observable } from 'rxjs'
import {
  catchError,
  concat,
  concatMap,
  defer,
  filter,
  ignoreElements,
  interval,
  map,
  merge,
  of,
  retry,
  tap,
  throwError,
  timer,
} from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch, FeedStatusEvent } from '../../../domain/event.ts'
import { admission } from '../../admission.ts'
import type { Runtime } from '../../runtime.ts'
import { TokenBucket } from '../../token-bucket.ts'
import type { Backfill } from './backfill.ts'
import type { Frame, FrameDecoder } from './decode.ts'
import type { OnNotice } from './notice.ts'
import { ReplayFilter } from './recent-trades.ts'
import type { Roster } from './roster.ts'
import { PING, PING_PERIOD_MS, Session } from './session.ts'
import type { UniverseRefresh } from './universe-refresh.ts'

/** What all sockets of one feed share. */
type SocketsOptions = {
  readonly wsUrl: string
  readonly sockets: number
  readonly roster: Roster
  readonly decoder: FrameDecoder
  readonly backfill: Backfill
  readonly refresh: UniverseRefresh
  readonly onNotice: OnNotice
}

const BACK_OFF = { minMs: 1_000, maxMs: 30_000 }
/** A connection that lived so long was a good one: the next failure counts as the first. */
const STABLE_MS = 60_000
const WATCH_PERIOD_MS = 1_000

/** The venue took 20 frames every 100 ms without complaint. */
const SEND_PERIOD_MS = 100
const SEND_FRAMES_MAX = 20
/** The venue's limits for one address are 2,000 messages and 30 new connections a minute. */
const MESSAGES = { capacity: 600, perMinute: 1_200 }
const CONNECTIONS = { capacity: 10, perMinute: 18 }

/**
 * The sockets of one feed. A lost or silent one is replaced; what may have been missed is said
 * in-band: `down` with the coins of a socket that is lost, `up` once all of them hear the venue.
 */
export function socketBatches(options: SocketsOptions, runtime: Runtime): Observable<Batch> {
  const nowMs = runtime.scheduler.now()
  const shared: Shared = {
    ...options,
    runtime,
    messages: new TokenBucket(MESSAGES, nowMs),
    connections: new TokenBucket(CONNECTIONS, nowMs),
    up: new Set(),
    replays: new ReplayFilter(),
  }
  return merge(...Array.from({ length: options.sockets }, (_, socket) => endless(socket, shared)))
}

type Shared = SocketsOptions & {
  readonly runtime: Runtime
  readonly messages: TokenBucket
  readonly connections: TokenBucket
  /** Sockets that hear the venue. */
  readonly up: Set<number>
  readonly replays: ReplayFilter
}

function endless(socket: number, shared: Shared): Observable<Batch> {
  const { connections, onNotice, runtime } = shared
  const { scheduler, random } = runtime
  return defer(() => {
    let failures = 0
    let connectedMs = 0
    const connection = defer(() => {
      connectedMs = scheduler.now()
      return oneConnection(socket, shared)
    })
    return concat(
      admission((nowMs) => connections.take(1, nowMs), scheduler),
      connection,
    ).pipe(
      catchError((cause: unknown) =>
        concat(
          of([lost(socket, shared, cause)]),
          throwError(() => cause),
        ),
      ),
      retry({
        delay: (cause: unknown) => {
          // Anything else is a bug of ours, and no new socket would mend it.
          if (!(cause instanceof OperatingError)) return throwError(() => cause)
          failures = scheduler.now() - connectedMs >= STABLE_MS ? 1 : failures + 1
          const delayMs = backOffMs(BACK_OFF, failures, random())
          onNotice({ kind: 'reconnect', socket, reason: cause.code, delayMs })
          return timer(delayMs, scheduler)
        },
      }),
    )
  })
}

/** From the opening of one socket to the error that ends it. */
function oneConnection(socket: number, shared: Shared): Observable<Batch> {
  const { decoder, messages, roster, runtime, wsUrl } = shared
  const { connect, scheduler } = runtime
  const session = new Session(roster, socket, scheduler.now())

  const pings = timer(0, PING_PERIOD_MS, scheduler).pipe(
    map(() => {
      session.pinged(scheduler.now())
      messages.debit(1, scheduler.now())
      return PING
    }),
  )
  const subscriptions = timer(0, SEND_PERIOD_MS, scheduler).pipe(
    concatMap(() => {
      const most = Math.min(SEND_FRAMES_MAX, session.unsentCount)
      return session.takeUnsent(messages.takeUpTo(most, scheduler.now()))
    }),
  )
  const batches = connect(wsUrl, merge(pings, subscriptions)).pipe(
    map((text) => {
      const nowMs = scheduler.now()
      const batch = understood(decoder.decode(text, nowMs), session, shared)
      if (!session.heard(nowMs)) return batch
      const status = found(socket, shared)
      return status === undefined ? batch : [status, ...batch]
    }),
    filter((batch) => batch.length > 0),
  )
  const watch = interval(WATCH_PERIOD_MS, scheduler).pipe(
    tap(() => {
      const fault = session.fault(scheduler.now())
      if (fault !== undefined) throw new OperatingError(fault, `${wsUrl} is dead`)
    }),
    ignoreElements(),
  )
  return merge(batches, watch)
}

function understood(frame: Frame, session: Session, shared: Shared): Batch {
  const { backfill, onNotice, refresh, replays, roster, runtime } = shared
  switch (frame.kind) {
    case 'events': {
      for (const reason of frame.drops) onNotice({ kind: 'value-dropped', reason })
      roster.note(frame.events)
      return replays.fresh(frame.events)
    }
    case 'acknowledged':
      // The late word on a coin that was delisted meanwhile is not for us.
      if (frame.channel === 'candle' && frame.coin !== null && roster.follows(frame.coin))
        backfill.acknowledge(frame.coin, runtime.scheduler.now())
      return []
    case 'pong':
      session.ponged()
      return []
    case 'refused':
      onNotice(frame)
      return []
    case 'rejected':
      onNotice({ kind: 'frame-rejected', reason: frame.reason })
      if (frame.reason === 'context_length') refresh.demand()
      return []
    case 'ignored':
      return []
    default:
      return frame satisfies never
  }
}

/** @returns the word that the feed is whole, with the last socket that was missing. */
function found(socket: number, { up, sockets, runtime }: Shared): FeedStatusEvent | undefined {
  up.add(socket)
  return up.size === sockets ? status('up', 'connected', [], runtime) : undefined
}

function lost(
  socket: number,
  { backfill, roster, runtime, up }: Shared,
  cause: unknown,
): FeedStatusEvent {
  up.delete(socket)
  const coins = roster.coinsOf(socket)
  for (const coin of coins) backfill.remove(coin)
  const reason = cause instanceof OperatingError ? cause.code : 'internal_error'
  return status('down', reason, coins, runtime)
}

function status(
  state: FeedStatusEvent['state'],
  reason: string,
  coins: readonly string[],
  { scheduler }: Runtime,
): FeedStatusEvent {
  const nowMs = scheduler.now()
  const stamp = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
  return { kind: 'feed-status', feed: 'venue', state, reason, coins, ...stamp }
}

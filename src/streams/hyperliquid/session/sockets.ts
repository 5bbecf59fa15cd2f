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
import type { Batch } from '../../../domain/event.ts'
import { scheduledSlot } from '../../rate-gate.ts'
import type { Runtime } from '../../runtime.ts'
import { TokenBucket } from '../../token-bucket.ts'
import type { StaleCoin } from '../ingest/coin-monitor.ts'
import type { OnFeedEvent } from '../ingest/feed-event.ts'
import type { Ingest } from '../ingest/frame-processor.ts'
import type { Frame } from '../wire/frame-decoder.ts'
import { PING } from '../wire/subscription.ts'
import { ConnectionState, PING_PERIOD_MS } from './connection-state.ts'
import type { Quarantine } from './quarantine.ts'
import type { SubscriptionPlan } from './subscription-plan.ts'
import { probing } from './symbol-probe.ts'

/** Plans the history requests of single coins; `BackfillQueue` is one. */
type HistoryPlan = {
  acknowledge(coin: string, nowMs: number): void
  renew(coin: string, nowMs: number): void
  remove(coin: string): void
}

/** Plans the requests of universes; without a dex, those of all. */
type UniversePlan = { demand(dex?: string): void }

/** What all sockets of one feed share. */
type SocketsOptions = {
  readonly wsUrl: string
  readonly sockets: number
  readonly plan: SubscriptionPlan
  readonly ingest: Ingest
  readonly backfill: HistoryPlan
  readonly refresh: UniversePlan
  readonly quarantine: Quarantine
  readonly onFeedEvent: OnFeedEvent
  /**
   * Takes what a frame brought, past the dozen operators between here and the end of the feed, which took a
   * twentieth of all that the engine does.
   */
  readonly deliver: (batch: Batch) => void
  readonly isRestart?: boolean
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
const CONNECTIONS = { capacity: 8, perMinute: 10 }
/** An engine that is started anew does not know what the one before has used, a moment ago. */
const CONNECTIONS_AFTER_RESTART = 1

/** New subscriptions of a silent coin before its whole connection is replaced, once. */
const RENEWALS_BEFORE_RECONNECT = 2

/**
 * The sockets of one feed. A lost or silent one is replaced; what may have been missed is said
 * in-band: `down` with the coins of a socket that is lost, `up` once all of them hear the venue.
 */
export function socketBatches(options: SocketsOptions, runtime: Runtime): Observable<Batch> {
  const nowMs = runtime.scheduler.now()
  const sessions = new Map<number, ConnectionState>()
  const shared: Shared = {
    ...options,
    runtime,
    messages: new TokenBucket(MESSAGES, nowMs),
    connections: new TokenBucket(
      options.isRestart === true
        ? { ...CONNECTIONS, initial: CONNECTIONS_AFTER_RESTART }
        : CONNECTIONS,
      nowMs,
    ),
    sessions,
    isHeard: () => [...sessions.values()].some((session) => session.isHeard),
  }
  const sockets = Array.from({ length: options.sockets }, (_, socket) => endless(socket, shared))
  return merge(...sockets, ticks(shared), probing(shared))
}

type Shared = SocketsOptions & {
  readonly runtime: Runtime
  readonly messages: TokenBucket
  readonly connections: TokenBucket
  /** Of the connections that are open now. */
  readonly sessions: Map<number, ConnectionState>
  /** True while the venue answers on any socket. */
  readonly isHeard: () => boolean
}

function endless(socket: number, shared: Shared): Observable<Batch> {
  const { connections, onFeedEvent, runtime } = shared
  const { scheduler, random } = runtime
  return defer(() => {
    let failures = 0
    let connectedMs = 0
    const connection = defer(() => {
      connectedMs = scheduler.now()
      return oneConnection(socket, shared)
    })
    return concat(
      scheduledSlot((nowMs) => connections.reserve(1, nowMs), scheduler),
      connection,
    ).pipe(
      catchError((cause: unknown) =>
        concat(
          of(lost(socket, shared, cause)),
          throwError(() => cause),
        ),
      ),
      retry({
        delay: (cause: unknown) => {
          // Anything else is a bug of ours, and no new socket would mend it.
          if (!(cause instanceof OperatingError)) return throwError(() => cause)
          failures = scheduler.now() - connectedMs >= STABLE_MS ? 1 : failures + 1
          const delayMs = backOffMs(BACK_OFF, failures, random())
          onFeedEvent({ kind: 'reconnect', socket, reason: cause.code, delayMs })
          return timer(delayMs, scheduler)
        },
      }),
    )
  })
}

/** From the opening of one socket to the error that ends it. */
function oneConnection(socket: number, shared: Shared): Observable<never> {
  const { backfill, deliver, ingest, messages, onFeedEvent, plan, runtime } = shared
  const { refresh, sessions, wsUrl } = shared
  const { connect, scheduler } = runtime
  const session = new ConnectionState(plan, socket, scheduler.now())
  sessions.set(socket, session)

  const pings = timer(0, PING_PERIOD_MS, scheduler).pipe(
    map(() => {
      const nowMs = scheduler.now()
      session.pinged(nowMs)
      ingest.ping(socket, nowMs)
      messages.debit(1, nowMs)
      return PING
    }),
  )
  const subscriptions = timer(0, SEND_PERIOD_MS, scheduler).pipe(
    concatMap(() => {
      const nowMs = scheduler.now()
      const most = Math.min(SEND_FRAMES_MAX, session.unsentCount)
      return session.takeUnsent(messages.takeUpTo(most, nowMs), nowMs)
    }),
  )
  const frames = connect(wsUrl, merge(pings, subscriptions)).pipe(
    tap((text) => {
      const nowMs = scheduler.now()
      session.heard(nowMs)
      const { frame, batch, recovered, contradicted } = ingest.frame(socket, text, nowMs)
      plan.note(batch)
      heed(frame, session, shared)
      for (const dex of contradicted) refresh.demand(dex)
      for (const { coin } of recovered) backfill.renew(coin, nowMs)
      if (batch.length > 0) deliver(batch)
    }),
    ignoreElements(),
  )
  const watch = interval(WATCH_PERIOD_MS, scheduler).pipe(
    tap(() => {
      const nowMs = scheduler.now()
      const fault = session.fault(nowMs)
      if (fault !== undefined) throw new OperatingError(fault, `${wsUrl} is dead`)
      const count = session.repeat(nowMs)
      if (count > 0) onFeedEvent({ kind: 'unacknowledged', socket, count })
      for (const channel of session.renewSilent(nowMs))
        onFeedEvent({ kind: 'channel-silent', socket, channel })
    }),
    ignoreElements(),
  )
  return merge(frames, watch)
}

/** What a frame says to whoever keeps the connection. */
function heed(frame: Frame, session: ConnectionState, shared: Shared): void {
  switch (frame.kind) {
    case 'acknowledged':
    case 'standing':
      session.acknowledged(frame.channel, frame.coin, shared.runtime.scheduler.now())
      if (frame.channel === 'candle' && frame.coin !== null) ask(frame.coin, shared)
      return
    case 'pong':
      session.ponged()
      return
    case 'events':
      noteHeard(frame, session, shared.runtime.scheduler.now())
      return
    case 'rejected':
      if (frame.reason !== 'context_length') return
      // They came, if for another universe than ours.
      session.heardOf('allDexsAssetCtxs', shared.runtime.scheduler.now())
      return
    case 'refused':
    case 'ignored':
      return
    default:
      frame satisfies never
  }
}

function noteHeard(
  { events, channel }: Extract<Frame, { kind: 'events' }>,
  session: ConnectionState,
  nowMs: number,
): void {
  if (channel !== undefined) session.heardOf(channel, nowMs)
  else if (events[0]?.kind === 'book') session.heardOf('l2Book', nowMs)
}

/** The late word on a coin that was delisted meanwhile is not for us. */
function ask(coin: string, { backfill, plan, runtime }: Shared): void {
  if (plan.follows(coin)) backfill.acknowledge(coin, runtime.scheduler.now())
}

/** Every second: whoever fell silent while its socket lives is subscribed anew. */
function ticks(shared: Shared): Observable<Batch> {
  const { ingest, onFeedEvent, runtime } = shared
  const { scheduler } = runtime
  return interval(WATCH_PERIOD_MS, scheduler).pipe(
    map(() => {
      const { batch, silent } = ingest.tick(scheduler.now())
      for (const silence of silent) {
        onFeedEvent({ kind: 'coin-silent', ...silence })
        renew(silence, shared)
      }
      return batch
    }),
    filter((batch) => batch.length > 0),
  )
}

function renew({ coin, times }: StaleCoin, { plan, sessions }: Shared): void {
  for (const [socket, session] of sessions) {
    if (!plan.coinsOf(socket).includes(coin)) continue
    if (times === RENEWALS_BEFORE_RECONNECT + 1) session.giveUp()
    else session.renew(coin)
  }
}

function lost(socket: number, shared: Shared, cause: unknown): Batch {
  const { backfill, ingest, onFeedEvent, quarantine, refresh, plan, runtime, sessions } = shared
  const nowMs = runtime.scheduler.now()
  const session = sessions.get(socket)
  sessions.delete(socket)
  const coins = plan.coinsOf(socket)
  for (const coin of coins) backfill.remove(coin)
  const reason = cause instanceof OperatingError ? cause.code : 'internal_error'
  // A connection that we gave up for its silence was not ended by what was said on it.
  const suspects = reason === 'socket_closed' ? (session?.suspects(nowMs) ?? []) : []
  if (suspects.length > 0) {
    quarantine.add(suspects, nowMs)
    plan.setAside(suspects)
    refresh.demand()
    onFeedEvent({ kind: 'quarantined', coins: suspects })
  }
  return ingest.lost({ socket, reason, coins }, nowMs)
}

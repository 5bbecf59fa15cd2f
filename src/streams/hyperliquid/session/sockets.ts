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
import { hostOf } from '../../../domain/host-of.ts'
import { scheduledSlot } from '../../rate-gate.ts'
import type { Runtime } from '../../runtime.ts'
import { TokenBucket } from '../../token-bucket.ts'
import type { StaleCoin } from '../ingest/coin-monitor.ts'
import type { OnFeedEvent } from '../ingest/feed-event.ts'
import type { Ingest } from '../ingest/ingest.ts'
import type { Frame } from '../wire/frame.ts'
import { PING } from '../wire/subscription.ts'
import { ConnectionState, PING_PERIOD_MS } from './connection-state.ts'
import type { Quarantine } from './quarantine.ts'
import type { SubscriptionPlan } from './subscription-plan.ts'
import type { ProbeParts } from './symbol-probe.ts'
import { symbolProbe } from './symbol-probe.ts'

/** Receives the coins whose history must be requested. */
type HistoryPlan = {
  acknowledge(coin: string, nowMs: number): void
  renew(coin: string, nowMs: number): void
  remove(coin: string): void
}

/** Receives the dexes whose universe must be requested; all of them without an argument. */
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
  /** Delivers the events of a frame directly: a dozen RxJS operators would take 5 % of the engine's CPU. */
  readonly deliver: (batch: Batch) => void
  readonly isRestart?: boolean
}

const BACK_OFF = { minMs: 1_000, maxMs: 30_000 }
/** After this time of connection the next failure counts as the first. */
const STABLE_MS = 60_000
const WATCH_PERIOD_MS = 1_000

/** The venue accepts 20 frames per 100 ms. */
const SEND_PERIOD_MS = 100
const SEND_FRAMES_MAX = 20
/** The venue's limits per IP address are 2,000 messages and 30 new connections a minute. */
const MESSAGES = { capacity: 600, perMinute: 1_200 }
const CONNECTIONS = { capacity: 8, perMinute: 10 }
/** A restarted engine does not know what its predecessor used. */
const CONNECTIONS_AFTER_RESTART = 1

/** Renewals of a stale coin before its connection is replaced, once. */
const RENEWALS_BEFORE_RECONNECT = 2

/**
 * The sockets of one feed. A lost or silent connection is replaced. Status events report it: `down` with the coins of the
 * connection, `up` once all sockets receive frames.
 */
export function socketBatches(options: SocketsOptions, runtime: Runtime): Observable<Batch> {
  const nowMs = runtime.scheduler.now()
  const connections = new Map<number, ConnectionState>()
  const shared: Shared = {
    ...options,
    runtime,
    messages: new TokenBucket(MESSAGES, nowMs),
    connectionBudget: new TokenBucket(
      options.isRestart === true
        ? { ...CONNECTIONS, initial: CONNECTIONS_AFTER_RESTART }
        : CONNECTIONS,
      nowMs,
    ),
    connections,
    isReceived: () => [...connections.values()].some((connection) => connection.isReceived),
  }
  const sockets = Array.from({ length: options.sockets }, (_, socket) => endless(socket, shared))
  return merge(...sockets, ticks(shared), symbolProbe(shared))
}

type Shared = SocketsOptions &
  ProbeParts & {
    /** Open connections by socket. */
    readonly connections: Map<number, ConnectionState>
  }

function endless(socket: number, shared: Shared): Observable<Batch> {
  const { connectionBudget, onFeedEvent, runtime } = shared
  const { scheduler, random } = runtime
  return defer(() => {
    let failures = 0
    let connectedMs = 0
    const connection = defer(() => {
      connectedMs = scheduler.now()
      return oneConnection(socket, shared)
    })
    return concat(
      scheduledSlot((nowMs) => connectionBudget.reserve(1, nowMs), scheduler),
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
          // Any other error is a defect that no new connection repairs.
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

/** One connection until the error that ends it. */
function oneConnection(socket: number, shared: Shared): Observable<never> {
  const { backfill, deliver, ingest, messages, onFeedEvent, plan, runtime } = shared
  const { refresh, connections, wsUrl } = shared
  const { connect, scheduler } = runtime
  const connection = new ConnectionState(plan, socket, scheduler.now())
  connections.set(socket, connection)

  const pings = timer(0, PING_PERIOD_MS, scheduler).pipe(
    map(() => {
      const nowMs = scheduler.now()
      connection.pinged(nowMs)
      ingest.process({ kind: 'ping', socket }, nowMs)
      messages.debit(1, nowMs)
      return PING
    }),
  )
  const subscriptions = timer(0, SEND_PERIOD_MS, scheduler).pipe(
    concatMap(() => {
      const nowMs = scheduler.now()
      const most = Math.min(SEND_FRAMES_MAX, connection.unsentCount)
      return connection.takeUnsent(messages.takeUpTo(most, nowMs), nowMs)
    }),
  )
  const frames = connect(wsUrl, merge(pings, subscriptions)).pipe(
    tap((text) => {
      const nowMs = scheduler.now()
      connection.received(nowMs)
      const arrival = { kind: 'frame', socket, text } as const
      const { frame, batch, recovered, contradicted } = ingest.process(arrival, nowMs)
      plan.note(batch)
      handleControlFrame(frame, connection, shared)
      for (const dex of contradicted) refresh.demand(dex)
      for (const { coin } of recovered) backfill.renew(coin, nowMs)
      if (batch.length > 0) deliver(batch)
    }),
    ignoreElements(),
  )
  const watch = interval(WATCH_PERIOD_MS, scheduler).pipe(
    tap(() => {
      const nowMs = scheduler.now()
      const fault = connection.fault(nowMs)
      if (fault !== undefined) throw new OperatingError(fault, faultText(fault, wsUrl, socket))
      const count = connection.repeat(nowMs)
      if (count > 0) onFeedEvent({ kind: 'unacknowledged', socket, count })
      for (const channel of connection.renewSilent(nowMs))
        onFeedEvent({ kind: 'channel-silent', socket, channel })
    }),
    ignoreElements(),
  )
  return merge(frames, watch)
}

function faultText(fault: keyof typeof faultReasons, wsUrl: string, socket: number): string {
  return `WebSocket ${socket} (${hostOf(wsUrl)}) ${faultReasons[fault]}; reconnecting`
}

const faultReasons = {
  feed_silent: 'sent no frame or no book for 60 s',
  pong_missing: 'did not answer a ping within 15 s',
  coin_silent: 'sent no data of one coin after two renewed subscriptions',
} as const

/** The effect of a frame on its connection. */
function handleControlFrame(frame: Frame, connection: ConnectionState, shared: Shared): void {
  switch (frame.kind) {
    case 'acknowledged':
    case 'already-subscribed':
      connection.acknowledged(frame.channel, frame.coin, shared.runtime.scheduler.now())
      if (frame.channel === 'candle' && frame.coin !== null) requestHistory(frame.coin, shared)
      return
    case 'pong':
      connection.ponged()
      return
    case 'events':
      noteReceived(frame, connection, shared.runtime.scheduler.now())
      return
    case 'rejected':
      if (frame.reason !== 'context_length') return
      // The channel is alive; only the universe differs.
      connection.receivedOf('allDexsAssetCtxs', shared.runtime.scheduler.now())
      return
    case 'refused':
    case 'ignored':
      return
    default:
      frame satisfies never
  }
}

function noteReceived(
  { events, channel }: Extract<Frame, { kind: 'events' }>,
  connection: ConnectionState,
  nowMs: number,
): void {
  if (channel !== undefined) connection.receivedOf(channel, nowMs)
  else if (events[0]?.kind === 'book') connection.receivedOf('l2Book', nowMs)
}

/** A coin may have been delisted before its acknowledgement arrived. */
function requestHistory(coin: string, { backfill, plan, runtime }: Shared): void {
  if (plan.follows(coin)) backfill.acknowledge(coin, runtime.scheduler.now())
}

/** Once per second: renews the subscriptions of stale coins. */
function ticks(shared: Shared): Observable<Batch> {
  const { ingest, onFeedEvent, plan, runtime } = shared
  const { scheduler } = runtime
  return interval(WATCH_PERIOD_MS, scheduler).pipe(
    map(() => {
      const { batch, silent } = ingest.process({ kind: 'tick' }, scheduler.now())
      for (const silence of silent) {
        // The venue was asked to end its subscriptions.
        if (!plan.follows(silence.coin)) continue
        onFeedEvent({ kind: 'coin-silent', ...silence })
        renew(silence, shared)
      }
      return batch
    }),
    filter((batch) => batch.length > 0),
  )
}

function renew({ coin, times }: StaleCoin, { plan, connections }: Shared): void {
  for (const [socket, connection] of connections) {
    if (!plan.coinsOf(socket).includes(coin)) continue
    if (times === RENEWALS_BEFORE_RECONNECT + 1) connection.giveUp()
    else connection.renew(coin)
  }
}

function lost(socket: number, shared: Shared, cause: unknown): Batch {
  const { backfill, ingest, onFeedEvent, quarantine, refresh, plan, runtime, connections } = shared
  const nowMs = runtime.scheduler.now()
  const connection = connections.get(socket)
  connections.delete(socket)
  const coins = plan.coinsOf(socket)
  for (const coin of coins) backfill.remove(coin)
  const reason = cause instanceof OperatingError ? cause.code : 'internal_error'
  // Only a close by the venue indicates an unknown name.
  const suspects = reason === 'socket_closed' ? (connection?.suspects(nowMs) ?? []) : []
  if (suspects.length > 0) {
    quarantine.add(suspects, nowMs)
    plan.setAside(suspects)
    refresh.demand()
    onFeedEvent({ kind: 'quarantined', coins: suspects })
  }
  return ingest.process({ kind: 'lost', socket, reason, coins }, nowMs).batch
}

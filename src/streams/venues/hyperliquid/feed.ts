import { strict as assert } from 'node:assert'
import type { Observable } from 'rxjs'
import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  exhaustMap,
  filter,
  ignoreElements,
  interval,
  map,
  merge,
  of,
  retry,
  tap,
  timer,
} from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch, HistoryEvent, UniverseEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import type { Runtime } from '../../runtime.ts'
import type { BackfillTask } from './backfill.ts'
import { Backfill } from './backfill.ts'
import { decodeCandleSnapshot } from './bars.ts'
import { FrameDecoder } from './decode.ts'
import { InfoClient } from './info-client.ts'
import type { FeedNotice, OnNotice } from './notice.ts'
import { Roster } from './roster.ts'
import { socketBatches } from './sockets.ts'
import type { MetaAndContextsReply, MetaReply } from './universe.ts'
import { decodeMeta, decodeMetaAndAssetContexts } from './universe.ts'
import { UniverseRefresh } from './universe-refresh.ts'
import { candlesWeight } from './weight-budget.ts'
import type { DropReason, Rejected } from './wire.ts'

/** Bars of one coin from this open time to the present. */
export type HistoryRequest = { readonly timeframe: Timeframe; readonly fromMs: number }

export type FeedOptions = {
  readonly wsUrl: string
  readonly infoUrl: string
  /** What we allow ourselves of the venue's REST weight. */
  readonly weightPerMinute: number
  /** Over how many websockets the coins are spread, 1 to 8. */
  readonly sockets: number
  /**
   * Which past bars the engine still needs of a coin. It must be true as soon as a batch has been
   * delivered: what remains needed then is asked for again.
   */
  readonly historyOf: (coin: string, nowMs: number) => readonly HistoryRequest[]
  readonly onNotice?: (notice: FeedNotice) => void
}

/** The venue allows ten for one address; the rest is room for overlapping reconnects. */
const SOCKETS_MAX = 8
const UNIVERSE_BACK_OFF = { minMs: 1_000, maxMs: 30_000 }
/** Long, because the weight of a request in vain is gone too. */
const HISTORY_BACK_OFF = { minMs: 5_000, maxMs: 300_000 }
const REQUEST_PERIOD_MS = 50
const SWEEP_PERIOD_MS = 60_000

/**
 * The endless event feed of Hyperliquid's own perpetuals. It begins with the universe and all
 * contexts. Everything that goes wrong outside is healed here and told in-band or as a notice: the
 * feed neither completes nor errors, but for a bug.
 */
export function hyperliquidFeed(options: FeedOptions, runtime: Runtime): Observable<Batch> {
  const { sockets } = options
  assert(
    Number.isInteger(sockets) && sockets >= 1 && sockets <= SOCKETS_MAX,
    `sockets must be an integer from 1 to ${SOCKETS_MAX}`,
  )
  return defer(() => {
    const nowMs = runtime.scheduler.now()
    const onNotice: OnNotice = options.onNotice ?? (() => {})
    const feed: Feed = {
      ...options,
      onNotice,
      runtime,
      info: new InfoClient(options, runtime, onNotice),
      roster: new Roster(sockets),
      decoder: new FrameDecoder(),
      backfill: new Backfill(),
      refresh: new UniverseRefresh(nowMs),
    }
    return concat(
      firstUniverse(feed),
      defer(() => merge(socketBatches(feed, runtime), requestedBatches(feed), sweeps(feed))),
    )
  })
}

type Feed = Required<FeedOptions> & {
  readonly runtime: Runtime
  readonly info: InfoClient
  readonly roster: Roster
  readonly decoder: FrameDecoder
  readonly backfill: Backfill
  readonly refresh: UniverseRefresh
}

/** Nothing can be subscribed or joined before the universe is known, so this is asked until answered. */
function firstUniverse(feed: Feed): Observable<Batch> {
  const { info, refresh, roster, runtime } = feed
  const { scheduler, random } = runtime
  return defer(() => info.ask(() => ({ type: 'metaAndAssetCtxs' }))).pipe(
    map(({ body }) => {
      const nowMs = scheduler.now()
      const reply = accepted(decodeMetaAndAssetContexts(body, nowMs), feed)
      refresh.asked(nowMs)
      roster.note(reply.contexts)
      return [...applyUniverse(reply, feed), ...reply.contexts]
    }),
    retry({
      delay: (cause: unknown, failures) => {
        noteFailure('metaAndAssetCtxs', cause, feed)
        return timer(backOffMs(UNIVERSE_BACK_OFF, failures, random()), scheduler)
      },
    }),
  )
}

/**
 * Everything asked over REST after the start, one request after the other: the universe whenever it
 * is due, else the history of the most traded coin that waits for it.
 */
function requestedBatches(feed: Feed): Observable<Batch> {
  const { backfill, refresh, roster, runtime } = feed
  const { scheduler } = runtime
  return timer(0, REQUEST_PERIOD_MS, scheduler).pipe(
    exhaustMap(() => {
      const nowMs = scheduler.now()
      if (refresh.isDue(nowMs)) return nextUniverse(feed)
      const task = backfill.next(nowMs, roster.dayNotionalUsd)
      return task === undefined ? EMPTY : history(task, feed)
    }),
  )
}

function nextUniverse(feed: Feed): Observable<Batch> {
  const { info, refresh, runtime } = feed
  return defer(() => {
    refresh.asked(runtime.scheduler.now())
    return info.ask(() => ({ type: 'meta' }))
  }).pipe(
    concatMap(({ body }) => {
      const batch = applyUniverse(accepted(decodeMeta(body), feed), feed)
      return batch.length === 0 ? EMPTY : of(batch)
    }),
    catchError((cause: unknown) => {
      noteFailure('meta', cause, feed)
      refresh.demand()
      return EMPTY
    }),
  )
}

/**
 * An acknowledgement is one reason to ask for history and not the only one: a reply may have lacked
 * bars, and the engine may have found a hole of its own. So it is asked, too, what it lacks.
 */
function sweeps({ backfill, historyOf, runtime }: Feed): Observable<never> {
  const { scheduler } = runtime
  return interval(SWEEP_PERIOD_MS, scheduler).pipe(
    tap(() => {
      const nowMs = scheduler.now()
      backfill.sweep(nowMs, (coin) => historyOf(coin, nowMs).length > 0)
    }),
    ignoreElements(),
  )
}

/** What the engine lacks of one coin, longest timeframe first: it seeds what 15m then continues. */
function history(task: BackfillTask, feed: Feed): Observable<Batch> {
  const { backfill, historyOf, runtime } = feed
  const lacking = () => historyOf(task.coin, runtime.scheduler.now())
  const replies = defer(() => {
    const requests = lacking().toSorted(
      (one, other) => timeframeMs[other.timeframe] - timeframeMs[one.timeframe],
    )
    return concat(...requests.map((request) => bars(task, request, feed)))
  })
  const judgement = defer(() => {
    // The engine takes a batch in as it is published, so it has everything by now. What it still
    // lacks the venue did not tell yet: of a new coin, nothing before its first trade.
    if (lacking().length === 0) backfill.done(task)
    else postpone(task, feed)
    return EMPTY
  })
  return concat(replies, judgement).pipe(
    catchError((cause: unknown) => {
      noteFailure('candleSnapshot', cause, feed)
      postpone(task, feed)
      return EMPTY
    }),
  )
}

function postpone(task: BackfillTask, { backfill, runtime }: Feed): void {
  const delayMs = backOffMs(HISTORY_BACK_OFF, task.attempts + 1, runtime.random())
  backfill.postpone(task, runtime.scheduler.now() + delayMs)
}

function bars(task: BackfillTask, request: HistoryRequest, feed: Feed): Observable<Batch> {
  const { backfill, info, runtime } = feed
  const { coin } = task
  const { timeframe, fromMs } = request
  const exchange = info.ask((askedMs) => ({
    type: 'candleSnapshot',
    req: { coin, interval: timeframe, startTime: fromMs, endTime: askedMs },
  }))
  return defer(() => (backfill.isCurrent(task) ? exchange : EMPTY)).pipe(
    map(({ body, askedMs }) => {
      const nowMs = runtime.scheduler.now()
      const reply = accepted(decodeCandleSnapshot(body, { coin, ...request }, nowMs), feed)
      info.debit(candlesWeight(reply.rows))
      const stamp = { timeExchangeMs: askedMs, timeReceivedMs: nowMs }
      const event: HistoryEvent = { kind: 'history', coin, timeframe, bars: reply.bars, ...stamp }
      return [event]
    }),
    // Asked over a connection that was lost since, it would hide what was missed after it.
    filter(() => backfill.isCurrent(task)),
  )
}

/** @returns the event to publish; nothing when the universe is the one that we have. */
function applyUniverse(
  { universe }: MetaReply | MetaAndContextsReply,
  { backfill, decoder, roster, runtime }: Feed,
): readonly UniverseEvent[] {
  if (!roster.setUniverse(universe)) return []
  decoder.setUniverse(universe)
  backfill.keep((coin) => roster.follows(coin))
  const nowMs = runtime.scheduler.now()
  const stamp = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
  return [{ kind: 'universe', listings: roster.listings, ...stamp }]
}

function accepted<Reply extends { readonly drops: readonly DropReason[] }>(
  reply: Reply | Rejected,
  { onNotice }: Feed,
): Reply {
  if (!('drops' in reply)) throw new OperatingError('reply_rejected', reply.reason)
  for (const reason of reply.drops) onNotice({ kind: 'value-dropped', reason })
  return reply
}

/** Rethrows whatever is no failure of the venue: that is a bug, and no repetition would mend it. */
function noteFailure(request: string, cause: unknown, { onNotice }: Feed): void {
  if (!(cause instanceof OperatingError)) throw cause
  onNotice({ kind: 'request-failed', request, reason: `${cause.code}: ${cause.message}` })
}

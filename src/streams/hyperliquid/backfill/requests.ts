import type { Observable } from 'rxjs'
import { catchError, concat, defer, EMPTY, exhaustMap, filter, map, timer } from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import type { Ingest } from '../ingest/ingest.ts'
import { heldUsd } from '../wire/account-state.ts'
import type { RejectReason } from '../wire/rejection.ts'
import { dexArgument } from '../wire/universe.ts'
import { applyUniverse } from './apply-universe.ts'
import type { BackfillTask } from './backfill-queue.ts'
import type { BackgroundTask } from './background-requests.ts'
import { collateralPrices } from './collateral-prices.ts'
import type { FeedParts, HistoryRequest } from './feed-parts.ts'
import { accepted, noteFailure, PATIENT_BACK_OFF } from './feed-parts.ts'
import { ACCOUNT_WEIGHT, candlesWeight, fundingsWeight } from './weight-budget.ts'

const REQUEST_PERIOD_MS = 25

/**
 * Everything asked over REST after the start, one request after the other, but for how other dexes begin: the universe
 * whenever it is due, else what other collateral than USDC is worth, else the history of the most traded coin that
 * waits for it, else what is not urgent.
 */
export function requestedBatches(feed: FeedParts): Observable<Batch> {
  const { backfill, collaterals, ingest, refresh, plan, runtime, slow } = feed
  const { scheduler } = runtime
  return timer(0, REQUEST_PERIOD_MS, scheduler).pipe(
    exhaustMap(() => {
      const nowMs = scheduler.now()
      const dex = refresh.due(nowMs)
      if (dex !== undefined) return nextUniverse(dex, feed)
      if (collaterals.isDue(nowMs) && ingest.hasOtherCollateral) return nextPrices(feed)
      // What is history and what is not yet over, only the venue's clock can tell; its first book does.
      if (ingest.clockOffsetMs === null) return EMPTY
      const ofTheFirst = slowRequest(feed, 'first')
      if (ofTheFirst !== null) return ofTheFirst
      const task = backfill.next(nowMs, plan.dayNotionalUsd)
      if (task !== undefined) {
        slow.wait(nowMs)
        return history(task, feed)
      }
      return audit(feed) ?? account(feed) ?? slowRequest(feed, 'next') ?? EMPTY
    }),
  )
}

/** While nothing is missing: one coin's closed bars, to be compared with what was folded of them. */
function audit(feed: FeedParts): Observable<Batch> | null {
  const { audits, auditOf, backfill, runtime } = feed
  const coin = audits.next(backfill.acknowledged, runtime.scheduler.now())
  const request = coin === undefined ? null : (auditOf?.(coin) ?? null)
  if (coin === undefined || request === null) return null
  // One that lost its connection meanwhile waits for history that is asked after that.
  return bars(coin, request, feed, () => backfill.isWhole(coin)).pipe(
    catchError((cause: unknown) => {
      noteFailure('candleSnapshot', cause, feed)
      return EMPTY
    }),
  )
}

/** What every coin needs and none needs soon: of the most traded ones first, and then of all. */
function slowRequest(feed: FeedParts, whose: 'first' | 'next'): Observable<Batch> | null {
  const { backfill, hourlyOf = () => null, ingest, plan, runtime, slow } = feed
  const { scheduler } = runtime
  const view = () => {
    const nowMs = scheduler.now()
    return { nowMs, venueMs: ingest.venueMs(nowMs), hourlyOf }
  }
  const { dayNotionalUsd } = plan
  const coins =
    whose === 'first' ? plan.hot.filter((coin) => backfill.isWhole(coin)) : backfill.acknowledged
  const task = slow[whose]({ ...view(), coins, dayNotionalUsd })
  if (task === undefined) return null
  // The engine takes a batch in as it is published, so by then it tells what it still lacks.
  const judgement = defer(() => {
    slow.answered(task, view(), runtime.random())
    return EMPTY
  })
  return concat(slowReply(task, feed), judgement).pipe(
    catchError((cause: unknown) => {
      noteFailure(task.request, cause, feed)
      slow.failed(task, scheduler.now(), runtime.random())
      return EMPTY
    }),
    filter((batch) => batch.length > 0),
  )
}

function slowReply(task: BackgroundTask, feed: FeedParts): Observable<Batch> {
  const { info, ingest, runtime, slow } = feed
  const nowMs = () => runtime.scheduler.now()
  switch (task.request) {
    case 'predictedFundings':
      return info
        .ask(() => ({ type: task.request }))
        .pipe(map((reply) => accepted(ingest.predictions(reply, nowMs())).batch))
    case 'fundingHistory': {
      const { coin, fromMs } = task
      return info
        .ask(() => ({ type: task.request, coin, startTime: fromMs }))
        .pipe(
          map((reply) => {
            info.debit(fundingsWeight(reply.body))
            const taken = accepted(ingest.fundings({ coin, fromMs, ...reply }, nowMs()))
            slow.told.answered(coin, fromMs, taken)
            return taken.batch
          }),
        )
    }
    case 'candleSnapshot': {
      const { coin, fromMs } = task
      return info
        .ask((askedMs) => candlesRequest(coin, '1h', fromMs, latestMs(ingest, askedMs)))
        .pipe(
          map((reply) => {
            info.debit(candlesWeight(reply.body))
            return accepted(ingest.hours({ coin, fromMs, ...reply }, nowMs())).batch
          }),
        )
    }
    default:
      return task satisfies never
  }
}

/** While nothing is missing: what the account that is due holds; null while none is. */
function account(feed: FeedParts): Observable<Batch> | null {
  const { accounts, info, ingest, runtime, traders } = feed
  const { scheduler, random } = runtime
  const user = accounts.next((count) => traders.top(count), scheduler.now())
  if (user === undefined) return null
  const request = 'clearinghouseState'
  return info
    .ask(() => ({ type: request, user }), ACCOUNT_WEIGHT)
    .pipe(
      map(({ body, askedMs }) => {
        const nowMs = scheduler.now()
        const arrival = { account: user, askedMs, body }
        const { batch, positions } = accepted(ingest.account(arrival, nowMs))
        accounts.answered(user, heldUsd(positions), nowMs)
        return batch
      }),
      filter((batch) => batch.length > 0),
      catchError((cause: unknown) => {
        accounts.failed(scheduler.now(), random())
        noteFailure(request, cause, feed)
        return EMPTY
      }),
    )
}

function nextUniverse(dex: string, feed: FeedParts): Observable<Batch> {
  const { info, refresh, runtime } = feed
  const request = 'meta'
  return defer(() => info.ask(() => ({ type: request, ...dexArgument(dex) }))).pipe(
    // One that is not followed any more comes back by no late reply.
    map(({ body }) => (refresh.has(dex) ? applyUniverse({ request, dex, body }, feed) : [])),
    filter((batch) => batch.length > 0),
    catchError((cause: unknown) => {
      noteFailure(request, cause, feed)
      const nowMs = runtime.scheduler.now()
      if (!refresh.has(dex)) return EMPTY
      if (isUndecided(cause)) refresh.undecided(dex, nowMs)
      else refresh.failed(dex, nowMs)
      return EMPTY
    }),
  )
}

function nextPrices(feed: FeedParts): Observable<Batch> {
  return collateralPrices(feed).pipe(
    catchError((cause: unknown) => {
      noteFailure('spotMetaAndAssetCtxs', cause, feed)
      return EMPTY
    }),
  )
}

/** The venue answered, with a list that takes coins away from the one before: it has to be repeated. */
function isUndecided(cause: unknown): boolean {
  const reason: RejectReason = 'universe_changed'
  return cause instanceof OperatingError && cause.message === reason
}

/** What the engine lacks of one coin, longest timeframe first: it seeds what 15m then continues. */
function history(task: BackfillTask, feed: FeedParts): Observable<Batch> {
  const { backfill, historyOf, runtime } = feed
  const lacking = () => historyOf(task.coin, runtime.scheduler.now())
  const replies = defer(() => {
    const requests = lacking().toSorted(
      (one, other) => timeframeMs[other.timeframe] - timeframeMs[one.timeframe],
    )
    return concat(
      ...requests.map((request) =>
        defer(() =>
          backfill.isCurrent(task)
            ? bars(task.coin, request, feed, () => backfill.isCurrent(task))
            : EMPTY,
        ),
      ),
    )
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

function postpone(task: BackfillTask, { backfill, runtime }: FeedParts): void {
  const delayMs = backOffMs(PATIENT_BACK_OFF, task.attempts + 1, runtime.random())
  backfill.postpone(task, runtime.scheduler.now() + delayMs)
}

/** @param isWanted false once the connection was lost over which what follows the bars would have come */
function bars(
  coin: string,
  request: HistoryRequest,
  feed: FeedParts,
  isWanted: () => boolean,
): Observable<Batch> {
  const { info, ingest, runtime } = feed
  const { timeframe, fromMs } = request
  const exchange = info.ask((askedMs) =>
    candlesRequest(coin, timeframe, fromMs, latestMs(ingest, askedMs)),
  )
  return exchange.pipe(
    map(({ body, askedMs }) => {
      // Paid for, whether or not it is still of use.
      info.debit(candlesWeight(body))
      if (!isWanted()) return []
      const arrival = { coin, timeframe, fromMs, askedMs, body }
      return accepted(ingest.history(arrival, runtime.scheduler.now())).batch
    }),
    filter((batch) => batch.length > 0),
  )
}

/**
 * By the later of the two clocks: a bar that one of them holds for unborn would be missing from a reply
 * that counts as whole. Of what has not begun the venue says nothing.
 */
function latestMs(ingest: Ingest, askedMs: number): number {
  return Math.max(askedMs, ingest.venueMs(askedMs))
}

function candlesRequest(coin: string, interval: Timeframe, startTime: number, endTime: number) {
  return { type: 'candleSnapshot', req: { coin, interval, startTime, endTime } } as const
}

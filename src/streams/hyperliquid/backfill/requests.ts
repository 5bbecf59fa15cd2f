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
import { decodeVaultDetails } from '../wire/vault-details.ts'
import { applyUniverse } from './apply-universe.ts'
import type { BackfillTask } from './backfill-queue.ts'
import type { BackgroundTask } from './background-requests.ts'
import { collateralPrices } from './collateral-prices.ts'
import type { FeedParts, HistoryRequest } from './feed-parts.ts'
import { accepted, noteFailure, PATIENT_BACK_OFF } from './feed-parts.ts'
import { ACCOUNT_WEIGHT, candlesWeight, fillsWeight, fundingsWeight } from './weight-budget.ts'

const REQUEST_PERIOD_MS = 25

/**
 * The REST requests after the start, one at a time, by priority: a due universe, collateral prices, history of the most
 * traded coin that waits for it, then audits, fills that may be liquidations, accounts and background requests.
 */
export function requestedBatches(feed: FeedParts): Observable<Batch> {
  const { backfill, collaterals, ingest, refresh, plan, runtime, background } = feed
  const { scheduler } = runtime
  return timer(0, REQUEST_PERIOD_MS, scheduler).pipe(
    exhaustMap(() => {
      const nowMs = scheduler.now()
      const dex = refresh.due(nowMs)
      if (dex !== undefined) return nextUniverse(dex, feed)
      if (collaterals.isDue(nowMs) && ingest.hasOtherCollateral) return nextPrices(feed)
      // The venue's clock, known from the first book, decides which bars are closed.
      if (ingest.clockOffsetMs === null) return EMPTY
      const ofHotCoins = backgroundRequest(feed, 'first')
      if (ofHotCoins !== null) return ofHotCoins
      const task = backfill.next(nowMs, plan.dayNotional)
      if (task !== undefined) {
        background.wait(nowMs)
        return history(task, feed)
      }
      return (
        audit(feed) ??
        vaultDetails(feed) ??
        suspectedFills(feed) ??
        account(feed) ??
        backgroundRequest(feed, 'next') ??
        EMPTY
      )
    }),
  )
}

/** If nothing is missing: the closed bars of one coin, for comparison with the engine's. */
function audit(feed: FeedParts): Observable<Batch> | null {
  const { audits, auditOf, backfill, runtime } = feed
  const coin = audits.next(backfill.acknowledged, runtime.scheduler.now())
  const request = coin === undefined ? null : (auditOf?.(coin) ?? null)
  if (coin === undefined || request === null) return null
  // After a lost connection the coin waits for a newer history request.
  return bars(coin, request, feed, () => backfill.isWhole(coin)).pipe(
    catchError((cause: unknown) => {
      noteFailure('candleSnapshot', cause, feed)
      return EMPTY
    }),
  )
}

/** The next background request of the hot coins, or of all. */
function backgroundRequest(feed: FeedParts, whose: 'first' | 'next'): Observable<Batch> | null {
  const { backfill, hourlyOf = () => null, ingest, plan, runtime, background } = feed
  const { scheduler } = runtime
  const view = () => {
    const nowMs = scheduler.now()
    return { nowMs, venueMs: ingest.venueMs(nowMs), hourlyOf }
  }
  const { dayNotional } = plan
  const coins =
    whose === 'first' ? plan.hot.filter((coin) => backfill.isWhole(coin)) : backfill.acknowledged
  const task = background[whose]({ ...view(), coins, dayNotional })
  if (task === undefined) return null
  // The engine processes a batch synchronously, so it knows by now what it still lacks.
  const judgement = defer(() => {
    background.answered(task, view(), runtime.random())
    return EMPTY
  })
  return concat(backgroundReply(task, feed), judgement).pipe(
    catchError((cause: unknown) => {
      noteFailure(task.request, cause, feed)
      background.failed(task, scheduler.now(), runtime.random())
      return EMPTY
    }),
    filter((batch) => batch.length > 0),
  )
}

function backgroundReply(task: BackgroundTask, feed: FeedParts): Observable<Batch> {
  const { info, ingest, runtime, background } = feed
  const nowMs = () => runtime.scheduler.now()
  switch (task.request) {
    case 'predictedFundings':
      return info
        .ask(() => ({ type: task.request }))
        .pipe(
          map(
            (reply) => accepted(ingest.process({ kind: 'predictions', ...reply }, nowMs())).batch,
          ),
        )
    case 'fundingHistory': {
      const { coin, fromMs } = task
      return info
        .ask(() => ({ type: task.request, coin, startTime: fromMs }))
        .pipe(
          map((reply) => {
            info.debit(fundingsWeight(reply.body))
            const taken = accepted(
              ingest.process({ kind: 'fundings', coin, fromMs, ...reply }, nowMs()),
            )
            background.fundingCache.answered(coin, fromMs, taken)
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
            return accepted(ingest.process({ kind: 'hours', coin, fromMs, ...reply }, nowMs()))
              .batch
          }),
        )
    }
    default:
      return task satisfies never
  }
}

/** If nothing is missing: the positions of the account that is due; null for none. */
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
        const arrival = { kind: 'account', account: user, askedMs, body } as const
        const { batch, positions } = accepted(ingest.process(arrival, nowMs))
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

/** The fills of an account that may be liquidations, within their part of the weight; null for none. */
function suspectedFills(feed: FeedParts): Observable<Batch> | null {
  const { fills, fillsToRead, info, ingest, runtime } = feed
  const { scheduler, random } = runtime
  const nowMs = scheduler.now()
  if (fillsToRead === undefined || !fills.take(nowMs)) return null
  const isDeferred = (account: string) => fills.isDeferred(account, nowMs)
  const wanted = fillsToRead(ingest.venueMs(nowMs), isDeferred)
  if (wanted === null) {
    fills.skip(nowMs)
    return null
  }
  const request = 'userFillsByTime'
  const { account: user, fromMs: startTime, untilMs: endTime } = wanted
  return info
    .ask(() => ({ type: request, user, startTime, endTime }))
    .pipe(
      map(({ body, askedMs }) => {
        const weight = fillsWeight(body)
        info.debit(weight)
        const arrival = { kind: 'fills', ...wanted, askedMs, body } as const
        const { batch } = accepted(ingest.process(arrival, scheduler.now()))
        fills.answered(user, weight, scheduler.now())
        return batch
      }),
      catchError((cause: unknown) => {
        fills.accountFailed(user, scheduler.now(), random())
        noteFailure(request, cause, feed)
        return EMPTY
      }),
    )
}

/** The details of a vault of the venue that is due; null for none. */
function vaultDetails(feed: FeedParts): Observable<Batch> | null {
  const { fills, fillsToRead, info, ingest, runtime, vaultRefresh } = feed
  const { scheduler, random } = runtime
  if (fillsToRead === undefined) return null
  const vault = vaultRefresh.due(scheduler.now())
  if (vault === undefined || !fills.take(scheduler.now())) return null
  const request = 'vaultDetails'
  return info
    .ask(() => ({ type: request, vaultAddress: vault }))
    .pipe(
      map(({ body }) => {
        const accounts = vaultRefresh.answered(vault, accepted(decodeVaultDetails(body)))
        if (accounts === null) return []
        return accepted(ingest.process({ kind: 'vaults', accounts }, scheduler.now())).batch
      }),
      filter((batch) => batch.length > 0),
      catchError((cause: unknown) => {
        fills.failed(scheduler.now(), random())
        vaultRefresh.failed(scheduler.now())
        noteFailure(request, cause, feed)
        return EMPTY
      }),
    )
}

function nextUniverse(dex: string, feed: FeedParts): Observable<Batch> {
  const { info, refresh, runtime } = feed
  const request = 'meta'
  return defer(() => info.ask(() => ({ type: request, ...dexArgument(dex) }))).pipe(
    // A late reply must not revive a dropped dex.
    map(({ body }) =>
      refresh.has(dex) ? applyUniverse({ kind: 'universe', request, dex, body }, feed) : [],
    ),
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

/** The reply removes known coins and must be repeated. */
function isUndecided(cause: unknown): boolean {
  const reason: RejectReason = 'universe_changed'
  return cause instanceof OperatingError && cause.message === reason
}

/** The missing bars of one coin, longest timeframe first: it seeds the state that 15m bars continue. */
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
    // The engine processed the batch synchronously. The venue does not have what is still missing: a new coin has no bars
    // before its first trade.
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

/** @param isWanted false after the connection was lost that would deliver the bars that follow */
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
      // The weight is spent even if the reply is no longer wanted.
      info.debit(candlesWeight(body))
      if (!isWanted()) return []
      const arrival = { kind: 'history', coin, timeframe, fromMs, askedMs, body } as const
      return accepted(ingest.process(arrival, runtime.scheduler.now())).batch
    }),
    filter((batch) => batch.length > 0),
  )
}

/** The later of both clocks: with the earlier one, a reply that counts as complete could lack the newest bar. */
function latestMs(ingest: Ingest, askedMs: number): number {
  return Math.max(askedMs, ingest.venueMs(askedMs))
}

function candlesRequest(coin: string, interval: Timeframe, startTime: number, endTime: number) {
  return { type: 'candleSnapshot', req: { coin, interval, startTime, endTime } } as const
}

import { strict as assert } from 'node:assert'
import {
  concat,
  defer,
  EMPTY,
  filter,
  ignoreElements,
  interval,
  map,
  merge,
  Observable,
  of,
  takeUntil,
  tap,
} from 'rxjs'
import type { Batch } from '../../domain/event.ts'
import type { Runtime } from '../runtime.ts'
import { AccountRanking } from './backfill/account-ranking.ts'
import { AccountRotation } from './backfill/account-rotation.ts'
import { applyUniverse, keepFollowed } from './backfill/apply-universe.ts'
import { AuditRotation } from './backfill/audit-rotation.ts'
import { BackfillQueue } from './backfill/backfill-queue.ts'
import { BackgroundRequests } from './backfill/background-requests.ts'
import { CollateralRefresh } from './backfill/collateral-refresh.ts'
import { DexRegister } from './backfill/dex-register.ts'
import type { FeedOptions, FeedParts } from './backfill/feed-parts.ts'
import { PATIENT_BACK_OFF, untilAnswered } from './backfill/feed-parts.ts'
import { FillsBudget } from './backfill/fills-budget.ts'
import { InfoClient } from './backfill/info-client.ts'
import { loadHistory } from './backfill/load-history.ts'
import { otherDexes } from './backfill/other-dexes.ts'
import { requestedBatches } from './backfill/requests.ts'
import { UniverseRefresh } from './backfill/universe-refresh.ts'
import { VaultRefresh } from './backfill/vault-refresh.ts'
import { ACCOUNTS_SHARE, LIQUIDATIONS_SHARE } from './backfill/weight-budget.ts'
import { Ingest } from './ingest/ingest.ts'
import { ConfirmedSymbols } from './plausibility/confirmed-symbols.ts'
import { Quarantine } from './session/quarantine.ts'
import { socketBatches } from './session/sockets.ts'
import { SubscriptionPlan } from './session/subscription-plan.ts'
import { dexArgument, dexOf, MAIN_DEX } from './wire/universe.ts'

/** The venue allows ten per IP address; the others remain for overlapping reconnections. */
const SOCKETS_MAX = 8
const UNIVERSE_BACK_OFF = { minMs: 1_000, maxMs: 30_000 }
/** Between two checks whether a dex without a reply is still wanted. */
const UNWANTED_PERIOD_MS = 10_000
const SWEEP_PERIOD_MS = 60_000
const RANK_PERIOD_MS = 600_000

/**
 * The event feed of Hyperliquid's perpetuals. It begins with the universe and the contexts of all coins. It recovers from
 * every failure of the venue and reports it as an event or a feed event; it never completes, and errors only on a defect.
 */
export function hyperliquidFeed(options: FeedOptions, runtime: Runtime): Observable<Batch> {
  const { sockets } = options
  assert(
    Number.isInteger(sockets) && sockets >= 1 && sockets <= SOCKETS_MAX,
    `sockets must be an integer from 1 to ${SOCKETS_MAX}`,
  )
  return new Observable<Batch>((subscriber) => {
    const { onFeedEvent = () => {}, onArrival, onDexes, dexes = [], weightPerMinute } = options
    const { accountWeightPerMinute = ACCOUNTS_SHARE * weightPerMinute } = options
    const nowMs = runtime.scheduler.now()
    const knownCoins = (options.known ?? []).flatMap((one) => (one.isDelisted ? [] : [one.coin]))
    const knownDexes = new Set(knownCoins.map(dexOf).filter((dex) => dex !== MAIN_DEX))
    const plan = new SubscriptionPlan(sockets, options.channels, options.subscriptionsMax)
    const feed: FeedParts = {
      ...options,
      onFeedEvent,
      runtime,
      info: new InfoClient(options, runtime, onFeedEvent),
      ingest: new Ingest({
        ...{ sockets, onFeedEvent, known: options.known ?? [] },
        ...(options.channels && { channels: options.channels }),
        ...(options.knownTrades && { knownTrades: options.knownTrades }),
        ...(onArrival && { onArrival }),
      }),
      names: new ConfirmedSymbols(options.known?.map(({ coin }) => coin) ?? []),
      plan,
      dexRegister: new DexRegister(dexes, { weightPerMinute, coinsMax: plan.coinsMax }, knownDexes),
      reportDexes: () => onDexes?.(feed.dexRegister.statuses(feed.plan)),
      loaded: new Set(knownCoins),
      backfill: new BackfillQueue(),
      audits: new AuditRotation(nowMs),
      traders: new AccountRanking(nowMs),
      accounts: new AccountRotation(accountWeightPerMinute, nowMs),
      fills: new FillsBudget(LIQUIDATIONS_SHARE * weightPerMinute, nowMs),
      vaultRefresh: new VaultRefresh(options.vaults),
      background: new BackgroundRequests(),
      refresh: new UniverseRefresh(MAIN_DEX),
      collaterals: new CollateralRefresh(),
      quarantine: new Quarantine(),
      deliver: (batch) => {
        for (const event of batch)
          if (event.kind === 'trade') feed.traders.note(event, runtime.scheduler.now())
        subscriber.next(batch)
      },
    }
    /** Local history of coins that the engine did not know. */
    const historyOfNew = (dex: string) =>
      defer(() => {
        const isNew = (coin: string) => dexOf(coin) === dex && !feed.loaded.has(coin)
        return loadHistory(feed.plan.followed.filter(isNew), feed)
      })
    const begin = (dex: string) => concat(firstUniverse(dex, feed), historyOfNew(dex))
    const live = concat(
      firstUniverse(MAIN_DEX, feed),
      defer(() =>
        merge(
          initialVaults(feed),
          socketBatches(feed, runtime),
          requestedBatches(feed),
          historyOfNew(MAIN_DEX),
          otherDexes(feed, begin),
          sweeps(feed),
          ranking(feed),
        ),
      ),
    )
    merge(loadHistory(knownCoins, feed), live).subscribe(subscriber)
  })
}

/** The liquidator vaults as known before the venue answers. */
function initialVaults({
  fillsToRead,
  ingest,
  runtime,
  vaultRefresh,
}: FeedParts): Observable<Batch> {
  if (fillsToRead === undefined) return EMPTY
  const arrival = { kind: 'vaults', accounts: vaultRefresh.initial } as const
  return of(ingest.process(arrival, runtime.scheduler.now()).batch)
}

/** A dex can be neither subscribed nor joined before its universe is known: repeated until answered or no longer wanted. */
function firstUniverse(dex: string, feed: FeedParts): Observable<Batch> {
  const { dexRegister, info, runtime } = feed
  const request = 'metaAndAssetCtxs'
  const isWanted = () => dex === MAIN_DEX || dexRegister.follows(dex)
  const unwanted = interval(UNWANTED_PERIOD_MS, runtime.scheduler).pipe(filter(() => !isWanted()))
  return defer(() => info.ask(() => ({ type: request, ...dexArgument(dex) }))).pipe(
    map(({ body }) =>
      isWanted() ? applyUniverse({ kind: 'universe', request, dex, body }, feed) : [],
    ),
    filter((batch) => batch.length > 0),
    untilAnswered(request, feed, dex === MAIN_DEX ? UNIVERSE_BACK_OFF : PATIENT_BACK_OFF),
    takeUntil(unwanted),
  )
}

/** Finds missing history without an acknowledgement: a reply may have lacked bars, and the engine may have found a gap. */
function sweeps({ backfill, historyOf, runtime }: FeedParts): Observable<never> {
  const { scheduler } = runtime
  return interval(SWEEP_PERIOD_MS, scheduler).pipe(
    tap(() => {
      const nowMs = scheduler.now()
      backfill.sweep(nowMs, (coin) => historyOf(coin, nowMs).length > 0)
    }),
    ignoreElements(),
  )
}

/** Repeats the ranking of coins, because volumes change within hours. */
function ranking(feed: FeedParts): Observable<never> {
  return interval(RANK_PERIOD_MS, feed.runtime.scheduler).pipe(
    tap(() => {
      feed.plan.rank()
      keepFollowed(feed)
      feed.reportDexes()
    }),
    ignoreElements(),
  )
}

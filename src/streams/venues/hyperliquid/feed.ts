import { strict as assert } from 'node:assert'
import type { MonoTypeOperatorFunction } from 'rxjs'
import {
  concat,
  defer,
  exhaustMap,
  ignoreElements,
  interval,
  map,
  merge,
  mergeMap,
  Observable,
  of,
  retry,
  tap,
  timer,
} from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import type { Batch } from '../../../domain/event.ts'
import type { Runtime } from '../../runtime.ts'
import { AccountRanking } from './account-ranking.ts'
import { AccountRotation } from './account-rotation.ts'
import { AuditRotation } from './audit-rotation.ts'
import { Backfill } from './backfill.ts'
import { decodeDexNames } from './dexes.ts'
import type { FeedOptions, FeedParts } from './feed-parts.ts'
import { accepted, noteFailure, PATIENT_BACK_OFF } from './feed-parts.ts'
import { InfoClient } from './info-client.ts'
import { Intake } from './intake.ts'
import { memories } from './memories.ts'
import { Quarantine } from './quarantine.ts'
import { requestedBatches } from './requested-batches.ts'
import { Roster } from './roster.ts'
import { SlowWork } from './slow-work.ts'
import { socketBatches } from './sockets.ts'
import { SureNames } from './sure-names.ts'
import { keepFollowed, takeUniverse } from './take-universe.ts'
import { dexArgument, dexOf, MAIN_DEX } from './universe.ts'
import { UniverseRefresh } from './universe-refresh.ts'
import { ACCOUNTS_SHARE } from './weight-budget.ts'

/** The venue allows ten for one address; the rest is room for overlapping reconnects. */
const SOCKETS_MAX = 8
const UNIVERSE_BACK_OFF = { minMs: 1_000, maxMs: 30_000 }
const DEXES_PERIOD_MS = 3_600_000
const SWEEP_PERIOD_MS = 60_000
const RANK_PERIOD_MS = 600_000

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
  return new Observable<Batch>((subscriber) => {
    const { onNotice = () => {}, onArrival, dexes = [], weightPerMinute } = options
    const { accountWeightPerMinute = ACCOUNTS_SHARE * weightPerMinute } = options
    const nowMs = runtime.scheduler.now()
    const feed: FeedParts = {
      ...options,
      onNotice,
      runtime,
      info: new InfoClient(options, runtime, onNotice),
      intake: new Intake({
        ...{ sockets, onNotice, known: options.known ?? [] },
        ...(options.tradesKnownUntilMs && { tradesKnownUntilMs: options.tradesKnownUntilMs }),
        ...(onArrival && { onArrival }),
      }),
      names: new SureNames(options.known?.map(({ coin }) => coin) ?? []),
      roster: new Roster(sockets),
      backfill: new Backfill(),
      audits: new AuditRotation(nowMs),
      traders: new AccountRanking(nowMs),
      accounts: new AccountRotation(accountWeightPerMinute, nowMs),
      slow: new SlowWork(),
      refresh: new UniverseRefresh(MAIN_DEX),
      quarantine: new Quarantine(),
      deliver: (batch) => subscriber.next(batch),
    }
    const others = dexes === 'all' ? allDexes(feed) : of(dexes)
    const known = new Set(
      options.known?.flatMap(({ coin, isDelisted }) => (isDelisted ? [] : [coin])),
    )
    /** What our own history has of coins that nobody knew before. */
    const memoriesOfNew = (dex: string) =>
      defer(() => {
        const coins = feed.roster.followed.filter((coin) => dexOf(coin) === dex && !known.has(coin))
        return memories(coins, feed)
      })
    const begun = (dex: string) => concat(firstUniverse(dex, feed), memoriesOfNew(dex))
    const live = concat(
      firstUniverse(MAIN_DEX, feed),
      defer(() =>
        merge(
          socketBatches(feed, runtime),
          requestedBatches(feed),
          memoriesOfNew(MAIN_DEX),
          // Each in its own time: one that does not answer keeps nobody waiting.
          others.pipe(mergeMap((names) => merge(...names.map(begun)))),
          sweeps(feed),
          ranking(feed),
        ),
      ),
    )
    merge(memories([...known], feed), live).subscribe(subscriber)
  })
}

/** Nothing of a dex can be subscribed or joined before its universe is known, so this is asked until answered. */
function firstUniverse(dex: string, feed: FeedParts): Observable<Batch> {
  const { info } = feed
  const request = 'metaAndAssetCtxs'
  return defer(() => info.ask(() => ({ type: request, ...dexArgument(dex) }))).pipe(
    map(({ body }) => takeUniverse({ request, dex, body }, feed)),
    untilAnswered(request, feed, dex === MAIN_DEX ? UNIVERSE_BACK_OFF : PATIENT_BACK_OFF),
  )
}

/** Names that were not told before, now and whenever somebody has deployed another dex. */
function allDexes(feed: FeedParts): Observable<readonly string[]> {
  const told = new Set<string>()
  const names = defer(() => feed.info.ask(() => ({ type: 'perpDexs' }))).pipe(
    map(({ body }) => accepted(decodeDexNames(body, told)).names),
    untilAnswered('perpDexs', feed, PATIENT_BACK_OFF),
  )
  return timer(0, DEXES_PERIOD_MS, feed.runtime.scheduler).pipe(
    exhaustMap(() => names),
    tap((fresh) => {
      for (const name of fresh) told.add(name)
    }),
  )
}

function untilAnswered<T>(
  request: string,
  feed: FeedParts,
  backOff: { readonly minMs: number; readonly maxMs: number },
): MonoTypeOperatorFunction<T> {
  const { scheduler, random } = feed.runtime
  return retry({
    delay: (cause: unknown, failures) => {
      noteFailure(request, cause, feed)
      return timer(backOffMs(backOff, failures, random()), scheduler)
    },
  })
}

/**
 * An acknowledgement is one reason to ask for history and not the only one: a reply may have lacked
 * bars, and the engine may have found a hole of its own. So it is asked, too, what it lacks.
 */
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

/** Volumes move within hours, and with them the coins that deserve a closer look. */
function ranking(feed: FeedParts): Observable<never> {
  return interval(RANK_PERIOD_MS, feed.runtime.scheduler).pipe(
    tap(() => {
      feed.roster.rank()
      keepFollowed(feed)
    }),
    ignoreElements(),
  )
}

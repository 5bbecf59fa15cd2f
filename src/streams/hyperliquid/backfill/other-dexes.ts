import type { Observable } from 'rxjs'
import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  exhaustMap,
  ignoreElements,
  map,
  merge,
  mergeMap,
  of,
  tap,
  timer,
} from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import { decodeDexes } from '../wire/dexes.ts'
import { decodeMetaAndAssetContexts, dexArgument, MAIN_DEX } from '../wire/universe.ts'
import { dropDex } from './apply-universe.ts'
import { collateralPrices } from './collateral-prices.ts'
import type { FeedParts } from './feed-parts.ts'
import { accepted, noteFailure, PATIENT_BACK_OFF, untilAnswered } from './feed-parts.ts'

/** New dexes are found within the hour. */
const NAMES_PERIOD_MS = 3_600_000
/** Shares of open interest and of daily volume change over days. */
const JUDGEMENT_PERIOD_MS = 24 * 3_600_000
/** Until a rejection is confirmed and failed requests are repeated; at most half a period. */
const RECHECK_MS = 600_000
const LOOK_PERIOD_MS = 10_000

/** Follows a dex as soon as its universe arrives. */
type Begin = (dex: string) => Observable<Batch>

/** Follows the selected builder-deployed dexes independently: one without a reply delays no other. */
export function otherDexes(feed: FeedParts, begin: Begin): Observable<Batch> {
  const { dexRegister } = feed
  const { selection } = dexRegister
  if (selection === 'auto') return chosenDexes(feed, begin)
  const others = selection === 'all' ? allDexes(feed) : of(selection)
  return others.pipe(
    mergeMap((names) => {
      for (const name of names) dexRegister.follow(name)
      feed.reportDexes()
      return merge(...names.map(begin))
    }),
  )
}

/** Emits names that were not listed before. */
function allDexes(feed: FeedParts): Observable<readonly string[]> {
  const { dexRegister, info, runtime } = feed
  const known = new Set<string>()
  const fresh = defer(() => info.ask(() => ({ type: 'perpDexs' }))).pipe(
    map(({ body }) => {
      const { dexes } = accepted(decodeDexes(body, known))
      dexRegister.list(dexes)
      return dexes.map(({ name }) => name).filter((name) => !known.has(name))
    }),
    untilAnswered('perpDexs', feed, PATIENT_BACK_OFF),
  )
  return timer(0, NAMES_PERIOD_MS, runtime.scheduler).pipe(
    exhaustMap(() => fresh),
    tap((names) => {
      for (const name of names) known.add(name)
    }),
  )
}

/** Chooses dexes by their share, at the start and every day. */
function chosenDexes(feed: FeedParts, begin: Begin): Observable<Batch> {
  const { dexRegister, dexPeriodMs = JUDGEMENT_PERIOD_MS, runtime } = feed
  const { scheduler } = runtime
  const recheckMs = Math.min(RECHECK_MS, dexPeriodMs / 2)
  let nextMs = Number.NEGATIVE_INFINITY
  const judgements = timer(0, LOOK_PERIOD_MS, scheduler).pipe(
    exhaustMap(() => (scheduler.now() < nextMs ? EMPTY : judgement(feed))),
    tap(({ isSettled }) => {
      nextMs = scheduler.now() + (isSettled ? dexPeriodMs : recheckMs)
    }),
    mergeMap(({ joined, dropped }) => {
      const batches = dropped.map((dex) => dropDex(dex, feed))
      feed.reportDexes()
      return merge(of(...batches), ...joined.map(begin))
    }),
  )
  return defer(() => merge(...dexRegister.followed.map(begin), judgements))
}

/** Requests the figures of every dex and decides which to follow. */
function judgement(feed: FeedParts) {
  const { deliver, dexRegister, runtime } = feed
  return defer(() => {
    let isWhole = true
    const noteMissing = (request: string) => (cause: unknown) => {
      noteFailure(request, cause, feed)
      isWhole = false
      return EMPTY
    }
    return concat(
      listedDexes(feed),
      // Nothing is judged without the main dex.
      figures(MAIN_DEX, feed),
      collateralPrices(feed).pipe(
        tap(deliver),
        ignoreElements(),
        catchError(noteMissing('spotMetaAndAssetCtxs')),
      ),
      defer(() => of(...dexRegister.listed)).pipe(
        concatMap((dex) => figures(dex, feed).pipe(catchError(noteMissing('metaAndAssetCtxs')))),
      ),
      defer(() => {
        const { joined, dropped, isOpen } = dexRegister.judge(runtime.scheduler.now())
        return of({ joined, dropped, isSettled: isWhole && !isOpen })
      }),
    )
  }).pipe(untilAnswered('perpDexs', feed, PATIENT_BACK_OFF))
}

function listedDexes({ dexRegister, info }: FeedParts): Observable<never> {
  return defer(() => info.ask(() => ({ type: 'perpDexs' }))).pipe(
    tap(({ body }) => dexRegister.list(accepted(decodeDexes(body)).dexes)),
    ignoreElements(),
  )
}

/** Requests open interest and volume of one dex. */
function figures(dex: string, { dexRegister, info, runtime }: FeedParts): Observable<never> {
  return defer(() => info.ask(() => ({ type: 'metaAndAssetCtxs', ...dexArgument(dex) }))).pipe(
    tap(({ body }) => {
      const reply = decodeMetaAndAssetContexts(body, runtime.scheduler.now(), dex)
      dexRegister.note(dex, accepted(reply))
    }),
    ignoreElements(),
  )
}

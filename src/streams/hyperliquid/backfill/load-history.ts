import type { Observable } from 'rxjs'
import { concat, concatMap, defer, EMPTY, filter, map, timer } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import { memorySeries } from '../../../domain/history.ts'
import type { FeedParts } from './feed-parts.ts'

/** Between two slices of loading. */
const SLICE_PERIOD_MS = 1
/** Series per slice; each takes about 0.2 ms. */
const SERIES_PER_SLICE = 8

/** Loads the local history of these coins, series by series. */
export function loadHistory(
  coins: readonly string[],
  { ingest, loadHistory: load, runtime, background }: FeedParts,
): Observable<Batch> {
  const { scheduler } = runtime
  const read = (coin: string, series: Memory['series']): Batch => {
    const nowMs = scheduler.now()
    const memory = load?.(coin, series, nowMs) ?? null
    if (memory === null) return []
    if (memory.series === 'fundings') background.fundingCache.loaded(coin, memory.rows)
    return ingest.process({ kind: 'remembered', memory }, nowMs).batch
  }
  const all = load === undefined ? [] : coins
  const slices = memorySeries.flatMap((series) =>
    Array.from({ length: Math.ceil(all.length / SERIES_PER_SLICE) }, (_, slice) =>
      timer(SLICE_PERIOD_MS, scheduler).pipe(
        concatMap(() => all.slice(slice * SERIES_PER_SLICE, (slice + 1) * SERIES_PER_SLICE)),
        map((coin) => read(coin, series)),
      ),
    ),
  )
  const began = defer(() => {
    background.loading()
    return EMPTY
  })
  const ended = defer(() => {
    background.loaded()
    return EMPTY
  })
  return concat(began, ...slices, ended).pipe(filter((batch) => batch.length > 0))
}

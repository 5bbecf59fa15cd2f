import { measureMsKept } from '../compute/market/measure-log.ts'
import type { Clock } from '../domain/clock.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import type { HistoryStore } from '../store/history-store.ts'

/** Interval between two series: reading one takes some milliseconds, and feed events are processed in between. */
const SERIES_GAP_MS = 20

/**
 * Loads our own measures from history, one series at a time. Rows later than now were written while the clock was
 * wrong and are left out.
 * @returns cancels it
 */
export function loadMeasures(
  history: Pick<HistoryStore, 'measureSeries' | 'measures'>,
  clock: Clock,
  onLoaded: (event: MeasureHistoryEvent) => void,
): () => void {
  const remaining = history.measureSeries().values()
  let cancel = clock.after(SERIES_GAP_MS, loadNext)
  return () => cancel()

  function loadNext(): void {
    const { done, value: series } = remaining.next()
    if (done) return
    cancel = clock.after(SERIES_GAP_MS, loadNext)
    const nowMs = clock.nowMs()
    const rows = history.measures(series, nowMs - measureMsKept(series), nowMs)
    const newest = rows.at(-1)
    if (newest === undefined) return
    const times = { timeExchangeMs: newest.timeMs, timeReceivedMs: nowMs }
    onLoaded({ kind: 'measure-history', series, rows, ...times })
  }
}

import { MEASURE_DAYS_MAX } from '../compute/market/measure-log.ts'
import type { Clock } from '../domain/clock.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import type { HistoryStore } from '../store/history-store.ts'

const DAY_MS = 86_400_000
/** Between two series. One takes some milliseconds, and the venue is heard in between. */
const TURN_MS = 20

/**
 * Tells an engine that starts what its history remembers of our own measures, as far back as anything is
 * compared with: one series a turn, while everything else goes on. What is stamped later than now was
 * written while our clock was wrong, and is left out.
 * @returns a function that ends it
 */
export function recallMeasures(
  history: Pick<HistoryStore, 'measureSeries' | 'measures'>,
  clock: Clock,
  tell: (event: MeasureHistoryEvent) => void,
): () => void {
  const waiting = history.measureSeries().values()
  let cancel = clock.after(TURN_MS, turn)
  return () => cancel()

  function turn(): void {
    const { done, value: series } = waiting.next()
    if (done) return
    cancel = clock.after(TURN_MS, turn)
    const nowMs = clock.nowMs()
    const rows = history.measures(series, nowMs - MEASURE_DAYS_MAX * DAY_MS, nowMs)
    const newest = rows.at(-1)
    if (newest === undefined) return
    const times = { timeExchangeMs: newest.timeMs, timeReceivedMs: nowMs }
    tell({ kind: 'measure-history', series, rows, ...times })
  }
}

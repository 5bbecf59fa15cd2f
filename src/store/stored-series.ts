import type { Memory } from '../domain/history.ts'
import type { HistoryStore } from './history-store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MONTH_MS = 30 * DAY_MS
/** A month of volatility with 200 h before it; correlation reads 889 closes. The margin covers a downtime. */
const HOURS_MS = 39 * DAY_MS

/** One series of a coin, for a starting engine; reading takes a few milliseconds. @returns null for an empty series */
export function storedSeries(
  history: HistoryStore,
  coin: string,
  series: Memory['series'],
  nowMs: number,
): Memory | null {
  const memory = read(history, coin, series, nowMs)
  return memory.rows.length === 0 ? null : memory
}

function read(
  history: HistoryStore,
  coin: string,
  series: Memory['series'],
  nowMs: number,
): Memory {
  const fromMs = nowMs - MONTH_MS - HOUR_MS
  switch (series) {
    case 'fundings':
      return { series, coin, rows: history.fundings(coin, fromMs) }
    case 'hours':
      return { series, coin, rows: history.bars(coin, nowMs - HOURS_MS) }
    case 'quarters':
      return { series, coin, rows: history.sparseSamples(coin, fromMs, nowMs - DAY_MS - 1) }
    case 'minutes': {
      const untilMs = Number.POSITIVE_INFINITY
      return { series, coin, rows: history.samples(coin, nowMs - DAY_MS, untilMs) }
    }
    default:
      return series satisfies never
  }
}

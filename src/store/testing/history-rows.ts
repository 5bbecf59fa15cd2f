import type { Bar } from '../../domain/bar.ts'
import type { FundingRow, HistoryBatch, MarketSample, MeasureMinute } from '../../domain/history.ts'

/** Midnight: on the grid of every kind of row. */
export const START_MS = Date.UTC(2026, 0, 1)

const HOUR_MS = 3_600_000

/** Rows that no two places share, so that a wrong one is seen. */
export function barAt(openTimeMs: number, mark = 0): Bar {
  const price = 100 + (openTimeMs % 9_999_991) / 1e6 + mark
  return {
    openTimeMs,
    open: price,
    high: price + 2,
    low: price - 1,
    close: price + 1,
    volumeBase: openTimeMs % 977,
  }
}

/** An hour apart. */
export function barsFrom(fromMs: number, count: number, mark = 0): Bar[] {
  return Array.from({ length: count }, (_, at) => barAt(fromMs + at * HOUR_MS, mark))
}

export function sampleAt(coin: string, timeMs: number): MarketSample {
  const price = 100 + (timeMs % 9_999_991) / 1e6
  return {
    coin,
    timeMs,
    markPrice: price,
    oraclePrice: price + 0.1,
    openInterestBase: timeMs % 1_009,
    dayNotional: 5e6,
    fundingRateHourly: 0.0000125,
    premium: null,
    spreadBps: 1.5,
    impactSpreadBps: null,
  }
}

export function fundingAt(coin: string, hour: number, isSettled: boolean): FundingRow {
  return {
    coin,
    timeMs: START_MS + hour * HOUR_MS,
    rateHourly: (isSettled ? 1e-5 : 2e-5) + hour * 1e-9,
    premium: isSettled ? 3e-4 : null,
    isSettled,
  }
}

/** Of so many minutes, of which every seventh is a hole. */
export function minutesOf(series: string, fromMs: number, count: number): MeasureMinute[] {
  return Array.from({ length: count }, (_, at) => fromMs + at * 60_000)
    .filter((timeMs) => (timeMs / 60_000) % 7 !== 0)
    .map((timeMs) => ({ series, timeMs, value: (timeMs % 9_999_991) / 1e6 - 5 }))
}

export function batchOf(rows: Partial<HistoryBatch>): HistoryBatch {
  return { bars: [], samples: [], fundings: [], measures: [], droppedRows: 0, ...rows }
}

export function barBatch(coin: string, bars: readonly Bar[]): HistoryBatch {
  return batchOf({ bars: bars.map((bar) => ({ coin, timeframe: '1h', bar })) })
}

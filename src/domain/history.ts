import type { Bar } from './bar.ts'
import type { Timeframe } from './timeframe.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Interval of a coin's samples, from which 24 h percentiles are computed. */
export const SAMPLE_STEP_MS = MINUTE_MS

/** Interval of a measure's values. */
export const MEASURE_STEP_MS = MINUTE_MS

/** Interval of the samples kept for a month, at the open of 15m bars. */
export const SPARSE_SAMPLE_STEP_MS = 15 * MINUTE_MS

/** Funding interval of the venue. */
export const FUNDING_STEP_MS = HOUR_MS

/** A closed bar; replaces an earlier one of the same coin, timeframe and open time. */
export type ClosedBar = {
  readonly coin: string
  readonly timeframe: Timeframe
  readonly bar: Bar
}

/** A coin's figures at a whole minute: the last received, none older than its cadence. */
export type MarketSample = {
  readonly coin: string
  readonly timeMs: number
  readonly markPrice: number
  readonly oraclePrice: number
  /** One-sided, in the coin's unit. */
  readonly openInterestBase: number
  /** Last 24 h, in the quote unit. */
  readonly dayNotional: number
  /** Running estimate of the next hourly rate, as a fraction. */
  readonly fundingRateHourly: number
  /** As a fraction; null if the venue gives none. */
  readonly premium: number | null
  /** Of the best quotes; null for a one-sided book or an outdated quote. */
  readonly spreadBps: number | null
  /** Between the venue's impact prices; null if it gives none. */
  readonly impactSpreadBps: number | null
}

/** Funding paid by longs to shorts at a whole hour. */
export type FundingRow = {
  readonly coin: string
  readonly timeMs: number
  /** As a fraction of the position. */
  readonly rateHourly: number
  /** Average of the hour, as a fraction; null for an estimate. */
  readonly premium: number | null
  /** True for the venue's record, false for the last running estimate before the hour. */
  readonly isSettled: boolean
}

/** One series of one coin, loaded from history when the engine starts. Ascending, never empty. */
export type Memory =
  | {
      readonly series: 'fundings'
      readonly coin: string
      readonly rows: readonly FundingRow[]
    }
  /** `quarters`: 15 min apart, a month; `minutes`: 1 min apart, the last day. */
  | {
      readonly series: 'quarters' | 'minutes'
      readonly coin: string
      readonly rows: readonly MarketSample[]
    }
  /** Closed 1h bars. */
  | { readonly series: 'hours'; readonly coin: string; readonly rows: readonly Bar[] }

/** In loading order. */
export const memorySeries = [
  'fundings',
  'hours',
  'quarters',
  'minutes',
] as const satisfies Memory['series'][]

/** Last value of a measure in one minute; the series names the measure. */
export type MeasureMinute = {
  readonly series: string
  /** Start of the minute, by the local clock. */
  readonly timeMs: number
  readonly value: number
}

/** Rows in order of arrival: a later row replaces an earlier one of the same time. */
export type HistoryBatch = {
  readonly bars: readonly ClosedBar[]
  readonly samples: readonly MarketSample[]
  readonly fundings: readonly FundingRow[]
  readonly measures: readonly MeasureMinute[]
  /** Rows lost since the last batch, because the buffer was full. */
  readonly droppedRows: number
}

/** `degraded`: rows are not written; they are buffered in memory, and the oldest are lost. */
export type StoreHealth = {
  readonly state: 'ok' | 'degraded'
  /** null while `ok`. */
  readonly reason: string | null
  /** Begin of the state. */
  readonly sinceMs: number
  /** Rows lost before they were written, since the start. */
  readonly droppedRows: number
  /** Damaged blocks found since the start. */
  readonly damagedBlocks: number
  /** Unreadable files replaced by new ones since the start. */
  readonly setAsideFiles: number
}

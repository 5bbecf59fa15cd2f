import type { Bar } from './bar.ts'
import type { Timeframe } from './timeframe.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Between two samples of a coin: what a 24 h percentile of spread or basis is taken from. */
export const SAMPLE_STEP_MS = MINUTE_MS

/** Between two values of a measure of ours. */
export const MEASURE_STEP_MS = MINUTE_MS

/** Of the samples that are kept for a month: each meets the open of a 15m bar. */
export const SPARSE_SAMPLE_STEP_MS = 15 * MINUTE_MS

/** Between two settlements of funding on this venue. */
export const FUNDING_STEP_MS = HOUR_MS

/**
 * A bar that has ended. The same coin, timeframe and open time again is a later word on the same bar,
 * and replaces it.
 */
export type ClosedBar = {
  readonly coin: string
  readonly timeframe: Timeframe
  readonly bar: Bar
}

/** A coin's figures at a whole minute: the last ones heard by then, none older than its cadence. */
export type MarketSample = {
  readonly coin: string
  readonly timeMs: number
  readonly markPrice: number
  readonly oraclePrice: number
  /** One-sided, in the coin's unit. */
  readonly openInterestBase: number
  readonly dayNotionalUsd: number
  /** Running estimate of the next hourly rate, as a fraction. */
  readonly fundingRateHourly: number
  /** Of that instant, as a fraction; null where the venue has none. */
  readonly premium: number | null
  /** Of the best quotes; null on a one-sided book, and when the last quote was older than its cadence. */
  readonly spreadBps: number | null
  /** Between the venue's impact prices; null where it has none. */
  readonly impactSpreadBps: number | null
}

/** What longs paid shorts at a whole hour. */
export type FundingRow = {
  readonly coin: string
  /** The whole hour at which it was paid. */
  readonly timeMs: number
  /** As a fraction of the position. */
  readonly rateHourly: number
  /** Average of the hour, as a fraction; null for an estimate, which does not know it. */
  readonly premium: number | null
  /** True for the venue's own record; false for the last running estimate before the hour. */
  readonly isSettled: boolean
}

/** What history remembers of one coin in one way, told to an engine that starts. Ascending, never empty. */
export type Memory =
  | {
      readonly series: 'fundings'
      readonly coin: string
      readonly rows: readonly FundingRow[]
    }
  /** A quarter apart, a month of them; a minute apart, of the last day, which come behind those. */
  | {
      readonly series: 'quarters' | 'minutes'
      readonly coin: string
      readonly rows: readonly MarketSample[]
    }
  /** Closed 1h bars. */
  | { readonly series: 'hours'; readonly coin: string; readonly rows: readonly Bar[] }

/** In the order in which they are told. */
export const memorySeries = [
  'fundings',
  'hours',
  'quarters',
  'minutes',
] as const satisfies Memory['series'][]

/** The last value of a minute of one measure of ours; what it measures is in the name of the series. */
export type MeasureMinute = {
  readonly series: string
  /** Begin of the minute, by our clock. */
  readonly timeMs: number
  readonly value: number
}

/** Rows in the order in which they became known: a later one replaces an earlier one of the same time. */
export type HistoryBatch = {
  readonly bars: readonly ClosedBar[]
  readonly samples: readonly MarketSample[]
  readonly fundings: readonly FundingRow[]
  readonly measures: readonly MeasureMinute[]
  /** Rows that were lost since the last batch, because nobody took them in time. */
  readonly droppedRows: number
}

/** `degraded`: nothing reaches the disk for the time being; rows wait in memory, and the oldest get lost. */
export type StoreHealth = {
  readonly state: 'ok' | 'degraded'
  /** null while `ok`. */
  readonly reason: string | null
  /** Since when the state is what it is. */
  readonly sinceMs: number
  /** Rows that never reached the disk, since the start. */
  readonly droppedRows: number
  /** Blocks that were found damaged, since the start. */
  readonly damagedBlocks: number
  /** Files that could not be read any more, since the start: history was begun anew as often. */
  readonly setAsideFiles: number
}

import type { Bar } from '../domain/bar.ts'
import type { FundingRow, MarketSample } from '../domain/history.ts'

/**
 * Rows of history as numbers of a block, and back. The first number of a row is never NaN; null is stored as NaN.
 */

export function barRow({ open, high, low, close, volumeBase }: Bar): readonly number[] {
  return [open, high, low, close, volumeBase]
}

export function barOf(openTimeMs: number, numbers: Float64Array, at: number): Bar {
  return {
    openTimeMs,
    open: numbers[at] as number,
    high: numbers[at + 1] as number,
    low: numbers[at + 2] as number,
    close: numbers[at + 3] as number,
    volumeBase: numbers[at + 4] as number,
  }
}

export function sampleRow(sample: MarketSample): readonly number[] {
  return [
    sample.markPrice,
    sample.oraclePrice,
    sample.openInterestBase,
    sample.dayNotional,
    sample.fundingRateHourly,
    orNaN(sample.premium),
    orNaN(sample.spreadBps),
    orNaN(sample.impactSpreadBps),
  ]
}

export function sampleOf(
  coin: string,
  timeMs: number,
  numbers: Float64Array,
  at: number,
): MarketSample {
  return {
    coin,
    timeMs,
    markPrice: numbers[at] as number,
    oraclePrice: numbers[at + 1] as number,
    openInterestBase: numbers[at + 2] as number,
    dayNotional: numbers[at + 3] as number,
    fundingRateHourly: numbers[at + 4] as number,
    premium: orNull(numbers[at + 5] as number),
    spreadBps: orNull(numbers[at + 6] as number),
    impactSpreadBps: orNull(numbers[at + 7] as number),
  }
}

export function fundingRow(funding: FundingRow): readonly number[] {
  return [funding.rateHourly, orNaN(funding.premium), funding.isSettled ? 1 : 0]
}

export function fundingOf(
  coin: string,
  timeMs: number,
  numbers: Float64Array,
  at: number,
): FundingRow {
  return {
    coin,
    timeMs,
    rateHourly: numbers[at] as number,
    premium: orNull(numbers[at + 1] as number),
    isSettled: numbers[at + 2] === 1,
  }
}

function orNaN(value: number | null): number {
  return value ?? Number.NaN
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

import type { Bar } from '../domain/bar.ts'
import type { FundingRow, MarketSample } from '../domain/history.ts'

/** Rows of history as the numbers of a block and back. The first number is never NaN; null is NaN. */

export function barRow({ open, high, low, close, volumeBase }: Bar): readonly number[] {
  return [open, high, low, close, volumeBase]
}

export function barOf(openTimeMs: number, row: Float64Array): Bar {
  const [open, high, low, close, volumeBase] = row
  return { openTimeMs, open, high, low, close, volumeBase } as Bar
}

export function sampleRow(sample: MarketSample): readonly number[] {
  return [
    sample.markPrice,
    sample.oraclePrice,
    sample.openInterestBase,
    sample.dayNotionalUsd,
    sample.fundingRateHourly,
    orNaN(sample.premium),
    orNaN(sample.spreadBps),
    orNaN(sample.impactSpreadBps),
  ]
}

export function sampleOf(coin: string, timeMs: number, row: Float64Array): MarketSample {
  const field = (at: number) => row[at] as number
  return {
    coin,
    timeMs,
    markPrice: field(0),
    oraclePrice: field(1),
    openInterestBase: field(2),
    dayNotionalUsd: field(3),
    fundingRateHourly: field(4),
    premium: orNull(field(5)),
    spreadBps: orNull(field(6)),
    impactSpreadBps: orNull(field(7)),
  }
}

export function fundingRow(funding: FundingRow): readonly number[] {
  return [funding.rateHourly, orNaN(funding.premium), funding.isSettled ? 1 : 0]
}

export function fundingOf(coin: string, timeMs: number, row: Float64Array): FundingRow {
  const [rateHourly, premium, settled] = row
  return {
    coin,
    timeMs,
    rateHourly: rateHourly as number,
    premium: orNull(premium as number),
    isSettled: settled === 1,
  }
}

function orNaN(value: number | null): number {
  return value ?? Number.NaN
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

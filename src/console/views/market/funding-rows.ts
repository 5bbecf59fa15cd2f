import type { Overview } from './overview.ts'

const HOUR_MS = 3_600_000

export type FundingHeatRow = {
  readonly coin: string
  /** Basis points an hour, the oldest first. */
  readonly rates: readonly (number | null)[]
  readonly meanBps: number
}

/** Coins with settled funding, the largest absolute mean first. */
export function fundingRows({ coins }: Pick<Overview, 'coins'>): readonly FundingHeatRow[] {
  return coins
    .flatMap(({ coin, funding_bps: rates }) => {
      const known = rates.filter((rate) => rate !== null)
      if (known.length === 0) return []
      const meanBps = known.reduce((sum, rate) => sum + rate, 0) / known.length
      return [{ coin, rates, meanBps }]
    })
    .sort((one, other) => Math.abs(other.meanBps) - Math.abs(one.meanBps))
}

/** Unix ms of each hour of a list. */
export function hoursFrom(firstMs: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => firstMs + at * HOUR_MS)
}

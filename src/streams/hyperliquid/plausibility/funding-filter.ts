import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import type { FundingRow } from '../../../domain/history.ts'
import { dexOf, MAIN_DEX } from '../wire/universe.ts'

/** The venue rounds both rate and premium more finely. */
const ROUNDING = 5e-9

/**
 * Drops settled rates that contradict the premium of their row, until the venue repeats them: history keeps a settled
 * rate permanently. A crash changes both figures alike, so the filter drops none of its rates. Builders set the rule
 * of their own dex, so rates of other dexes pass.
 *
 * Measured with 20,000 replies garbled by `simulator/venue/garble.ts`: of 172 wrong rates within all bounds it drops 171.
 */
export class FundingFilter {
  /** Per coin, the rows that the last reply lost, by hour. */
  readonly #dropped = new Map<string, ReadonlyMap<number, FundingRow>>()

  /** @returns the accepted rows of one reply */
  accept(coin: string, rows: readonly FundingRow[]): readonly FundingRow[] {
    if (dexOf(coin) !== MAIN_DEX) return rows
    const before = this.#dropped.get(coin)
    const dropped = new Map<number, FundingRow>()
    const accepted = rows.filter((row) => {
      if (isExplained(row) || isSame(row, before?.get(row.timeMs))) return true
      dropped.set(row.timeMs, row)
      return false
    })
    if (dropped.size > 0) this.#dropped.set(coin, dropped)
    else this.#dropped.delete(coin)
    return accepted
  }
}

function isExplained({ rateHourly, premium }: FundingRow): boolean {
  return premium === null || Math.abs(rateHourly - impliedRateHourly(premium)) <= ROUNDING
}

function isSame({ rateHourly, premium }: FundingRow, before: FundingRow | undefined): boolean {
  return before?.rateHourly === rateHourly && before.premium === premium
}

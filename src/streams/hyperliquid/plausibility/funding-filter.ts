import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import type { FundingRow } from '../../../domain/history.ts'
import { dexOf, MAIN_DEX } from '../wire/universe.ts'

/** Half a step of what an answer shows of a rate; the venue rounds both figures finer. */
const ROUNDING = 5e-9

/**
 * Settled rates that the premium beside them does not explain. Where the venue has changed its rule it says the same
 * when it is asked again; a figure that broke on its way, it does not. A builder sets the rule of its own dex, which
 * is not known here: there nothing is doubted.
 */
export class FundingFilter {
  /** Of each coin, what was doubted in the last reply, by its hour. */
  readonly #doubted = new Map<string, ReadonlyMap<number, FundingRow>>()

  /** @returns those rows of one reply that are believed */
  believed(coin: string, rows: readonly FundingRow[]): readonly FundingRow[] {
    if (dexOf(coin) !== MAIN_DEX) return rows
    const before = this.#doubted.get(coin)
    const doubted = new Map<number, FundingRow>()
    const believed = rows.filter((row) => {
      if (isExplained(row) || isSame(row, before?.get(row.timeMs))) return true
      doubted.set(row.timeMs, row)
      return false
    })
    if (doubted.size > 0) this.#doubted.set(coin, doubted)
    else this.#doubted.delete(coin)
    return believed
  }
}

function isExplained({ rateHourly, premium }: FundingRow): boolean {
  return premium === null || Math.abs(rateHourly - impliedRateHourly(premium)) <= ROUNDING
}

function isSame({ rateHourly, premium }: FundingRow, before: FundingRow | undefined): boolean {
  return before?.rateHourly === rateHourly && before.premium === premium
}

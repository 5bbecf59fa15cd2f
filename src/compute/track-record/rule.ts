import type { Claim, ClaimOutcome, RuleId, Statement } from '../../domain/track-record.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import type { RecentBar, RecentBars } from './recent-bars.ts'

/**
 * What the rules read when a bar of a coin has closed: what the documents of this instant are rendered from. One object for
 * all claims of the instant, so that a rule can keep what it computes for another one.
 */
export type Moment = {
  readonly coin: CoinMarket
  readonly market: MarketState
  /** The coin's bars of the last 24 hours, all of them known. A function, because few rules read them. */
  readonly dayBars: () => readonly RecentBar[]
  /** End of the last closed 15m bar. */
  readonly atMs: number
  /** By our clock. */
  readonly nowMs: number
}

export type Stated = Pick<Claim, 'statement' | 'reference'>

/** What an outcome is read from. */
export type Observed = {
  readonly coin: CoinMarket
  readonly market: MarketState
  readonly bars: RecentBars
}

export type ValueOutcome = Extract<ClaimOutcome, { kind: 'value' }>

/** A rule by which claims about a coin are made. */
export type Rule = {
  readonly id: RuleId
  readonly form: Statement['form']
  /** Fixed quarter of the hour; the drawn one if absent. */
  readonly quarter?: number
  /** Some rules are about a few coins only. */
  readonly coins?: readonly string[]
  horizonMs(item: number): number
  /** @returns null where the estimate says nothing: the rule abstains */
  make(moment: Moment, item: number): Stated | null
  /** Called after the bar that follows the horizon. @returns null while what was claimed is not known */
  outcome(claim: Claim, observed: Observed): ClaimOutcome | null
}

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** The venue lists some 500 perpetuals on all its dexes. A list beyond this is taken for a fault. */
export const LISTINGS_MAX = 1_024

/** One perpetual of the venue, as its metadata tells it. `coin` is the venue's spelling, verbatim. */
export type Listing = {
  readonly coin: string
  readonly sizeDecimals: number
  readonly maxLeverage: number
  /** Ascending; the first begins at 0 and allows `maxLeverage`. Never empty. */
  readonly marginTiers: readonly MarginTier[]
  readonly isDelisted: boolean
  /**
   * The venue's index of the spot token that margin, prices and notionals of a builder-deployed dex are in; absent on
   * the venue's own dex, where it is {@link USDC_TOKEN}.
   */
  readonly collateralToken?: number
}

/** USDC among the venue's spot tokens. */
export const USDC_TOKEN = 0
/** Stands for a collateral token that could not be read. */
export const UNKNOWN_TOKEN = -1

/** From this notional of a position on, no more leverage than that is allowed. */
export type MarginTier = {
  readonly lowerBoundUsd: number
  readonly maxLeverage: number
}

/** What holds where the venue lists no table: one tier without bounds. */
export function singleMarginTier(maxLeverage: number): readonly MarginTier[] {
  return [{ lowerBoundUsd: 0, maxLeverage }]
}

/** In the venue's order. */
export function tradableOf(listings: readonly Listing[]): readonly string[] {
  return listings.filter(({ isDelisted }) => !isDelisted).map(({ coin }) => coin)
}

/** A request's ticker, resolved. */
export type ResolvedTicker = {
  readonly coin: string
  /** Set when the ticker named the unscaled token (`PEPE` for `kPEPE`): tokens per venue unit. */
  readonly unitMultiplier?: number
}

const QUOTE_SUFFIX = /-(PERP|USD)$/
const SCALED_NAME = /^k([A-Z0-9]+)$/
const SCALED_UNIT_MULTIPLIER = 1000

/**
 * One name for every spelling of a ticker: any case, with `-PERP` or `-USD` behind it or without. Needs no list of
 * coins, so two calls for one coin are known to be the same while nothing is listed yet.
 */
export function tickerName(ticker: string): string {
  return ticker.toUpperCase().replace(QUOTE_SUFFIX, '')
}

/**
 * Finds the venue's spelling for whatever a caller typed: any `tickerName` of a coin, and the plain token name of
 * one that the venue quotes in thousands. A listing of its own is never shadowed by an unscaled name, nor by one
 * that differs from it in the suffix alone.
 */
export class TickerIndex {
  readonly #byName = new Map<string, ResolvedTicker>()

  constructor(coins: Iterable<string>) {
    const others: (readonly [string, ResolvedTicker])[] = []
    for (const coin of coins) {
      const name = tickerName(coin)
      if (name === coin.toUpperCase()) this.#byName.set(name, { coin })
      else others.unshift([name, { coin }])
      const token = SCALED_NAME.exec(coin)?.[1]
      if (token !== undefined)
        others.push([token, { coin, unitMultiplier: SCALED_UNIT_MULTIPLIER }])
    }
    for (const [name, resolved] of others) {
      if (!this.#byName.has(name)) this.#byName.set(name, resolved)
    }
  }

  /** @returns undefined when the venue lists nothing by that name. */
  resolve(ticker: string): ResolvedTicker | undefined {
    return this.#byName.get(tickerName(ticker))
  }
}

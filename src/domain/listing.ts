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

/**
 * What other venues and libraries write behind a coin: `BTC-PERP`, `BTC-USD`, `BTCUSDT`, `BTC_USDC`, `BTC-USDT-SWAP`,
 * and `BTC/USDC:USDC` (ccxt). Something has to stand before it.
 */
const PAIR_SUFFIX = /(?<=.)(?:[-_/:]?USD[CT]?(?::USD[CT])?(?:[-_](?:PERP|SWAP))?|[-_/]PERP)$/
const SCALED_NAME = /^k([A-Z0-9]+)$/
const SCALED_UNIT_MULTIPLIER = 1000

/**
 * One name for every spelling of a ticker: any case, as a pair with a dollar or without. Needs no list of coins, so
 * two calls for one coin are known to be the same while nothing is listed yet.
 */
export function tickerName(ticker: string): string {
  return ticker.toUpperCase().replace(PAIR_SUFFIX, '')
}

/** `PEPE` of `kPEPE`; undefined where the venue does not quote in thousands. */
export function unscaledToken(coin: string): string | undefined {
  return SCALED_NAME.exec(coin)?.[1]
}

/**
 * Finds the venue's spelling for whatever a caller typed: a coin in any case, the plain token name of one that the
 * venue quotes in thousands, or a pair of either with a dollar. A name that is listed means itself, also where it ends
 * like a pair (`SUSD` beside `S`), and is never shadowed by an unscaled name.
 */
export class TickerIndex {
  readonly #byName = new Map<string, ResolvedTicker>()

  constructor(coins: Iterable<string>) {
    const tokens: (readonly [string, ResolvedTicker])[] = []
    for (const coin of coins) {
      this.#byName.set(coin.toUpperCase(), { coin })
      const token = unscaledToken(coin)
      if (token !== undefined)
        tokens.push([token, { coin, unitMultiplier: SCALED_UNIT_MULTIPLIER }])
    }
    for (const [token, resolved] of tokens)
      if (!this.#byName.has(token)) this.#byName.set(token, resolved)
  }

  /** @returns undefined when the venue lists nothing by that name. */
  resolve(ticker: string): ResolvedTicker | undefined {
    return this.#byName.get(ticker.toUpperCase()) ?? this.#byName.get(tickerName(ticker))
  }
}

import { nearestNames, SUGGESTIONS_MAX } from './nearest-names.ts'

/** The venue lists about 500 perpetuals; a longer list than this is invalid. */
export const LISTINGS_MAX = 1_024

/** One perpetual, from the venue's metadata; `coin` by the venue's spelling. */
export type Listing = {
  readonly coin: string
  readonly sizeDecimals: number
  readonly maxLeverage: number
  /** Ascending; the first begins at 0 and allows `maxLeverage`. Never empty. */
  readonly marginTiers: readonly MarginTier[]
  readonly isDelisted: boolean
  /** Spot token index of the collateral of a builder-deployed dex; absent on the main dex, where it is {@link USDC_TOKEN}. */
  readonly collateralToken?: number
}

/** USDC's spot token index. */
export const USDC_TOKEN = 0
/** An unreadable collateral token. */
export const UNKNOWN_TOKEN = -1

/** Maximum leverage from a position notional on. */
export type MarginTier = {
  readonly lowerBoundUsd: number
  readonly maxLeverage: number
}

/** The tiers of a coin without a margin table: one unbounded tier. */
export function singleMarginTier(maxLeverage: number): readonly MarginTier[] {
  return [{ lowerBoundUsd: 0, maxLeverage }]
}

/** Listed coins that trade, in the venue's order. */
export function tradableOf(listings: readonly Listing[]): readonly string[] {
  return listings.filter(({ isDelisted }) => !isDelisted).map(({ coin }) => coin)
}

/** A request's ticker, resolved. */
export type ResolvedTicker = {
  readonly coin: string
  /** Tokens per venue unit; set if the ticker names the unscaled token (`PEPE` for `kPEPE`). */
  readonly unitMultiplier?: number
}

/**
 * Suffixes of other venues and libraries: `BTC-PERP`, `BTC-USD`, `BTCUSDT`, `BTC_USDC`, `BTC-USDT-SWAP`, `BTC/USDC:USDC`
 * (ccxt), `BTCPERP` (Bybit), `BTC-PERPETUAL` (Deribit), `BTCUSDT.P` (TradingView).
 */
const PAIR_SUFFIX =
  /(?<=[^:])(?:[-_/:]?USD[CT]?(?::USD[CT])?(?:[-_](?:PERP(?:ETUAL)?|SWAP))?|[-_/]?PERP|[-_/]PERPETUAL)?(?:\.P)?$/
const SCALED_NAME = /^k([A-Z0-9]+)$/
const SCALED_UNIT_MULTIPLIER = 1000

/** Canonical name of a ticker: upper case, without a USD suffix. It does not depend on the list of coins. */
export function tickerName(ticker: string): string {
  return ticker.toUpperCase().replace(PAIR_SUFFIX, '')
}

/** `PEPE` for `kPEPE`; undefined if the venue does not quote in thousands. */
export function unscaledToken(coin: string): string | undefined {
  return SCALED_NAME.exec(coin)?.[1]
}

/**
 * Resolves tickers to the venue's spelling: a coin in any case, a coin that is quoted in thousands by its unscaled token
 * or as `1000PEPE`, or a USD pair of these. A listed name always means itself, even with a pair suffix (`SUSD` next to `S`).
 */
export class TickerIndex {
  readonly #byName = new Map<string, ResolvedTicker>()

  constructor(coins: Iterable<string>) {
    const tokens: (readonly [string, ResolvedTicker])[] = []
    for (const coin of coins) {
      this.#byName.set(coin.toUpperCase(), { coin })
      const token = unscaledToken(coin)
      if (token === undefined) continue
      tokens.push([token, { coin, unitMultiplier: SCALED_UNIT_MULTIPLIER }])
      // The name of the same unit on Binance and Bybit.
      tokens.push([`${SCALED_UNIT_MULTIPLIER}${token}`, { coin }])
    }
    for (const [token, resolved] of tokens)
      if (!this.#byName.has(token)) this.#byName.set(token, resolved)
  }

  /** @returns undefined for an unlisted name */
  resolve(ticker: string): ResolvedTicker | undefined {
    return this.#byName.get(ticker.toUpperCase()) ?? this.#byName.get(tickerName(ticker))
  }
}

/** Suggestions for an unlisted ticker: the name on other dexes first, then similar names. */
export function similarCoins(ticker: string, coins: readonly string[]): string[] {
  const name = tickerName(ticker)
  const elsewhere = coins.filter((coin) => coin.toUpperCase().endsWith(`:${name}`))
  return [...new Set([...elsewhere, ...nearestNames(name, coins)])].slice(0, SUGGESTIONS_MAX)
}

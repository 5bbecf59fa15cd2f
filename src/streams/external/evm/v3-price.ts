/** Prices and depth of a v3 pool from `slot0`: Uniswap v3 whitepaper, section 6.2. */

const Q96 = 2n ** 96n
const Q192 = 2n ** 192n
const FIXED_POINT = 10n ** 18n
/** Bounds of `TickMath`. */
const SQRT_PRICE_X96_MIN = 4295128739n
const SQRT_PRICE_X96_MAX = 1461446703485210103287273052203988822378723970342n
const TICK_MAX = 887_272

/** The order and the decimals of a pool's two tokens. */
export type PairOrder = {
  /** Whether token 0 is the asset and token 1 the quote. */
  readonly isAssetFirst: boolean
  readonly assetDecimals: number
  readonly quoteDecimals: number
}

export function isSqrtPrice(sqrtPriceX96: bigint): boolean {
  return sqrtPriceX96 >= SQRT_PRICE_X96_MIN && sqrtPriceX96 < SQRT_PRICE_X96_MAX
}

/**
 * Quote units for one unit of the asset: (sqrtPriceX96 / 2^96)^2 in smallest units of token 1 per token 0,
 * scaled by the decimals, as an integer of 10^-18 and only then as a number.
 * @param sqrtPriceX96 within the bounds of {@link isSqrtPrice}
 */
export function priceOf(sqrtPriceX96: bigint, order: PairOrder): number {
  const { isAssetFirst, assetDecimals, quoteDecimals } = order
  const squared = sqrtPriceX96 * sqrtPriceX96
  const [quoteRaw, assetRaw] = isAssetFirst ? [squared, Q192] : [Q192, squared]
  const numerator = quoteRaw * 10n ** BigInt(assetDecimals)
  const denominator = assetRaw * 10n ** BigInt(quoteDecimals)
  return Number((numerator * FIXED_POINT) / denominator) / Number(FIXED_POINT)
}

/** The price at a mean tick: token 1 per token 0 is 1.0001^tick. null beyond the bounds of `TickMath`. */
export function priceOfTick(tick: number, order: PairOrder): number | null {
  if (!(Math.abs(tick) <= TICK_MAX)) return null
  const { isAssetFirst, assetDecimals, quoteDecimals } = order
  const quotePerAsset = 1.0001 ** (isAssetFirst ? tick : -tick)
  return quotePerAsset * 10 ** (assetDecimals - quoteDecimals)
}

/**
 * The quote reserve of a constant-product pool with the same depth at this price: L times the square root of
 * the price, in quote units. A swap of dy moves the price by 2 dy over it, to first order and within the
 * tick range.
 */
export function reserveQuoteOf(
  liquidity: bigint,
  sqrtPriceX96: bigint,
  { isAssetFirst, quoteDecimals }: PairOrder,
): number {
  const raw = isAssetFirst ? (liquidity * sqrtPriceX96) / Q96 : (liquidity * Q96) / sqrtPriceX96
  return Number(raw) / 10 ** quoteDecimals
}

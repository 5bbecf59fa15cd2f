import { isPlausiblePrice } from './plausible.ts'

/** A price with one scale of Pyth's confidence interval. */
export type PythPrice = { readonly priceUsd: number; readonly confidenceUsd: number }

/** The exponents of all feeds are between -12 and 0. */
const EXPONENT_MIN = -18

/**
 * A price in the fixed-point format of Pyth: both integers in units of 10^exponent USD
 * (https://docs.pyth.network/price-feeds/core/best-practices).
 * @returns null for a price that is implausible or not greater than its own confidence interval
 */
export function pythPrice(
  price: bigint | string,
  confidence: bigint | string,
  exponent: number,
): PythPrice | null {
  if (exponent < EXPONENT_MIN || exponent > 0) return null
  // Parsing yields the nearest double, which a multiplication can miss by one digit.
  const priceUsd = Number(`${price}e${exponent}`)
  const confidenceUsd = Number(`${confidence}e${exponent}`)
  return isPlausiblePrice(priceUsd) && confidenceUsd < priceUsd ? { priceUsd, confidenceUsd } : null
}

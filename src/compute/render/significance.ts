/** Digits of an answer by the meaning of a number: more digits than a market has cost tokens and mislead. */

const PRICE_DIGITS = 8

/** A price or a price-like level, USD: eight significant digits. */
export function price(value: number): number {
  return Number(value.toPrecision(PRICE_DIGITS))
}

export function bps(value: number): number {
  return decimals(value, 2)
}

/** Percent, and dimensionless indicator values: four decimals. */
export function percent(value: number): number {
  return decimals(value, 4)
}

/** A funding rate as a fraction: eight decimals. */
export function rate(value: number): number {
  return decimals(value, 8)
}

/** A score or share between 0 and 1, or -1 and 1: three decimals. */
export function score(value: number): number {
  return decimals(value, 3)
}

/** A USD amount: cents. */
export function usd(value: number): number {
  return decimals(value, 2)
}

/** Rounds a value that may be unknown: NaN becomes null. */
export function orNull(value: number | null, round: (value: number) => number): number | null {
  return value === null || Number.isNaN(value) ? null : round(value)
}

/** Rounds halves away from zero, so that a value and its negative show the same digits. */
export function decimals(value: number, count: number): number {
  const scale = 10 ** count
  const rounded = (Math.sign(value) * Math.round(Math.abs(value) * scale)) / scale
  // Beyond 2^53 the product has no fraction to round, and may not be finite.
  return Number.isFinite(rounded) ? rounded + 0 : value
}

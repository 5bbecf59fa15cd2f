/** A perpetual's price has at most five significant figures … */
const SIGNIFICANT_FIGURES_MAX = 5
/** … and at most this many decimals less those of its size. Whole numbers are always allowed. */
const PRICE_DECIMALS_MAX = 6

const powersOfTen = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent)

export function priceDecimalsMax(sizeDecimals: number): number {
  return PRICE_DECIMALS_MAX - sizeDecimals
}

/** Decimals that the venue allows for a price of this magnitude. */
export function priceDecimals(price: number, sizeDecimals: number): number {
  let bySignificance = SIGNIFICANT_FIGURES_MAX - 1
  if (price >= 1) {
    for (let bound = 10; price >= bound && bySignificance > 0; bound *= 10) bySignificance--
  } else {
    const leadingZeros = -Math.floor(Math.log10(Math.max(price, Number.MIN_VALUE))) - 1
    bySignificance = SIGNIFICANT_FIGURES_MAX + leadingZeros
  }
  return Math.min(priceDecimalsMax(sizeDecimals), bySignificance)
}

export function tickOf(price: number, sizeDecimals: number): number {
  return 1 / powerOfTen(priceDecimals(price, sizeDecimals))
}

/** Nearest price that the venue allows. Monotone, so it keeps a bar's order of high and low. */
export function roundPrice(price: number, sizeDecimals: number): number {
  return roundTo(price, priceDecimals(price, sizeDecimals))
}

export function roundTo(value: number, decimals: number): number {
  const scale = powerOfTen(decimals)
  return Math.round(value * scale) / scale
}

/** Whole lots: the unit in which sizes are exact. */
export function lotsOf(sizeBase: number, sizeDecimals: number): number {
  return Math.round(sizeBase * powerOfTen(sizeDecimals))
}

export function sizeOf(lots: number, sizeDecimals: number): number {
  return lots / powerOfTen(sizeDecimals)
}

/** The venue's spelling of a number: no exponent, no trailing zeros, but always one decimal. */
export function decimalText(value: number, decimalsMax: number): string {
  const text = value.toFixed(Math.max(1, decimalsMax))
  let end = text.length
  while (text.charCodeAt(end - 1) === 48 && text.charCodeAt(end - 2) !== 46) end--
  return text.slice(0, end)
}

function powerOfTen(exponent: number): number {
  return powersOfTen[exponent] ?? 10 ** exponent
}

/** Places prices around a middle: near ones have more room than far ones. */
export type PriceSpreadScale = {
  readonly middle: number
  readonly width: number
  /** Largest root of a relative distance; at the edges. */
  readonly reach: number
}

const REACH_MIN = 0.15
/** Percent. */
const TICKS = [1, 2, 5, 10, 20, 40, 60, 100]

/** @param prices that must be within the scale */
export function priceSpreadScale(
  middle: number,
  prices: readonly number[],
  width: number,
): PriceSpreadScale {
  const roots = prices.map((price) => rootOf(price, middle))
  return { middle, width, reach: 1.04 * Math.max(REACH_MIN, ...roots) }
}

/** @returns 0 at the left edge to `width` */
export function coordinateOf({ middle, width, reach }: PriceSpreadScale, price: number): number {
  const root = rootOf(price, middle) * Math.sign(price - middle)
  return (width / 2) * (1 + root / reach)
}

export type SpreadTick = {
  readonly price: number
  /** Signed. */
  readonly distancePct: number
  readonly x: number
}

/** Round distances on both sides, from left to right, at least so far apart, and half as far from the edges. */
export function spreadTicks(scale: PriceSpreadScale, apart: number): readonly SpreadTick[] {
  const ticks: SpreadTick[] = []
  let lastX = scale.width / 2
  for (const distancePct of TICKS) {
    const price = scale.middle * (1 + distancePct / 100)
    const x = coordinateOf(scale, price)
    if (x - lastX < apart || x > scale.width - apart / 2) continue
    lastX = x
    ticks.push({ price, distancePct, x })
  }
  const below = ticks.flatMap(({ distancePct }) => {
    const price = scale.middle * (1 - distancePct / 100)
    const x = price > 0 ? coordinateOf(scale, price) : -1
    return x < apart / 2 ? [] : [{ price, distancePct: -distancePct, x }]
  })
  return [...below.reverse(), { price: scale.middle, distancePct: 0, x: scale.width / 2 }, ...ticks]
}

/** Of the distance in logarithms, so that half and twice the price are equally far. */
function rootOf(price: number, middle: number): number {
  return Math.sqrt(Math.abs(Math.log(price / middle)))
}

/** The first lane of each label in which it covers none before it. @param spans by their left edges */
export function labelLanes(
  spans: readonly { readonly from: number; readonly to: number }[],
): readonly number[] {
  const ends: number[] = []
  return spans.map(({ from, to }) => {
    const free = ends.findIndex((end) => end <= from)
    const lane = free === -1 ? ends.length : free
    ends[lane] = to
    return lane
  })
}

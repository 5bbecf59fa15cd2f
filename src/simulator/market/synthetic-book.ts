import type { Book, Level } from './market.ts'
import { bits, gaussian, uniform } from './noise.ts'
import { lotsOf, priceDecimals, roundPrice, roundTo, sizeOf, tickOf } from './precision.ts'

/** How deep and how tight a coin's book is. */
export type Liquidity = {
  readonly spreadBps: number
  /** Mean notional of the best level, USD; deeper levels hold more. */
  readonly levelUsd: number
  /** How long a level keeps its size, ms. */
  readonly levelLifeMs: number
}

/** What the newest trade says about the best prices. */
export type Touch = { readonly price: number; readonly side: 'B' | 'A' }

/** Liquidity that fits a day's trading; the three laws are fitted by eye to the venue's books. */
export function liquidityFor(dayNotionalUsd: number): Liquidity {
  return {
    spreadBps: Math.min(40, Math.max(0.05, 5 * Math.sqrt(1e6 / dayNotionalUsd) - 0.3)),
    levelUsd: 15 * dayNotionalUsd ** 0.45,
    levelLifeMs: Math.min(10_000, 600 * Math.sqrt(1e9 / dayNotionalUsd)),
  }
}

/**
 * The book around the newest trade: a buy leaves its price as the best ask, a sale as the best bid.
 * A level's size belongs to its price and lives for a while, so a book without trades repeats.
 */
export function syntheticBook(options: {
  readonly touch: Touch
  readonly liquidity: Liquidity
  readonly key: number
  readonly sizeDecimals: number
  readonly atMs: number
  readonly levels: number
}): Book {
  const { touch, liquidity, key, sizeDecimals, atMs, levels } = options
  const tick = tickOf(touch.price, sizeDecimals)
  const scale = 0.7 + 0.6 * uniform(key, Math.round(touch.price / tick))
  const spreadTicks = Math.round(((liquidity.spreadBps / 1e4) * touch.price * scale) / tick)
  const spread = Math.max(1, spreadTicks) * tick
  const bidAtMost = touch.price - spread
  const bestBid =
    touch.side === 'A' ? touch.price : roundPrice(Math.max(bidAtMost, tick), sizeDecimals)
  const bestAsk = touch.side === 'B' ? touch.price : above(touch.price, spread, sizeDecimals)
  const meanGapTicks = Math.max(0, (0.35 * spread) / tick - 1)

  const side = (best: number, sideKey: number, direction: 1 | -1): Level[] => {
    const out: Level[] = []
    let price = best
    while (out.length < levels && price > 0) {
      out.push(levelAt(price, out.length, sideKey))
      const priceTick = tickOf(price, sizeDecimals)
      const gap = 1 + Math.floor(2 * meanGapTicks * uniform(sideKey, Math.round(price / priceTick)))
      price =
        direction === 1
          ? above(price, gap * priceTick, sizeDecimals)
          : roundPrice(price - gap * priceTick, sizeDecimals)
    }
    return out
  }

  const levelAt = (price: number, depth: number, sideKey: number): Level => {
    const priceKey = bits(sideKey, Math.round(price * 10 ** priceDecimals(price, sizeDecimals)))
    const lifeMs = liquidity.levelLifeMs * (1 + (priceKey % 5))
    const generation = Math.floor((atMs + (priceKey % 65_536)) / lifeMs)
    const usd =
      liquidity.levelUsd * (1 + 0.25 * depth) * Math.exp(0.7 * gaussian(priceKey, generation))
    const lots = Math.max(1, lotsOf(usd / price, sizeDecimals))
    const orders = 1 + Math.floor(uniform(priceKey ^ 0x13, generation) * Math.min(12, lots))
    return { price, sizeBase: sizeOf(lots, sizeDecimals), orders }
  }

  return { bids: side(bestBid, key ^ 0x51, -1), asks: side(bestAsk, key ^ 0xa7, 1) }
}

/** The next allowed price at least `distance` up: beyond a power of ten ticks grow tenfold. */
function above(price: number, distance: number, sizeDecimals: number): number {
  const tick = tickOf(price + distance, sizeDecimals)
  return roundTo(
    Math.ceil((price + distance) / tick - 1e-6) * tick,
    priceDecimals(price + distance, sizeDecimals),
  )
}

/** Notional that the venue's impact prices are for: more for BTC and ETH than for all others. */
export function impactNotionalUsd(coin: string): number {
  return coin === 'BTC' || coin === 'ETH' ? 20_000 : 6_000
}

/** Average execution price of a notional against one side; undefined where it is too thin. */
export function impactPrice(levels: readonly Level[], notionalUsd: number): number | undefined {
  let usd = 0
  let base = 0
  for (const { price, sizeBase } of levels) {
    const takenUsd = Math.min(notionalUsd - usd, price * sizeBase)
    usd += takenUsd
    base += takenUsd / price
    if (usd >= notionalUsd) return usd / base
  }
  return undefined
}

/** The book at `figures` significant figures: bids rounded down, asks up, equal prices joined. */
export function coarseBook(book: Book, figures: number, mantissa: number, levels: number): Book {
  const join = (side: readonly Level[], round: (value: number) => number): Level[] => {
    const joined: Level[] = []
    for (const level of side) {
      const { step, decimals } = coarseStep(level.price, figures, mantissa)
      const steps = level.price / step
      const nearest = Math.round(steps)
      const whole = Math.abs(steps - nearest) < 1e-6 ? nearest : round(steps)
      const price = roundTo(whole * step, decimals)
      const last = joined.at(-1)
      if (last?.price === price) {
        joined[joined.length - 1] = {
          price,
          sizeBase: last.sizeBase + level.sizeBase,
          orders: last.orders + level.orders,
        }
      } else if (joined.length === levels) break
      else joined.push({ ...level, price })
    }
    return joined
  }
  return { bids: join(book.bids, Math.floor), asks: join(book.asks, Math.ceil) }
}

/**
 * A side of a coarse book with `levels` of them, which the raw one fills only near the best price: those beyond
 * hold as much as the ones before on average, more or less by chance.
 */
export function deepenedSide(
  side: readonly Level[],
  options: {
    /** 1 for asks. */
    readonly direction: 1 | -1
    readonly figures: number
    readonly mantissa: number
    readonly levels: number
    readonly sizeDecimals: number
    readonly key: number
  },
): readonly Level[] {
  const { direction, figures, mantissa, levels, sizeDecimals, key } = options
  const mean = (of: (level: Level) => number): number =>
    side.reduce((sum, level) => sum + of(level), 0) / side.length
  const meanLots = lotsOf(
    mean(({ sizeBase }) => sizeBase),
    sizeDecimals,
  )
  const meanOrders = mean(({ orders }) => orders)
  const deep = [...side]
  for (let last = deep.at(-1); last !== undefined && deep.length < levels; last = deep.at(-1)) {
    // Just below a power of ten steps are ten times finer than just above.
    const { step, decimals } = coarseStep(last.price * (1 + direction * 1e-9), figures, mantissa)
    const price = roundTo(last.price + direction * step, decimals)
    const scatter = Math.exp(0.5 * gaussian(key, Math.round(price / step)))
    const lots = Math.max(1, Math.round(meanLots * scatter))
    const orders = Math.max(1, Math.round(meanOrders * scatter))
    deep.push({ price, sizeBase: sizeOf(lots, sizeDecimals), orders })
  }
  return deep
}

/** Distance of the prices of a coarse book, and the decimals that they need. */
function coarseStep(
  price: number,
  figures: number,
  mantissa: number,
): { readonly step: number; readonly decimals: number } {
  const exponent = Math.floor(Math.log10(price)) - figures + 1
  return { step: mantissa * 10 ** exponent, decimals: Math.max(0, -exponent) }
}

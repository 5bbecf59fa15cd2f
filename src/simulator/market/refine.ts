import type { LotBar } from './lot-bar.ts'
import { flatBar, MINUTE_MS, MINUTES_A_QUARTER } from './lot-bar.ts'
import type { Trade } from './market.ts'
import { bits, gaussian, uniform } from './noise.ts'
import { sizeOf } from './precision.ts'
import { PricePath } from './price-path.ts'

/** Share of trades that are further fills of the taker order before them. */
const SAME_ORDER_SHARE = 0.45
const LAST_MS_OF_MINUTE = MINUTE_MS - 1
const TRADE_ID_HIGH_BITS = 18

/**
 * Splits a quarter into fifteen minutes that merge back into exactly that quarter. The first minute
 * of a quarter with trades always has one, so that its open is the quarter's.
 */
export function minutesOf(quarter: LotBar, key: number, sizeDecimals: number): readonly LotBar[] {
  if (quarter.trades === 0) {
    return Array.from({ length: MINUTES_A_QUARTER }, () => flatBar(quarter.close))
  }
  const path = new PricePath(quarter, key, sizeDecimals)
  const ends = cumulativeShares(MINUTES_A_QUARTER, key ^ 0x1f, 0.6).map(
    (share) => 1 + Math.round(share * (quarter.trades - 1)),
  )
  const lotShares = cumulativeShares(MINUTES_A_QUARTER, key ^ 0x2f, 0.5)
  const spareLots = quarter.lots - quarter.trades
  const minutes: LotBar[] = []
  let start = 0
  let close = quarter.open
  let lotsGiven = 0
  // Lots go by trade count times a random factor; only minutes with trades can take any.
  const weights = ends.map((end, i) => {
    const trades = end - (ends[i - 1] ?? 0)
    return trades * ((lotShares[i] ?? 1) - (lotShares[i - 1] ?? 0))
  })
  const weightTotal = weights.reduce((sum, weight) => sum + weight, 0)
  let weightGiven = 0
  for (const [i, end] of ends.entries()) {
    const trades = end - start
    if (trades === 0) {
      minutes.push(flatBar(close))
      continue
    }
    weightGiven += weights[i] ?? 0
    const isLast = end === quarter.trades
    const lotsThrough = isLast ? spareLots : Math.floor((spareLots * weightGiven) / weightTotal)
    const lots = trades + Math.max(0, lotsThrough - lotsGiven)
    lotsGiven = Math.max(lotsGiven, lotsThrough)
    const minute = minuteOnPath(path, start, end - 1, key)
    minutes.push({ ...minute, lots, trades })
    close = minute.close
    start = end
  }
  return minutes
}

/** The trades of one minute bar: their first, extremes, last, sum and count are the bar's. */
export function tradesOf(
  minute: LotBar,
  openTimeMs: number,
  key: number,
  sizeDecimals: number,
): readonly Trade[] {
  if (minute.trades === 0) return []
  const path = new PricePath(minute, key, sizeDecimals)
  const lotShares = cumulativeShares(minute.trades, key ^ 0x3f, 1.3)
  const timeShares = cumulativeShares(minute.trades + 1, key ^ 0x4f, 1)
  const spareLots = minute.lots - minute.trades
  const trades: Trade[] = []
  let before: Trade | undefined
  let lotsGiven = 0
  for (let i = 0; i < minute.trades; i++) {
    const price = path.price(i)
    const lotsThrough =
      i === minute.trades - 1 ? spareLots : Math.floor(spareLots * (lotShares[i] ?? 1))
    const side = sideOf(price, before, uniform(key ^ 0x5f, i))
    const continues =
      before !== undefined && side === before.side && uniform(key ^ 0x6f, i) < SAME_ORDER_SHARE
    const trade: Trade = {
      id: (bits(key ^ 0x7f, i) >>> (32 - TRADE_ID_HIGH_BITS)) * 2 ** 32 + bits(key ^ 0x8f, i),
      timeMs:
        continues && before !== undefined
          ? before.timeMs
          : openTimeMs + Math.floor(LAST_MS_OF_MINUTE * (timeShares[i] ?? 1)),
      side,
      price,
      sizeBase: sizeOf(1 + lotsThrough - lotsGiven, sizeDecimals),
      orderKey: continues && before !== undefined ? before.orderKey : bits(key ^ 0x9f, i),
    }
    lotsGiven = lotsThrough
    trades.push(trade)
    before = trade
  }
  return trades
}

function minuteOnPath(
  path: PricePath,
  first: number,
  last: number,
  key: number,
): Omit<LotBar, 'lots' | 'trades'> {
  const open = path.price(first)
  const close = last > first ? path.price(last) : open
  let high = Math.max(open, close)
  let low = Math.min(open, close)
  // Trades between first and last that no extreme of the quarter has claimed.
  let free = Math.max(0, last - first - 1)
  let hasHigh = false
  let hasLow = false
  for (const anchor of path.anchors) {
    if (anchor.index <= first || anchor.index >= last) continue
    free--
    if (anchor.price > high) hasHigh = true
    if (anchor.price < low) hasLow = true
    high = Math.max(high, anchor.price)
    low = Math.min(low, anchor.price)
  }
  const excursion = 0.5 * path.deviation * Math.sqrt(last - first)
  const up = path.within(high + excursion * Math.abs(gaussian(key ^ 0xaf, first)))
  if (!hasHigh && free > 0 && up > high) {
    high = up
    free--
  }
  const down = path.within(low - excursion * Math.abs(gaussian(key ^ 0xbf, first)))
  if (!hasLow && free > 0 && down < low) low = down
  return { open, high, low, close }
}

/** An uptick was bought, a downtick sold; a repeated price is either. */
function sideOf(price: number, before: Trade | undefined, chance: number): 'B' | 'A' {
  if (before === undefined || price === before.price) return chance < 0.5 ? 'B' : 'A'
  return price > before.price ? 'B' : 'A'
}

/** Ascending shares that end at 1, of log-normal parts. */
function cumulativeShares(parts: number, key: number, deviation: number): number[] {
  const shares: number[] = []
  let total = 0
  for (let i = 0; i < parts; i++) {
    total += Math.exp(deviation * gaussian(key, i))
    shares.push(total)
  }
  return shares.map((sum) => sum / total)
}

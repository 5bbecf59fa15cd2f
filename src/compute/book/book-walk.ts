import type { BookLevel } from '../../domain/event.ts'

const BPS = 10_000
const LOSS_BPS_MAX = BPS
/** Bounds the rounding error of a distance from mid: a level exactly at a limit is within it, on both sides. */
const ROUNDING_BPS = 1e-9

/** One side of a book from a taker's point of view: best level first. */
export type BookSide = {
  readonly levels: readonly BookLevel[]
  readonly mid: number
  /** 1 for asks, which a buyer walks up; -1 for bids, which a seller walks down. */
  readonly direction: 1 | -1
}

export type Fill = {
  /** Average price against mid, always a cost; null on an empty side. */
  readonly slippageBps: number | null
  /** Share of the requested notional that the visible book fills. */
  readonly filledPct: number
  readonly method: 'book_walk' | 'model'
}

/**
 * Executes `notionalUsd` against the book, level by level. The part that the visible book cannot fill is estimated by
 * the square-root law of market impact (Almgren et al. 2005, "Direct Estimation of Equity Market Impact") and marked as
 * a model.
 * @param modelScale factor of the model, from trades after it; the result is at least the cost at the last visible
 * level
 */
export function walk(side: BookSide, notionalUsd: number, modelScale = 1): Fill {
  // Counting down reaches 0 exactly; a sum counted up can miss its goal by rounding.
  let leftUsd = notionalUsd
  let sizeBase = 0
  for (const level of side.levels) {
    const takenUsd = Math.min(level.price * level.sizeBase, leftUsd)
    leftUsd -= takenUsd
    sizeBase += takenUsd / level.price
    if (leftUsd === 0) break
  }
  if (sizeBase === 0) return { slippageBps: null, filledPct: 0, method: 'model' }
  const costUsd = notionalUsd - leftUsd
  const filledBps = slippageBps(side, costUsd / sizeBase)
  if (leftUsd === 0) return { slippageBps: filledBps, filledPct: 100, method: 'book_walk' }
  const modelBps = Math.max(
    modelScale * filledBps * Math.sqrt(notionalUsd / costUsd),
    leastSlippageBps(side, { costUsd, sizeBase, notionalUsd }),
  )
  return {
    // A sale cannot lose more than its value.
    slippageBps: side.direction === -1 ? Math.min(LOSS_BPS_MAX, modelBps) : modelBps,
    filledPct: (costUsd / notionalUsd) * 100,
    method: 'model',
  }
}

/** Depth beyond the visible book is no better than its last level. */
function leastSlippageBps(
  side: BookSide,
  visible: { costUsd: number; sizeBase: number; notionalUsd: number },
): number {
  const lastPrice = side.levels.at(-1)?.price ?? side.mid
  const restBase = (visible.notionalUsd - visible.costUsd) / lastPrice
  return slippageBps(side, visible.notionalUsd / (visible.sizeBase + restBase))
}

/** Resting notional within a distance of mid, USD. */
export function depthUsd(side: BookSide, withinBps: number): number {
  let sum = 0
  for (const level of side.levels) {
    if (slippageBps(side, level.price) > withinBps + ROUNDING_BPS) break
    sum += level.price * level.sizeBase
  }
  return sum
}

/** Distance of the last visible level from mid: depth beyond it is unknown. */
export function visibleBps(side: BookSide): number {
  const last = side.levels.at(-1)
  return last === undefined ? 0 : slippageBps(side, last.price)
}

type Imbalance = {
  /** (bid - ask) / (bid + ask) of the depth within the reach, -1 to 1; null where neither side has any. */
  readonly share: number | null
  /** Distance from mid within which both sides were compared. */
  readonly reachBps: number
}

/**
 * Imbalance of bids and asks within a distance of mid, or within the shorter visible distance of both sides: depth up
 * to 4 bps cannot be compared with depth up to 10 bps.
 */
export function imbalanceWithin(bids: BookSide, asks: BookSide, withinBps: number): Imbalance {
  const reachBps = Math.min(withinBps, visibleBps(bids), visibleBps(asks))
  const [bidUsd, askUsd] = [depthUsd(bids, reachBps), depthUsd(asks, reachBps)]
  const sumUsd = bidUsd + askUsd
  return { share: sumUsd === 0 ? null : (bidUsd - askUsd) / sumUsd, reachBps }
}

type SizeWithin = {
  readonly usd: number
  /** The whole visible side costs less: more may be available. */
  readonly isFloor: boolean
}

/** The largest notional whose average price stays within a distance of mid. */
export function sizeWithin(side: BookSide, withinBps: number): SizeWithin {
  const limit = side.mid * (1 + (side.direction * (withinBps + ROUNDING_BPS)) / BPS)
  let costUsd = 0
  let sizeBase = 0
  for (const level of side.levels) {
    const levelUsd = level.price * level.sizeBase
    // Taking x USD at price p keeps the average at the limit while cost + x = limit * (size + x / p).
    const roomUsd =
      side.direction * (level.price - limit) <= 0
        ? Number.POSITIVE_INFINITY
        : (limit * sizeBase - costUsd) / (1 - limit / level.price)
    if (roomUsd < levelUsd) return { usd: costUsd + Math.max(0, roomUsd), isFloor: false }
    costUsd += levelUsd
    sizeBase += level.sizeBase
  }
  return { usd: costUsd, isFloor: true }
}

function slippageBps(side: BookSide, price: number): number {
  return side.direction * (price / side.mid - 1) * BPS
}

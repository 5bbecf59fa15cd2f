import { bps, price, usd } from '../../src/compute/render/significance.ts'
import type { Book, Context, Level, SettledFunding } from '../../src/simulator/market/market.ts'
import type { Body, SettledRow, SpreadBody } from './reading.ts'

const BPS = 10_000
/** Step of published rates. */
const RATE_STEP = 1e-8

/** Whether the figures of a spread answer follow from this book. */
export function isSpreadOf({ mid_price, spread }: Body, { bids, asks }: Book): boolean {
  const [bid, ask] = [bids[0], asks[0]]
  if (bid === undefined || ask === undefined || spread === undefined) return false
  const mid = (bid.price + ask.price) / 2
  return (
    spread.best_bid === bid.price &&
    spread.best_ask === ask.price &&
    mid_price === price(mid) &&
    spread.bid_ask_bps === bps(((ask.price - bid.price) / mid) * BPS) &&
    [5, 10, 50].every(
      (within) =>
        isClose(spread.depth[`bid_${within}bps_usd`], usd(depthUsd(bids, mid, within))) &&
        isClose(spread.depth[`ask_${within}bps_usd`], usd(depthUsd(asks, mid, within))),
    ) &&
    isImbalanceOf(spread, bids, asks, mid) &&
    (spread.impact_bid === null || spread.impact_bid <= bid.price) &&
    (spread.impact_ask === null || spread.impact_ask >= ask.price) &&
    spread.slippage.every((row) => isSlippageOf(row, bids, asks, mid))
  )
}

/** Whether price and spread of a pulse follow from this book. */
export function isQuoteOf({ price: shown, derivatives }: Body, { bids, asks }: Book): boolean {
  const [bid, ask] = [bids[0]?.price, asks[0]?.price]
  if (bid === undefined || ask === undefined) return false
  const mid = (bid + ask) / 2
  return (
    typeof shown === 'object' &&
    shown.current === price(mid) &&
    derivatives?.['spread_bps'] === bps(((ask - bid) / mid) * BPS)
  )
}

/** Whether the derivative figures of a pulse follow from this context. */
export function isContextOf({ derivatives }: Body, context: Context): boolean {
  const { openInterestBase, markPrice, fundingRateHourly } = context
  return (
    derivatives !== undefined &&
    derivatives['open_interest_contracts'] === openInterestBase &&
    isClose(derivatives['open_interest'], usd(openInterestBase * markPrice)) &&
    Math.abs((derivatives['funding_rate'] ?? Number.NaN) - fundingRateHourly) < RATE_STEP &&
    isImpactOf(derivatives, context)
  )
}

function isImpactOf(
  shown: Readonly<Record<string, number | null>>,
  { impact }: Pick<Context, 'impact'>,
): boolean {
  return (
    shown['impact_bid'] === (impact === null ? null : price(impact.bid)) &&
    shown['impact_ask'] === (impact === null ? null : price(impact.ask))
  )
}

/** Whether an open interest answer follows from this context. */
export function isInterestOf({ price: shown, oi }: Body, context: Context): boolean {
  const { openInterestBase, markPrice } = context
  return (
    shown === price(markPrice) &&
    oi?.current === openInterestBase &&
    isClose(oi.notional_usd, usd(openInterestBase * markPrice))
  )
}

/** Whether a liquidation map is centred on the mark price of this context. */
export function isMarkOf({ mark_price: shown }: Body, { markPrice }: Context): boolean {
  return shown === price(markPrice)
}

/** Whether the current rate of a funding answer follows from this context. */
export function isRateOf({ funding }: Body, { fundingRateHourly }: Context): boolean {
  return Math.abs((funding?.current_rate ?? Number.NaN) - fundingRateHourly) < RATE_STEP
}

export function isSettlementOf(row: SettledRow, { fundingRateHourly }: SettledFunding): boolean {
  return Math.abs(row.rate - fundingRateHourly) < RATE_STEP
}

/** Both sides up to 10 bps, or up to the last level of the shorter side. */
function isImbalanceOf(
  { imbalance, imbalance_reach_bps }: SpreadBody,
  bids: readonly Level[],
  asks: readonly Level[],
  mid: number,
): boolean {
  const ends = [bids, asks].map((side) => Math.abs((side.at(-1)?.price ?? mid) / mid - 1) * BPS)
  const reachBps = Math.min(10, ...ends)
  const [bid, ask] = [bids, asks].map((side) => depthUsd(side, mid, reachBps))
  if (bid === undefined || ask === undefined) return false
  const isReach = isNear(imbalance_reach_bps, reachBps)
  if (bid + ask === 0) return isReach && imbalance === null
  return isReach && Math.abs((imbalance ?? Number.NaN) - (bid - ask) / (bid + ask)) <= 0.000_501
}

function isSlippageOf(
  row: SpreadBody['slippage'][number],
  bids: readonly Level[],
  asks: readonly Level[],
  mid: number,
): boolean {
  const buy = averagePrice(asks, row.notional_usd)
  const sell = averagePrice(bids, row.notional_usd)
  if (buy === null || sell === null) return row.method === 'model'
  return isNear(row.buy_bps, (buy / mid - 1) * BPS) && isNear(row.sell_bps, (1 - sell / mid) * BPS)
}

/** null if the visible side cannot fill the notional. */
function averagePrice(side: readonly Level[], notionalUsd: number): number | null {
  let usdLeft = notionalUsd
  let base = 0
  for (const level of side) {
    const takenUsd = Math.min(usdLeft, level.price * level.sizeBase)
    usdLeft -= takenUsd
    base += takenUsd / level.price
    if (usdLeft <= 0) return notionalUsd / base
  }
  return null
}

/** With a level exactly at the limit, regardless of rounding. */
function depthUsd(side: readonly Level[], mid: number, withinBps: number): number {
  return side
    .filter((level) => Math.abs(level.price / mid - 1) * BPS <= withinBps + 1e-9)
    .reduce((sum, level) => sum + level.price * level.sizeBase, 0)
}

/** Tolerance of a cent, because sums depend on the order of addition. */
function isClose(shown: number | null | undefined, value: number): boolean {
  return typeof shown === 'number' && Math.abs(shown - value) <= 0.011 + Math.abs(value) * 1e-9
}

function isNear(shownBps: number | null, valueBps: number): boolean {
  return shownBps !== null && Math.abs(shownBps - valueBps) <= 0.011
}

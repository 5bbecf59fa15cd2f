import type { Input, NoAnswer, Warning } from '../../../domain/document.ts'
import type { BookEvent, ContextEvent } from '../../../domain/event.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { CoinAnalysis, Component, Rendering } from '../../analysis.ts'
import { midOf, spreadBpsOf } from '../../book/best-quote.ts'
import type { BookSide } from '../../book/book-walk.ts'
import { depthUsd, imbalanceWithin, sizeWithin, visibleBps, walk } from '../../book/book-walk.ts'
import type { ImpactPrices } from '../../book/impact-prices.ts'
import { impactPrices } from '../../book/impact-prices.ts'
import { ORDER_NOTIONALS_USD } from '../../execution/first-costs.ts'
import type { SlippageCalibration, TakerCosts } from '../../execution/trade-costs.ts'
import { CALIBRATED_USD_MIN, tradeCosts } from '../../execution/trade-costs.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { bookInput, contextInput, optional } from '../../market/inputs.ts'
import type { MarketState } from '../../market/market-state.ts'
import { answerMeta } from '../../render/answer-meta.ts'
import { completenessWarnings } from '../../render/completeness.ts'
import { percentOf } from '../../render/count-digits.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import type { Written } from '../../render/document-builder.ts'
import { DocumentBuilder } from '../../render/document-builder.ts'
import { coinMembers, unitWarnings, usdOf } from '../../render/quote-unit.ts'
import { bps, orNull, percent, price, score } from '../../render/significance.ts'
import {
  compactRecordOmits,
  recordOfCoin,
  shownRules,
} from '../../track-record-statistics/record-member.ts'
import type { SpreadComparison } from './spread-history.ts'
import { spreadHistory } from './spread-history.ts'
import { SpreadAnswer } from './spread-schema.ts'

const BPS = 10_000
const BOOK_SIDES = 2
/** Distance from mid for the imbalance and the largest order. */
const COMPARED_BPS = 10
const SCORED_NOTIONAL_USD = 100_000
/** By how much the impact prices may be older than the book. */
const IMPACT_LAG_MS_MAX = 60_000

/** Upper bounds of slippage for 100,000 USD, in bps, from score 10 down to score 2. */
const SCORE_BOUNDS_BPS = [1, 2, 4, 6, 10, 15, 25, 50, 100] as const

/** What a bundle reads from this answer. */
export type SpreadFacts = { readonly isThin: boolean }

/** Quoted spread, slippage, depth and liquidity score from the visible book, and actual costs of recent takers. */
export const spread: CoinAnalysis & Component<SpreadFacts> = {
  contract: {
    id: 'spread',
    offering: 'service_spread',
    scope: 'coin',
    summary:
      'Bid-ask spread, slippage by order size and side, depth, liquidity score, actual taker costs',
    guide: {
      title: 'Execution cost of one coin by order size and side',
      useWhen:
        'you are about to trade 10,000 to 500,000 USD and want the cost of buying or selling.',
      notWhen: 'you want the direction of the price (pulse).',
      returns:
        'bid-ask spread, slippage of four order sizes on both sides, depth, liquidity score, taker costs of the last hour, calibration of the estimates.',
    },
    priceUsdcAtomic: 15_000n,
    document: SpreadAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: compactRecordOmits('spread.track_record'),
    inputAgeMsMax: 60_000,
    coverageFloor: { counts: 'sides of the order book', least: 'both sides of the order book' },
  },
  inputs: ['book', 'context', 'sample-history'],
  trackers: [spreadHistory],

  render(coin, rendering, market) {
    const builder = new DocumentBuilder()
    builder.settle('', writeSpread(builder, coin, rendering, market))
    return builder.build(rendering)
  },

  write: writeSpread,
}

function writeSpread(
  builder: DocumentBuilder,
  coin: CoinMarket,
  rendering: Rendering,
  market: MarketState,
): Written<SpreadFacts> | NoAnswer {
  const { book } = coin
  const sides = [book?.bids ?? [], book?.asks ?? []].filter(({ length }) => length > 0)
  const below = belowFloor(spread.contract, { have: sides.length, need: BOOK_SIDES })
  if (below !== null) return below
  const measured = book === null ? null : measure(book, coin)
  if (book === null || measured === null) return { kind: 'missing-input', input: 'book' }
  const inputs = inputsOf(book, coin.context)
  const body = builder.value({
    ...coinMembers(builder, coin, rendering.renderedAtMs),
    mid_price: price(measured.mid),
    spread: {
      ...measured.spread,
      track_record: recordOfCoin(coin, market, shownRules.slippage),
    },
    meta: answerMeta(builder, {
      offering: spread.contract.offering,
      rendering,
      view: '',
      inputs,
      sources: ['venue'],
    }),
  })
  return {
    kind: 'written',
    fragments: [body],
    inputs,
    coveragePct: 100,
    warnings: measured.warnings,
    facts: { isThin: measured.spread.liquidity_label === 'THIN' },
  }
}

/** null for a one-sided or crossed book. */
function measure(book: BookEvent, coin: CoinMarket) {
  const { collateral, context } = coin
  const usd = usdOf(coin)
  const bestBid = book.bids[0]
  const bestAsk = book.asks[0]
  if (bestBid === undefined || bestAsk === undefined || bestAsk.price <= bestBid.price) return null
  const quote = { bid: bestBid, ask: bestAsk, confirmedAtMs: book.timeReceivedMs }
  const [mid, spreadBps] = [midOf(quote), spreadBpsOf(quote)]
  if (mid === null || spreadBps === null) return null
  const calibration = coin.of(tradeCosts).calibration()
  const costs = coin.of(tradeCosts).costs()
  const asks: BookSide = { levels: book.asks, mid, direction: 1 }
  const bids: BookSide = { levels: book.bids, mid, direction: -1 }
  const slippage = Number.isNaN(collateral.usdPerUnit)
    ? []
    : ORDER_NOTIONALS_USD.map((notional_usd) => ({
        notional_usd,
        ...slippageFor(bids, asks, notional_usd / collateral.usdPerUnit, calibration.modelScale),
      }))
  const worst = (notionalUsd: number) =>
    slippage.find((entry) => entry.notional_usd === notionalUsd)?.visibleWorstBps ?? null
  const imbalance = imbalanceWithin(bids, asks, COMPARED_BPS)
  const [bidSize, askSize] = [sizeWithin(bids, COMPARED_BPS), sizeWithin(asks, COMPARED_BPS)]
  const smaller = bidSize.usd < askSize.usd ? bidSize : askSize
  // Beyond that the venue's price has moved since, whether or not the book contradicts it.
  const isOld = context !== null && book.timeReceivedMs - context.timeReceivedMs > IMPACT_LAG_MS_MAX
  const impact = impactPrices(isOld ? null : context, { bid: bestBid.price, ask: bestAsk.price })
  const liquidityScore =
    slippage.length === 0 ? null : scoreOf(orNull(worst(SCORED_NOTIONAL_USD), bps))
  return {
    mid,
    spread: {
      best_bid: bestBid.price,
      best_ask: bestAsk.price,
      bid_ask_bps: bps(spreadBps),
      ...shownImpact(impact, mid),
      slippage_10k_bps: orNull(worst(10_000), bps),
      slippage_50k_bps: orNull(worst(50_000), bps),
      slippage_100k_bps: orNull(worst(100_000), bps),
      slippage_500k_bps: orNull(worst(500_000), bps),
      slippage: slippage.map(({ visibleWorstBps: _, ...entry }) => entry),
      depth: {
        bid_5bps_usd: usd(depthUsd(bids, 5)),
        ask_5bps_usd: usd(depthUsd(asks, 5)),
        bid_10bps_usd: usd(depthUsd(bids, 10)),
        ask_10bps_usd: usd(depthUsd(asks, 10)),
        bid_50bps_usd: usd(depthUsd(bids, 50)),
        ask_50bps_usd: usd(depthUsd(asks, 50)),
        bid_visible_bps: bps(visibleBps(bids)),
        ask_visible_bps: bps(visibleBps(asks)),
      },
      imbalance: orNull(imbalance.share, score),
      imbalance_reach_bps: bps(imbalance.reachBps),
      max_size_10bps_is_floor: smaller.isFloor,
      max_size_10bps_usd: usd(smaller.usd),
      liquidity_score: liquidityScore,
      liquidity_label: liquidityScore === null ? null : labelOf(liquidityScore),
      trade_costs: shownTradeCosts(costs, usd),
      vs_24h: versusDay(coin.of(spreadHistory).compare(spreadBps, book.timeExchangeMs)),
      calibration: calibrated(calibration, usd),
    },
    // A short spread history is visible in vs_24h.n and affects nothing else, so it is no warning.
    warnings: [...warningsOf(slippage, costs, impact), ...unitWarnings(coin)],
  }
}

type InUsd = ReturnType<typeof usdOf>

function shownTradeCosts(costs: TakerCosts, usd: InUsd) {
  return {
    effective_spread_bps: orNull(costs.effectiveBps, bps),
    n: costs.n,
    notional_usd: usd(costs.notionalUsd),
    realized_spread_10s_bps: orNull(costs.realizedBps, bps),
    realized_n: costs.realizedN,
    window_seconds: Math.round(costs.windowSeconds),
    is_partial: !costs.isWhole,
  }
}

function versusDay({ medianBps, percentile, n, windowMinutes }: SpreadComparison) {
  return {
    median_bid_ask_bps: orNull(medianBps, bps),
    percentile: orNull(percentile, (rank) => percentOf(rank, n)),
    n,
    window_hours: score(windowMinutes / 60),
  }
}

function calibrated(calibration: SlippageCalibration, usd: InUsd) {
  return {
    n: calibration.n,
    median_abs_error_bps: orNull(calibration.medianAbsErrorBps, bps),
    p90_abs_error_bps: orNull(calibration.p90AbsErrorBps, bps),
    median_error_bps: orNull(calibration.medianErrorBps, bps),
    as_of: calibration.asOfMs === null ? null : isoInstant(calibration.asOfMs),
    notional_usd_min: usd(CALIBRATED_USD_MIN),
    model_n: calibration.modelN,
    model_scale: score(calibration.modelScale),
  }
}

/** @param notional in the unit of the book's prices */
function slippageFor(bids: BookSide, asks: BookSide, notional: number, modelScale: number) {
  const buy = walk(asks, notional, modelScale)
  const sell = walk(bids, notional, modelScale)
  const isVisible = buy.method === 'book_walk' && sell.method === 'book_walk'
  return {
    buy_bps: orNull(buy.slippageBps, bps),
    sell_bps: orNull(sell.slippageBps, bps),
    filled_pct: isVisible
      ? 100
      : Math.min(99.9999, percent(Math.min(buy.filledPct, sell.filledPct))),
    method: isVisible ? ('book_walk' as const) : ('model' as const),
    visibleWorstBps: isVisible ? Math.max(buy.slippageBps ?? 0, sell.slippageBps ?? 0) : null,
  }
}

function shownImpact({ bid, ask }: ImpactPrices, mid: number) {
  return {
    impact_bid: orNull(bid, price),
    impact_ask: orNull(ask, price),
    impact_spread_bps: bid === null || ask === null ? null : bps(((ask - bid) / mid) * BPS),
  }
}

/** @param slippageBps as printed */
function scoreOf(slippageBps: number | null): number {
  if (slippageBps === null) return 1
  const rank = SCORE_BOUNDS_BPS.findIndex((bound) => slippageBps < bound)
  return rank === -1 ? 1 : SCORE_BOUNDS_BPS.length + 1 - rank
}

function labelOf(liquidityScore: number): string {
  if (liquidityScore >= 8) return 'DEEP'
  if (liquidityScore >= 6) return 'GOOD'
  return liquidityScore >= 4 ? 'FAIR' : 'THIN'
}

function warningsOf(
  slippage: readonly { notional_usd: number; method: string }[],
  { isWhole }: TakerCosts,
  { isSkewed }: ImpactPrices,
): Warning[] {
  const warnings = completenessWarnings({ records: { have: isWhole ? 1 : 0, need: 1 } })
  const modelled = slippage.filter((entry) => entry.method === 'model')
  if (modelled.length > 0) warnings.push('model_estimate')
  if (modelled.some((entry) => entry.notional_usd <= SCORED_NOTIONAL_USD))
    warnings.push('thin_book')
  if (isSkewed) warnings.push('leg_skew')
  return warnings
}

function inputsOf(book: BookEvent, context: ContextEvent | null): readonly Input[] {
  const fromBook = bookInput(book.timeReceivedMs)
  return context === null ? [fromBook] : [fromBook, optional(contextInput('impact', context))]
}

import { isWarm } from '../candles/warm.ts'
import { arbMeasure } from '../external/arb/arb-measure.ts'
import { depegMeasure } from '../external/depeg/depeg-measure.ts'
import { dexKindOf } from '../funding/premium.ts'
import { pulseIndicators } from '../indicators/pulse-indicators.ts'
import { pulseValue } from '../indicators/pulse-layout.ts'
import { isAbove } from '../indicators/trend.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { EventGrid } from '../market/event-grid.ts'
import type { MarketState, MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { statisticsOf } from '../statistics/series-statistics.ts'
import { volatilitySeries } from '../volatility/volatility-series.ts'
import type { Regime, RegimeInputs } from './regime-rule.ts'
import { nextRegime, REGIME_GAP_MS_MAX, REGIME_STEP_MS } from './regime-rule.ts'
import { regimeFromNumbers, regimeToNumbers } from './saved-regime.ts'

const LEADER = 'BTC'
const INPUT_AGE_MS_MAX = 2 * 3_600_000
const COINS_SHARE_MIN = 0.6
const MOMENTUM_MS = 7 * 24 * 3_600_000

/** Evaluates the market regime every five minutes of the venue's time, by `regime-rule.ts`. */
class RegimeTracker implements MarketTracker {
  readonly #grid = new EventGrid(REGIME_STEP_MS)
  #regime: Regime | null = null

  /** Regime of the last evaluation, UNKNOWN when that is too old; null before any. */
  current(nowMs: number): Regime | null {
    const regime = this.#regime
    if (regime === null || regime.label === 'UNKNOWN') return regime
    const endMs = regime.asOfMs + REGIME_GAP_MS_MAX
    if (nowMs <= endMs) return regime
    return { ...regime, label: 'UNKNOWN', previous: regime.label, sinceMs: endMs, drivers: null }
  }

  advance(market: MarketState): void {
    const instantMs = this.#grid.passed(market.venueMs)
    if (Number.isNaN(instantMs)) return
    this.#regime = nextRegime(
      this.#regime,
      regimeInputs(market, { venueMs: instantMs, heardMs: market.receivedMs }),
      instantMs,
    )
  }

  save(): Float64Array {
    return regimeToNumbers(this.#regime)
  }

  restore(saved: Float64Array): boolean {
    const regime = regimeFromNumbers(saved)
    if (regime === undefined) return false
    this.#regime = regime
    return true
  }
}

/**
 * Inputs of one evaluation: null when BTC, or more than 40 % of the tradable coins of the main dex, have no candles
 * confirmed within two hours.
 * @param at the same instant by the venue's clock and by our receive time
 */
function regimeInputs(
  market: MarketState,
  at: { readonly venueMs: number; readonly heardMs: number },
): RegimeInputs | null {
  const leader = leaderInputs(market.coin(LEADER), at.heardMs)
  if (leader === null) return null
  let [coins, judged, above] = [0, 0, 0]
  const returns: number[] = []
  for (const coin of market.coins()) {
    // Builder dexes list stocks, commodities and currencies.
    if (dexKindOf(coin.listing.coin) === 'builder') continue
    coins += 1
    if (!isFresh(coin, at.heardMs)) continue
    const bar = coin.ladder.peek('4h')
    const ema50 = coin.ladder.values[pulseValue.ema50] as number
    if (bar === null || Number.isNaN(ema50)) continue
    judged += 1
    if (isAbove(bar.close, ema50)) above += 1
    const past = coin.of(volatilitySeries).priceAt(at.venueMs - MOMENTUM_MS)
    if (past > 0) returns.push(bar.close / past - 1)
  }
  if (Math.min(judged, returns.length) < COINS_SHARE_MIN * coins) return null
  const medianReturn7d = statisticsOf(Float64Array.from(returns)).median
  const arbStressScore = market.of(arbMeasure).stressScore(at.heardMs)
  const isPegBroken = market.of(depegMeasure).isBroken(at.heardMs)
  return { ...leader, aboveEma50Share: above / judged, medianReturn7d, arbStressScore, isPegBroken }
}

function leaderInputs(coin: CoinMarket | undefined, heardMs: number) {
  if (coin === undefined || !isFresh(coin, heardMs)) return null
  const { context, ladder } = coin
  if (context === null || heardMs - context.timeReceivedMs > INPUT_AGE_MS_MAX) return null
  const { markPrice, prevDayPrice } = context
  if (prevDayPrice === null) return null
  if (!isWarm(coin, '4h', heardMs) || !isWarm(coin, '1h', heardMs)) return null
  const hour = ladder.peek('1h')
  const atrPct = hour === null ? null : pulseIndicators(ladder.values, hour.close).atr_pct
  const percentile = atrPct === null ? null : coin.of(volatilitySeries).presentPercentile(atrPct)
  const four = ladder.peek('4h')
  const trend = four === null ? null : pulseIndicators(ladder.values, four.close).trend
  if (percentile === null || trend?.ema_stack == null || trend.direction === null) return null
  return {
    btcStack: trend.ema_stack,
    btcDirection: trend.direction,
    btcVolatilityPercentile: percentile,
    btcChange24hPct: (markPrice / prevDayPrice - 1) * 100,
  }
}

function isFresh(coin: CoinMarket, heardMs: number): boolean {
  return heardMs - coin.candlesConfirmedAtMs <= INPUT_AGE_MS_MAX
}

export const regimeTracker = marketTracker('market/regime', () => new RegimeTracker())

import type { ContextEvent } from '../../../domain/event.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { CoinAnalysis } from '../../analysis.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { contextInput } from '../../market/inputs.ts'
import type { InterestChange, InterestWindow } from '../../open-interest/interest-series.ts'
import { INTEREST_WINDOW_HOURS, interestSeries } from '../../open-interest/interest-series.ts'
import type { Positioning } from '../../open-interest/positioning.ts'
import { positioningOf } from '../../open-interest/positioning.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { deviationsOf, percentOf } from '../../render/count-digits.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { coinMembers, unitWarnings, usdOf } from '../../render/quote-unit.ts'
import { orNull, percent, price } from '../../render/significance.ts'
import { zScoreOf } from '../../statistics/series-statistics.ts'
import { interestShare } from './interest-share.ts'
import { OpenInterestAnswer } from './oi-schema.ts'

/** The answer changes slowly; rendering every second would waste work. */
const PERIOD_MS = 5_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Hourly readings needed for a rank and a z-score. */
const RANKED_READINGS_MIN = 20
const HISTORY_HOURS = 24
const CHANGES_NEEDED = 1
const SHORTEST_MS = 5 * MINUTE_MS
const NOTHING_OPEN =
  'Open interest was 0 at the start of every window, so there is no change to report.'

/** Open interest in contracts and USD, its changes and rank, and its combination with the price change. */
export const oi: CoinAnalysis = {
  contract: {
    id: 'oi',
    offering: 'service_oi',
    scope: 'coin',
    summary: 'Open interest with changes, percentile, positioning and divergence from price',
    guide: {
      title: 'Open interest of one coin and positioning',
      useWhen:
        'you want to know whether a price move comes from new positions or from closing ones.',
      notWhen: 'you want liquidation price levels (liquidations).',
      returns:
        'open interest in contracts and USD, changes over 5 min to 7 days, 30-day percentile, positioning, divergence from price.',
    },
    priceUsdcAtomic: 15_000n,
    document: OpenInterestAnswer,
    defaultView: '',
    viewParameters: [],
    inputAgeMsMax: 300_000,
    coverageFloor: {
      counts: 'changes of open interest',
      least: 'one change of open interest; the shortest needs five minutes of readings',
    },
  },
  inputs: ['context', 'sample-history'],
  periodMs: PERIOD_MS,

  render: (coin, rendering, market) =>
    oneAnswer(oi.contract, rendering, (builder) => {
      const { context } = coin
      const positioning = positioningOf(coin)
      if (context === null || positioning === null)
        return { kind: 'missing-input', input: 'open_interest' }
      const changes = changesOf(coin, context)
      const below = belowFloor(oi.contract, {
        have: Object.values(changes).filter(hasInterest).length,
        need: CHANGES_NEEDED,
        ...(changes['5m'] === null
          ? { readyAtMs: rendering.renderedAtMs + msUntilFirstChange(coin, context) }
          : { detail: NOTHING_OPEN }),
      })
      if (below !== null) return below
      const window = coin.of(interestSeries).window(context.timeExchangeMs)
      const completeness = completenessOf(changes, window)
      const inputs = [contextInput('open_interest', context), contextInput('mark', context)]
      const members = {
        ...coinMembers(builder, coin, rendering.renderedAtMs),
        price: price(context.markPrice),
        oi: {
          current: context.openInterestBase,
          notional_usd: usdOf(coin)(context.openInterestBase * context.markPrice),
          ...shownChanges(changes),
          ...ranked(coin, context, window),
          ...shownPositioning(positioning),
          oi_to_volume_24h: toVolume(context),
          share_pct: orNull(interestShare(coin, market, rendering.renderedAtMs), (share) =>
            percent(share * 100),
          ),
          history: history(coin, context),
        },
      }
      return {
        members,
        sources: ['venue'],
        inputs,
        coveragePct: coveragePct(completeness.records),
        warnings: [...completenessWarnings(completeness), ...unitWarnings(coin)],
      }
    }),
}

type Changes = Readonly<Record<'5m' | '1h' | '4h' | '24h' | '7d', InterestChange | null>>

function changesOf(coin: CoinMarket, context: ContextEvent): Changes {
  const change = (windowMs: number) => coin.of(interestSeries).change(context, windowMs)
  return {
    '5m': change(SHORTEST_MS),
    '1h': change(HOUR_MS),
    '4h': change(4 * HOUR_MS),
    '24h': change(24 * HOUR_MS),
    '7d': change(7 * 24 * HOUR_MS),
  }
}

/** False where nothing was open: a change of the price alone is not what is sold. */
function hasInterest(change: InterestChange | null): boolean {
  return change !== null && !Number.isNaN(change.interestPct)
}

function msUntilFirstChange(coin: CoinMarket, { timeExchangeMs }: ContextEvent): number {
  const fromMs = coin.of(interestSeries).changeFromMs(timeExchangeMs, SHORTEST_MS)
  return Math.max(0, fromMs - timeExchangeMs)
}

/** The contract fixes the names without `_pct`. */
function shownChanges(changes: Changes) {
  const of = (window: keyof Changes, read: (change: InterestChange) => number) => {
    const change = changes[window]
    return change === null ? null : orNull(read(change), percent)
  }
  const interest = (window: keyof Changes) => of(window, ({ interestPct }) => interestPct)
  const notional = (window: keyof Changes) => of(window, ({ notionalPct }) => notionalPct)
  const ofPrice = (window: keyof Changes) => of(window, ({ pricePct }) => pricePct)
  const seconds = (window: keyof Changes) => of(window, (change) => change.seconds)
  return {
    delta_5m_pct: interest('5m'),
    delta_1h: interest('1h'),
    delta_4h: interest('4h'),
    delta_24h: interest('24h'),
    delta_7d_pct: interest('7d'),
    notional_delta_5m_pct: notional('5m'),
    notional_delta_1h_pct: notional('1h'),
    notional_delta_4h_pct: notional('4h'),
    notional_delta_24h_pct: notional('24h'),
    notional_delta_7d_pct: notional('7d'),
    price_change_5m_pct: ofPrice('5m'),
    price_change_1h: ofPrice('1h'),
    price_change_4h: ofPrice('4h'),
    price_change_24h: ofPrice('24h'),
    price_change_7d_pct: ofPrice('7d'),
    delta_windows_seconds: {
      delta_5m: seconds('5m'),
      delta_1h: seconds('1h'),
      delta_4h: seconds('4h'),
      delta_24h: seconds('24h'),
      delta_7d: seconds('7d'),
    },
  }
}

function ranked(
  coin: CoinMarket,
  { timeExchangeMs, openInterestBase: current }: ContextEvent,
  { contracts, spanHours }: InterestWindow,
) {
  const isRanked = contracts.count >= RANKED_READINGS_MIN
  const rank = () => coin.of(interestSeries).percentile(timeExchangeMs, current)
  return {
    percentile: isRanked ? percentOf(rank(), contracts.count) : null,
    percentile_window_hours: spanHours,
    percentile_readings: contracts.count,
    zscore: isRanked
      ? orNull(zScoreOf(contracts, current), (zscore) => deviationsOf(zscore, contracts.count))
      : null,
    window_high: isRanked ? Math.max(contracts.max, current) : null,
    window_low: isRanked ? Math.min(contracts.min, current) : null,
  }
}

function shownPositioning(of: Positioning) {
  return {
    trend: of.trend,
    trend_threshold_pct: percent(of.trendThresholdPct),
    trend_threshold_basis: of.isOwnThreshold ? 'own_moves' : 'fixed',
    price_oi_divergence: of.divergence,
    positioning: of.positioning,
  }
}

function toVolume({ openInterestBase, markPrice, dayNotional }: ContextEvent): number | null {
  return dayNotional > 0 ? percent((openInterestBase * markPrice) / dayNotional) : null
}

function history(coin: CoinMarket, context: ContextEvent) {
  return coin
    .of(interestSeries)
    .hourly(context.timeExchangeMs, HISTORY_HOURS)
    .map(({ timeMs, contracts }) => ({ timestamp_iso: isoInstant(timeMs), current: contracts }))
}

/** Coverage: the changes over 1, 4 and 24 h, and the rank. */
function completenessOf(changes: Changes, { contracts, spanHours }: InterestWindow) {
  const asked = [changes['1h'], changes['4h'], changes['24h']]
  const known = asked.filter(hasInterest).length
  const isRanked = contracts.count >= RANKED_READINGS_MIN
  return {
    records: { have: known + (isRanked ? 1 : 0), need: asked.length + 1 },
    history: { have: spanHours, need: INTEREST_WINDOW_HOURS },
  }
}

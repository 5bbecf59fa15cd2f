import type { Input, NoAnswer, Warning } from '../../../domain/document.ts'
import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { CoinAnalysis } from '../../analysis.ts'
import type { BasisReading } from '../../external/basis-reading.ts'
import { aboveBps, readBasis } from '../../external/basis-reading.ts'
import type { SeriesSummary, WindowStatistics } from '../../external/measures/minute-statistics.ts'
import { rankOf, robustZ } from '../../external/measures/minute-statistics.ts'
import { uncovered } from '../../external/oracle-coverage.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { contextInput } from '../../market/inputs.ts'
import type { MarketState } from '../../market/market-state.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { deviationsOf, percentOf } from '../../render/count-digits.ts'
import { lowCoverage } from '../../render/coverage-floor.ts'
import type { DocumentBuilder } from '../../render/document-builder.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { bps, decimals, orNull, percent, price, rate, score } from '../../render/significance.ts'
import {
  compactRecordOmits,
  recordOfCoin,
  shownRules,
} from '../../track-record-statistics/record-member.ts'
import type { SignificantBasis } from './basis-labels.ts'
import {
  basisDirection,
  basisInterpretation,
  basisNotes,
  basisRegime,
  basisSignal,
  SKEW_MS_MAX,
  significantBasis,
} from './basis-labels.ts'
import { basisMeasure } from './basis-measure.ts'
import { BasisAnswer, HORIZON_HOURS } from './basis-schema.ts'
import type { WindowMean } from './window-mean.ts'

const PERIOD_MS = 2_000
const VENUE_AGE_MS_MAX = 60_000
const ORACLE_CADENCE_MS_MIN = 5_000
const USDT_CADENCE_MS = 60_000
const HOURS_PER_YEAR = 8_760
const MINUTES_PER_HOUR = 60
const BPS = 10_000
const PRICES_NEEDED = 2

/** Oracle and mark price of the venue against an independent oracle network, with the noise band of the difference. */
export const basis: CoinAnalysis = {
  contract: {
    id: 'basis',
    offering: 'service_basis',
    scope: 'coin',
    summary:
      'Oracle and mark price of the venue against an independent oracle network, with noise band and history',
    guide: {
      title: 'Basis of one coin: venue prices against an oracle network',
      useWhen:
        'you want to know whether the perpetual trades above or below an independent spot price by more than noise.',
      notWhen: 'you want exchange prices against decentralised pools (cex-dex).',
      returns:
        'venue oracle and mark price, spot price with confidence, basis and premium in basis points, noise band, 7-day history, implied funding.',
    },
    priceUsdcAtomic: 20_000n,
    document: BasisAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: compactRecordOmits('basis.track_record'),
    // Each input has its own age limit; that of an oracle feed follows from its heartbeat.
    inputAgeMsMax: Number.POSITIVE_INFINITY,
    coverageFloor: {
      counts: 'prices (venue oracle, oracle network)',
      least: 'the venue oracle price and one oracle network within its age limit',
    },
  },
  inputs: ['context', 'oracle-price'],
  trackers: [basisMeasure],
  periodMs: PERIOD_MS,

  render: (coin, rendering, market) =>
    oneAnswer(basis.contract, rendering, (builder) => {
      const nowMs = rendering.renderedAtMs
      const name = coin.listing.coin
      const reading = readBasis(coin, market, nowMs)
      if (reading === null) return whyNone(coin, market, nowMs)
      const { oracle } = reading
      const summary = market.of(basisMeasure).summary(name, oracle.network, market, nowMs)
      const hour = market.of(basisMeasure).windowMean(name, oracle.network, market, nowMs)
      const significantBps = significantBasis(reading, hour)
      const history = againstItself(summary, reading.basisBps)
      const inputs = inputsOf(reading)
      const members = {
        coin: name,
        ...builder.memberSlot({ kind: 'requested-coin' }),
        timestamp_iso: isoInstant(nowMs),
        basis: {
          ...prices(reading),
          significant: significantBps !== null,
          direction: basisDirection(significantBps),
          signal: basisSignal(significantBps),
          significant_basis_bps: orNull(significantBps, bps),
          ...history,
          ...behind(reading, hour),
          half_life_seconds: orNull(summary.halfLifeSeconds, (seconds) => decimals(seconds, 0)),
          ...funding(reading, significantBps),
          regime: basisRegime(significantBps, history.zscore_24h),
          status: isDegraded(reading) ? 'degraded' : 'ok',
          oracle_networks: networks(builder, reading),
          interpretation: basisInterpretation(name, reading, significantBps),
          notes: basisNotes(reading, significantBps),
          track_record: recordOfCoin(coin, market, shownRules.basis),
        },
      }
      return {
        members,
        sources: sourcesOf(reading),
        moreMeta: {
          oracle_age_seconds: builder.slot({ kind: 'input-age', input: 'oracle' }),
          leg_skew_seconds: score(reading.skewMs / 1_000),
        },
        inputs,
        coveragePct: coveragePct({ have: known(reading), need: WISHED }),
        warnings: warningsOf(reading, summary.day),
      }
    }),
}

function whyNone(coin: CoinMarket, market: MarketState, nowMs: number): NoAnswer {
  const need = PRICES_NEEDED
  if (coin.context === null) return lowCoverage(basis.contract, { have: 0, need })
  const lack = uncovered(coin, market, nowMs)
  return typeof lack === 'string'
    ? lowCoverage(basis.contract, { have: 1, need, detail: lack })
    : lack
}

function prices({ context, oracle, spotPrice, scale, ...reading }: BasisReading) {
  const basisBps = bps(reading.basisBps)
  return {
    venue_oracle_price: price(context.oraclePrice),
    venue_mark_price: price(context.markPrice),
    spot_price: price(spotPrice),
    spot_confidence: oracle.confidenceUsd === null ? null : price(oracle.confidenceUsd * scale),
    basis_bps: basisBps,
    basis_pct: percent(basisBps / 100),
    perp_premium_bps: bps(reading.premiumBps),
    total_basis_bps: bps(reading.markBps),
    mid_basis_bps: orNull(reading.midBps, bps),
    confidence_bps: orNull(oracle.confidenceBps, bps),
  }
}

function againstItself({ hour, day, week }: SeriesSummary, basisBps: number) {
  const [shownDay, shownWeek] = [shown(day, basisBps), shown(week, basisBps)]
  return {
    zscore_24h: shownDay.zscore,
    percentile_7d: shownWeek.percentile,
    percentile_window_hours: score(week.n / MINUTES_PER_HOUR),
    stats_24h: {
      mean_bps: orNull(day.mean, bps),
      min_bps: orNull(day.min, bps),
      max_bps: orNull(day.max, bps),
      n: day.n,
    },
    stats: {
      '1h': shown(hour, basisBps),
      '24h': shownDay,
      '7d': shownWeek,
    },
  }
}

function shown(window: WindowStatistics, basisBps: number) {
  return {
    n: window.n,
    mean_bps: orNull(window.mean, bps),
    median_bps: orNull(window.median, bps),
    stdev_bps: orNull(window.deviation, bps),
    mad_bps: orNull(window.mad, bps),
    min_bps: orNull(window.min, bps),
    max_bps: orNull(window.max, bps),
    zscore: orNull(robustZ(window, basisBps), (zscore) => deviationsOf(zscore, window.n)),
    percentile: orNull(rankOf(window, basisBps), (rank) => percentOf(rank, window.n)),
    window_hours: score(window.n / MINUTES_PER_HOUR),
  }
}

/** Inputs of the basis and its noise band. */
function behind(
  { context, oracle, spotPrice, scale, usdt, band, ...reading }: BasisReading,
  hour: WindowMean,
) {
  return {
    basis_usd_adjusted_bps: orNull(reading.usdAdjustedBps, bps),
    usdt_price: usdt === null ? null : price(usdt.priceUsd),
    basis_usd: price(context.oraclePrice - spotPrice),
    scale,
    source: oracle.network,
    source_place: oracle.place,
    resolution_bps: bps(oracle.resolutionBps),
    expected_error_bps: bps(oracle.expectedErrorBps),
    spot_ema_price: oracle.ema === null ? null : price(oracle.ema.priceUsd * scale),
    spot_ema_confidence: oracle.ema === null ? null : price(oracle.ema.confidenceUsd * scale),
    band: {
      confidence_bps: bps(band.confidenceBps),
      resolution_bps: bps(band.resolutionBps),
      age_bps: bps(band.ageBps),
      total_bps: bps(band.totalBps),
      ratio: band.totalBps > 0 ? score(bps(reading.basisBps) / band.totalBps) : null,
      hour_mean_bps: orNull(hour.meanBps, bps),
      hour_effective_n: score(hour.effectiveN),
      hour_total_bps: orNull(band.confidenceBps + hour.bandBps, bps),
    },
  }
}

function funding({ premiumBps }: BasisReading, significantBps: SignificantBasis) {
  // Each from the printed figure that its description names.
  const hourlyPct = rate(impliedRateHourly(bps(premiumBps) / BPS) * 100)
  return {
    premium_funding_hourly_pct: hourlyPct,
    premium_funding_apr_pct: percent(hourlyPct * HOURS_PER_YEAR),
    annualized: {
      horizon_hours: HORIZON_HOURS,
      yearly_pct:
        significantBps === null
          ? null
          : percent((bps(significantBps) / 100) * (HOURS_PER_YEAR / HORIZON_HOURS)),
      reason: significantBps === null ? ('basis_not_significant' as const) : null,
    },
  }
}

function networks(builder: DocumentBuilder, { context, scale, choice }: BasisReading) {
  return choice.readings.map((reading) => ({
    network: reading.network,
    place: reading.place,
    price: price(reading.priceUsd * scale),
    confidence_bps: orNull(reading.confidenceBps, bps),
    resolution_bps: bps(reading.resolutionBps),
    expected_error_bps: bps(reading.expectedErrorBps),
    age_seconds: builder.slot({ kind: 'age', confirmedAtMs: reading.publishedAtMs }),
    basis_bps: bps(aboveBps(context.oraclePrice, reading.priceUsd * scale)),
    is_used: reading === choice.best,
    why_not: choice.demoted.find(({ network }) => network === reading.network)?.reason ?? null,
  }))
}

function inputsOf({ context, oracle, usdt }: BasisReading): readonly Input[] {
  const fromNetwork: Input = {
    name: 'oracle',
    confirmedAtMs: oracle.publishedAtMs,
    cadenceMs: Math.max(oracle.heartbeatMs, ORACLE_CADENCE_MS_MIN),
    isLoadBearing: true,
    ageMsMax: oracle.ageMsMax,
  }
  const fromVenue: Input = { ...contextInput('mark', context), ageMsMax: VENUE_AGE_MS_MAX }
  if (usdt === null) return [fromVenue, fromNetwork]
  const { asOfMs } = usdt
  const forQuotes = { name: 'usdt', confirmedAtMs: asOfMs, cadenceMs: USDT_CADENCE_MS }
  return [fromVenue, fromNetwork, { ...forQuotes, isLoadBearing: false }]
}

function sourcesOf({ oracle, usdt }: BasisReading): readonly string[] {
  return ['venue', ...new Set<string>([oracle.network, ...(usdt?.sources ?? [])])]
}

/** Venue prices, oracle network, USDT price, and a mid price. */
const WISHED = 4

function known({ usdt, midBps }: BasisReading): number {
  return WISHED - (usdt === null ? 1 : 0) - (Number.isNaN(midBps) ? 1 : 0)
}

function isDegraded({ skewMs, choice }: BasisReading): boolean {
  return skewMs > SKEW_MS_MAX || choice.weakness !== null
}

function warningsOf({ skewMs, choice }: BasisReading, day: WindowStatistics): Warning[] {
  const warnings = completenessWarnings({ history: { have: day.n, need: day.nMin } })
  if (choice.weakness === 'wide_confidence') warnings.push('wide_oracle_confidence')
  if (skewMs > SKEW_MS_MAX) warnings.push('leg_skew')
  return warnings
}

import type { Input, Warning } from '../../../domain/document.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { MarketAnalysis, Rendering } from '../../analysis.ts'
import { pegLevelNames, spellBps } from '../../external/depeg/peg-level.ts'
import type { PegPrice } from '../../external/depeg/peg-price.ts'
import { deviationBpsOf, pegClasses } from '../../external/depeg/peg-price.ts'
import type { PegSource } from '../../external/depeg/peg-source.ts'
import { pegStatuses } from '../../external/depeg/peg-status.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { deviationsOf, percentOf } from '../../render/count-digits.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import type { DocumentBuilder } from '../../render/document-builder.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { bps, orNull, percent, price, score, usd } from '../../render/significance.ts'
import { percentileOf, statisticsOf, zScoreOf } from '../../statistics/series-statistics.ts'
import { compactRecordOmits } from '../../track-record-statistics/record-member.ts'
import { DepegAnswer, riskLevels } from './depeg-schema.ts'
import type { GatheredPeg, PegHistory } from './gathered-peg.ts'
import { gatherPeg } from './gathered-peg.ts'
import { healthScore } from './health-score.ts'
import { pegInterpretation } from './peg-interpretation.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const PERIOD_MS = 5_000
/** In a crisis one class may be the only source left, and holders need it most then. */
const CLASSES_NEEDED = 1
const CADENCE_MS_MIN = 2 * PERIOD_MS
const SUPPLY_CADENCE_MS = HOUR_MS
const ORACLE_UP_MS = 60_000
const ORACLE_ACTIVE_MS = 300_000
const HISTORY_MINUTES_MIN = 1_440
const SLOPE_MINUTES_MIN = 30
const SOURCES_SHOWN_MAX = 48
const WIDE_CONFIDENCE_BPS = 20

/** Price of USDC, the collateral of the venue's own perpetuals, against the dollar. */
export const depeg: MarketAnalysis<GatheredPeg> = {
  contract: {
    id: 'depeg',
    offering: 'service_depeg',
    scope: 'market',
    summary:
      'USDC against the dollar by oracle networks, exchanges and pools: deviation, level, health, duration',
    guide: {
      title: 'USDC peg: deviation and health from independent sources',
      useWhen: 'you hold USDC or use it as margin and want to know whether it holds its peg.',
      notWhen: 'you want stress of the whole market (arb, sentiment).',
      returns:
        'price and deviation with confidence, peg status and depeg level with start times, health score, and every source.',
    },
    priceUsdcAtomic: 10_000n,
    document: DepegAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: compactRecordOmits('track_record'),
    // Each answer sets a stricter limit, by its own sources.
    inputAgeMsMax: 26 * HOUR_MS,
    coverageFloor: {
      counts: 'source classes with a fresh USDC price (oracle networks, exchanges, USDT markets)',
      least: 'one source class with a fresh USDC price; a single class lowers the grade',
    },
  },
  periodMs: PERIOD_MS,

  gather: gatherPeg,

  render: (gathered, rendering) =>
    oneAnswer(depeg.contract, rendering, (builder) => {
      const peg = gathered.sample?.price ?? null
      const below = belowFloor(depeg.contract, {
        have: gathered.sample?.evidence.classes.length ?? 0,
        need: CLASSES_NEEDED,
      })
      if (below !== null || gathered.sample === null || peg === null) {
        const detail =
          'Two source classes disagree on the price of USDC, and neither has more independent providers.'
        return below ?? { kind: 'missing-input', input: 'usdc_price', detail }
      }
      const { sources } = gathered.sample.evidence
      const inputs = inputsOf(gathered, sources, peg)
      const members = {
        asset: 'USDC',
        timestamp_iso: isoInstant(rendering.renderedAtMs),
        usdc: priceMembers(gathered, peg),
        ...levelMembers(gathered, peg),
        ema: emaOf(gathered.sample.evidence.emaUsd, peg),
        confidence: {
          bps: bps(peg.confidenceBps),
          resolution_bps: bps(peg.resolutionBps),
          k: 1,
        },
        agreement: {
          classes: peg.classes.length,
          agreeing: peg.classes.length - peg.disagreeing.length,
          disagreeing: peg.disagreeing,
          dispersion_bps: bps(peg.dispersionBps),
          confirmed: peg.isConfirmed,
        },
        infrastructure: infrastructureOf(sources, rendering),
        ...sourceMembers(builder, sources),
        ...historyMembers(gathered.history, peg),
        ...surroundings(gathered, peg),
        track_record: gathered.record,
      }
      return {
        members,
        sources: [...new Set(sources.filter(isUsed).map(({ id }) => id.split(':')[0] ?? id))],
        nextUpdateMs: rendering.renderedAtMs + PERIOD_MS,
        inputs,
        coveragePct: coveragePct({ have: peg.classes.length, need: pegClasses.length }),
        warnings: warningsOf(peg),
      }
    }),
}

function warningsOf({ classes }: PegPrice): Warning[] {
  const members = { have: classes.length, need: pegClasses.length }
  const warnings = completenessWarnings({ members })
  const oracle = classes.find((one) => one.class === 'oracle')
  if ((oracle?.confidenceBps ?? 0) > WIDE_CONFIDENCE_BPS) warnings.push('wide_oracle_confidence')
  if (classes.length === 1) warnings.push('feed_degraded')
  return warnings
}

function isUsed({ fault }: PegSource): boolean {
  return fault === null
}

function priceMembers(gathered: GatheredPeg, peg: PegPrice) {
  return {
    price_usd: price(peg.priceUsd),
    confidence_usd: price((peg.confidenceBps / 10_000) * peg.priceUsd),
    deviation_bps: bps(Math.abs(peg.deviationBps)),
    signed_deviation_bps: bps(peg.deviationBps),
    deviation_pct: percent(peg.deviationBps / 100),
    peg_status: gathered.status,
    risk_level: riskLevels[pegStatuses.indexOf(gathered.status)],
    since_iso: isoInstant(gathered.statusSinceMs),
    interpretation: pegInterpretation(gathered.status, peg),
  }
}

function levelMembers(gathered: GatheredPeg, peg: PegPrice) {
  // As printed.
  const side = Math.sign(bps(peg.adjustedBps))
  return {
    level: gathered.level,
    level_name: pegLevelNames[gathered.level],
    level_since_iso: isoInstant(gathered.levelSinceMs),
    direction: side === 0 ? 'none' : side < 0 ? 'discount' : 'premium',
    deviation_adjusted_bps: bps(peg.adjustedBps),
    deviation_adjusted_95_bps: bps(peg.adjusted95Bps),
    health_score: score(
      healthScore({
        deviationBps: peg.deviationBps,
        beyond25Seconds: gathered.spellSeconds[spellBps.indexOf(25)] ?? 0,
        dispersionBps: peg.dispersionBps,
        confidenceBps: peg.confidenceBps,
        supplyChange24hPct: changePct(gathered.supply, 'dayAgoUsd'),
      }),
    ),
    duration: Object.fromEntries(
      spellBps.map((fromBps, at) => [
        `below_${fromBps}_bps_seconds`,
        Math.round(gathered.spellSeconds[at] ?? 0),
      ]),
    ),
  }
}

function emaOf(emaUsd: number, peg: PegPrice) {
  if (Number.isNaN(emaUsd)) return null
  const deviationBps = deviationBpsOf(emaUsd)
  return {
    price_usd: price(emaUsd),
    deviation_bps: bps(deviationBps),
    momentum_bps: bps(bps(peg.deviationBps) - bps(deviationBps)),
  }
}

function infrastructureOf(sources: readonly PegSource[], { renderedAtMs }: Rendering) {
  const ages = sources
    .filter((one) => one.class === 'oracle')
    .map(({ confirmedAtMs }) => Math.max(0, renderedAtMs - confirmedAtMs))
  const youngestMs = Math.min(...ages)
  const word = youngestMs < ORACLE_UP_MS ? 'up' : 'degraded'
  const status = youngestMs < ORACLE_ACTIVE_MS ? word : 'down'
  return {
    oracle_status: ages.length === 0 ? 'unknown' : status,
    feeds_active: ages.filter((ageMs) => ageMs < ORACLE_ACTIVE_MS).length,
    feeds_total: ages.length,
  }
}

function sourceMembers(builder: DocumentBuilder, sources: readonly PegSource[]) {
  const age = ({ confirmedAtMs }: PegSource) => builder.slot({ kind: 'age', confirmedAtMs })
  const shown = sources.slice(0, SOURCES_SHOWN_MAX)
  return {
    cross_check: shown
      .filter((source) => isUsed(source) && source.class !== 'oracle')
      .map((source) => ({
        source: source.id,
        price_usd: price(source.priceUsd),
        age_seconds: age(source),
      })),
    sources: shown.map((source) => ({
      id: source.id,
      class: source.class,
      price_usd: plausible(source.priceUsd, price),
      confidence_bps: source.confidenceBps === null ? null : plausible(source.confidenceBps, bps),
      resolution_bps: bps(source.resolutionBps),
      expected_error_bps: orNull(source.expectedErrorBps, bps),
      age_seconds: age(source),
      weight: score(source.weight),
      used: isUsed(source),
      reason: source.fault,
    })),
  }
}

/** An unused source may have an implausible value. */
function plausible(value: number, round: (value: number) => number): number | null {
  return Number.isFinite(value) && value >= 0 ? round(value) : null
}

function historyMembers({ pricesUsd, day, hour, recentUsd }: PegHistory, peg: PegPrice) {
  const low = deviationBpsOf(day.lowUsd)
  const high = deviationBpsOf(day.highUsd)
  const statistics = pricesUsd.length < HISTORY_MINUTES_MIN ? null : statisticsOf(pricesUsd)
  return {
    trend: {
      max_abs_deviation_bps_1h: bps(
        Math.max(Math.abs(deviationBpsOf(hour.lowUsd)), Math.abs(deviationBpsOf(hour.highUsd))),
      ),
      max_abs_deviation_bps_24h: bps(Math.max(Math.abs(low), Math.abs(high))),
      n_1h: hour.n,
      slope_bps_per_hour: orNull(slopeBpsPerHour(recentUsd), bps),
    },
    range_24h: {
      low_usd: price(day.lowUsd),
      high_usd: price(day.highUsd),
      max_deviation_bps: bps(Math.abs(low) >= Math.abs(high) ? low : high),
      n: day.n,
      window_hours: hoursOf(day.n),
    },
    history: {
      zscore: orNull(statistics && zScoreOf(statistics, peg.priceUsd), (zscore) =>
        deviationsOf(zscore, pricesUsd.length),
      ),
      percentile: orNull(statistics && percentileOf(statistics.ascending, peg.priceUsd), (rank) =>
        percentOf(rank, pricesUsd.length),
      ),
      n: pricesUsd.length,
      window_hours: hoursOf(pricesUsd.length),
    },
  }
}

function hoursOf(minutes: number): number {
  return score((minutes * MINUTE_MS) / HOUR_MS)
}

/** Least-squares slope over the known minutes; NaN for too few. */
function slopeBpsPerHour(recentUsd: Float64Array): number {
  const points = [...recentUsd.entries()].filter(([, priceUsd]) => !Number.isNaN(priceUsd))
  if (points.length < SLOPE_MINUTES_MIN) return Number.NaN
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const meanMinute = mean(points.map(([minute]) => minute))
  const meanUsd = mean(points.map(([, priceUsd]) => priceUsd))
  let [covariance, variance] = [0, 0]
  for (const [minute, priceUsd] of points) {
    covariance += (minute - meanMinute) * (priceUsd - meanUsd)
    variance += (minute - meanMinute) ** 2
  }
  return ((covariance / variance) * 10_000 * HOUR_MS) / MINUTE_MS
}

function surroundings({ supply, parities }: GatheredPeg, peg: PegPrice) {
  return {
    flow:
      supply === null
        ? null
        : {
            supply_usd: usd(supply.supplyUsd),
            change_24h_pct: orNull(changePct(supply, 'dayAgoUsd'), percent),
            change_7d_pct: orNull(changePct(supply, 'weekAgoUsd'), percent),
            as_of_iso: isoInstant(supply.asOfMs),
          },
    cross_chain: parities.map(({ chain, usdcUsdtBps }) => ({
      chain,
      usdc_usdt_bps: bps(usdcUsdtBps),
    })),
    venue_impact: {
      collateral_haircut_bps: bps(Math.max(0, -peg.deviationBps)),
      perp_price_inflation_bps: bps((1 / peg.priceUsd - 1) * 10_000),
    },
    precedent: { event: '2023-03', max_deviation_bps: -1_260 },
  }
}

function changePct(
  supply: GatheredPeg['supply'],
  before: 'dayAgoUsd' | 'weekAgoUsd',
): number | null {
  const beforeUsd = supply?.[before] ?? null
  if (supply === null || beforeUsd === null || !(beforeUsd > 0)) return null
  return (supply.supplyUsd / beforeUsd - 1) * 100
}

/**
 * One input per class, confirmed when its newest source was. Only the newest class in the price is load-bearing:
 * the others improve the price, but it can be computed without them.
 */
function inputsOf(
  { supply }: GatheredPeg,
  sources: readonly PegSource[],
  { usedClasses }: PegPrice,
): Input[] {
  const inputs = pegClasses.flatMap((name) => {
    const used = sources.filter((one) => one.class === name && isUsed(one))
    const confirmedAtMs = Math.max(...used.map((one) => one.confirmedAtMs))
    // The cadence of the newest source, because a faster one may have stopped earlier.
    const last = used.filter((one) => one.confirmedAtMs === confirmedAtMs)
    const cadenceMs = Math.max(CADENCE_MS_MIN, Math.min(...last.map((one) => one.cadenceMs)))
    const endMs = Math.max(...used.map((one) => one.confirmedAtMs + one.ageMsMax))
    return used.length === 0 ? [] : { name, confirmedAtMs, cadenceMs, endMs }
  })
  const needed = inputs.filter(({ name }) => usedClasses.includes(name))
  const newestMs = Math.max(...needed.map(({ confirmedAtMs }) => confirmedAtMs))
  const endMs = Math.max(...needed.map((input) => input.endMs))
  const last = needed.find(({ confirmedAtMs }) => confirmedAtMs === newestMs)
  const shown: Input[] = inputs.map(({ name, confirmedAtMs, cadenceMs }) =>
    name === last?.name
      ? {
          name,
          confirmedAtMs,
          cadenceMs,
          isLoadBearing: true,
          ageMsMax: Math.max(MINUTE_MS, endMs - confirmedAtMs),
        }
      : { name, confirmedAtMs, cadenceMs, isLoadBearing: false },
  )
  if (supply === null) return shown
  const confirmedAtMs = supply.asOfMs
  return [
    ...shown,
    { name: 'supply', confirmedAtMs, cadenceMs: SUPPLY_CADENCE_MS, isLoadBearing: false },
  ]
}

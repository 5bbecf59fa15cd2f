import type { Input, Warning } from '../../../domain/document.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { Listing } from '../../../domain/listing.ts'
import type { CoinAnalysis } from '../../analysis.ts'
import { BARS_NEEDED_OF_PART } from '../../candles/warm.ts'
import type { CascadeRisk } from '../../liquidation/cascade.ts'
import {
  cascadeRisk,
  hourlyAtrPct,
  MARK_AGE_MS_MAX,
  noteCascadeLevel,
} from '../../liquidation/cascade.ts'
import type { Heatmap, SideMap, Zone } from '../../liquidation/heatmap.ts'
import { distancePct, heatmapOf } from '../../liquidation/heatmap.ts'
import type { LeverageTier } from '../../liquidation/leverage-ladder.ts'
import { LiquidationExposure } from '../../liquidation/liquidation-exposure.ts'
import { HALF_LIFE_MS, liquidationFlow } from '../../liquidation/liquidation-flow.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { candlesInput, contextInput, markInput, optional } from '../../market/inputs.ts'
import { lowCoverage } from '../../render/coverage-floor.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { coinMembers, unitWarnings, usdOf } from '../../render/quote-unit.ts'
import { bps, orNull, percent, price, score } from '../../render/significance.ts'
import type { RecordMember } from '../../track-record-statistics/record-member.ts'
import {
  compactRecordOmits,
  rankedRecordMember,
  recordOfCoin,
  shownRules,
  supportedOnly,
} from '../../track-record-statistics/record-member.ts'
import { longShortRatio } from './funding-ratio.ts'
import type { ZoneHolding } from './liquidations-schema.ts'
import { LiquidationsAnswer } from './liquidations-schema.ts'
import { realisedMembers } from './realised.ts'

/** The answer changes slowly; rendering every second would waste work. */
const PERIOD_MS = 5_000
const OPEN_INTEREST_AGE_MS_MAX = 300_000
const COVERAGE_PCT_LOW = 50
const HOUR_MS = 3_600_000
const INPUTS_NEEDED = 2
/** Relative rounding error of a sum of sizes in another order. */
const ROUNDING_NOISE = 1e-12

/** Estimated liquidation prices and notionals by leverage tier, and the risk of a cascade. */
export const liquidations: CoinAnalysis = {
  contract: {
    id: 'liquidations',
    offering: 'service_liquidations',
    scope: 'coin',
    summary: 'Estimated liquidation heatmap by leverage tier, with cascade risk',
    guide: {
      title: 'Estimated liquidation prices in one coin',
      useWhen: 'you want price levels of potential liquidations, or the risk of a cascade.',
      notWhen: 'you want single past liquidations: this has their sums over the last 24 hours.',
      returns:
        'one zone per leverage tier and side, clusters by distance, notional beyond the map, cascade risk with components, long-short ratio; estimates and observed positions are shown separately.',
    },
    priceUsdcAtomic: 30_000n,
    document: LiquidationsAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: [
      ...['clusters', 'assumptions', 'realised'],
      ...compactRecordOmits('zones.track_record'),
      ...compactRecordOmits('cascade_risk.track_record', rankedRecordMember),
    ],
    inputAgeMsMax: OPEN_INTEREST_AGE_MS_MAX,
    coverageFloor: {
      counts: 'inputs (open interest with mark price, ATR of 14 hourly candles)',
      least: `open interest with mark price, and ${BARS_NEEDED_OF_PART} closed hourly candles, or the whole history of the coin, for ATR 14`,
    },
  },
  inputs: [
    'context',
    'mark',
    'history',
    'hourly-history',
    'sample-history',
    'account-position',
    'liquidation',
  ],
  periodMs: PERIOD_MS,

  render: (coin, rendering, market) =>
    oneAnswer(liquidations.contract, rendering, (builder) => {
      const { context } = coin
      const tracker = coin.of(liquidationFlow)
      const exposure = LiquidationExposure.of(coin)
      const atrPct = hourlyAtrPct(coin)
      if (context === null || exposure === null || atrPct === null) {
        const have = (context === null || exposure === null ? 0 : 1) + (atrPct === null ? 0 : 1)
        noteCascadeLevel(coin, null)
        return lowCoverage(liquidations.contract, { have, need: INPUTS_NEEDED })
      }
      const current = coin.midPrice
      const map = heatmapOf(exposure, current)
      const risk = cascadeRisk(map, openInterestUsd(exposure), atrPct)
      noteCascadeLevel(coin, risk.level)
      const coverage = coverageOf(exposure)
      // Estimates, so whole dollars.
      const dollars = usdOf(coin, wholeDollars)
      const inputs = inputsOf(coin, contextInput('open_interest', context))
      const members = {
        ...coinMembers(builder, coin, rendering.renderedAtMs),
        price: price(current),
        mark_price: price(exposure.markPrice),
        zones: {
          longs: zonesOf(map.long, current, dollars).reverse(),
          shorts: zonesOf(map.short, current, dollars),
          track_record: recordOfCoin(coin, market, shownRules.zones),
        },
        clusters: {
          longs: clustersOf(map.long, dollars),
          shorts: clustersOf(map.short, dollars),
        },
        below_3x: {
          longs: belowTiersMembers(map.long, current, dollars),
          shorts: belowTiersMembers(map.short, current, dollars),
        },
        beyond: {
          longs: beyondMembers(map.long, dollars),
          shorts: beyondMembers(map.short, dollars),
        },
        without_liquidation_price_usd: {
          longs: dollars(map.long.withoutPriceUsd),
          shorts: dollars(map.short.withoutPriceUsd),
        },
        cascade_risk: cascadeMembers(
          map,
          { ...risk, record: recordOfCoin(coin, market, shownRules.cascade) },
          dollars,
        ),
        realised: realisedMembers(coin, market, exposure, dollars),
        total_at_risk_usd: {
          within_1pct: dollars(atRisk(map, 0)),
          within_2pct: dollars(atRisk(map, 1)),
          within_5pct: dollars(atRisk(map, 2)),
        },
        long_short_ratio: orNull(
          longShortRatio(coin.listing.coin, context.fundingRateHourly),
          score,
        ),
        summary: summaryOf(map, exposure, dollars),
        coverage: {
          observed_pct: bps(coverage.observedPct),
          flow_pct: bps(coverage.flowPct),
          prior_pct: bps(coverage.priorPct),
          beyond_pct: bps(coverage.beyondPct),
          without_liquidation_price_pct: bps(coverage.withoutPricePct),
          longs_on_map_pct: bps(coverage.longsOnMapPct),
          shorts_on_map_pct: bps(coverage.shortsOnMapPct),
          flow_since_iso: isoInstant(tracker.firstReadAtMs),
          is_approximate: tracker.isApproximate,
        },
        assumptions: assumptionsOf(coin.listing, exposure.ladder),
      }
      // Of the printed parts, so that they add up to it.
      const coveragePct = Math.min(100, bps(bps(coverage.observedPct) + bps(coverage.flowPct)))
      const warnings: Warning[] = ['model_estimate', ...unitWarnings(coin)]
      if (!coin.isMidKnown) warnings.push('thin_book')
      if (coveragePct < COVERAGE_PCT_LOW) warnings.push('low_coverage')
      return {
        members,
        sources: ['venue'],
        inputs,
        coveragePct,
        warnings,
      }
    }),
}

type InUsd = ReturnType<typeof usdOf>

/** Smallest notional first. */
function zonesOf({ zones }: SideMap, current: number, dollars: InUsd) {
  const sideUsd = zones.reduce((sum, { notionalUsd }) => sum + notionalUsd, 0)
  return zones
    .toSorted((one, other) => one.notionalUsd - other.notionalUsd)
    .map((zone: Zone) => {
      const holds = holdingOf(zone, dollars)
      const zonePrice = holds === 'on_map' ? zone.price : zone.openedNowPrice
      return {
        price: price(zonePrice),
        leverage: `${zone.leverage}x`,
        estimated_notional: dollars(zone.notionalUsd),
        observed_notional: dollars(zone.observedUsd),
        distance_pct: bps(distancePct(zonePrice, current)),
        share_pct: sideUsd > 0 ? bps((zone.notionalUsd / sideUsd) * 100) : 0,
        permitted: zone.isPermitted,
        holds,
      }
    })
}

/** Less than a dollar is printed as 0, and counts as nothing. Without a USD price every amount counts. */
function isPrinted(notional: number, dollars: InUsd): boolean {
  return notional > 0 && dollars(notional) !== 0
}

function holdingOf({ notionalUsd, beyondUsd }: Zone, dollars: InUsd): ZoneHolding {
  if (isPrinted(notionalUsd, dollars)) return 'on_map'
  return isPrinted(beyondUsd, dollars) ? 'beyond' : 'nothing'
}

function belowTiersMembers({ belowTiers }: SideMap, current: number, dollars: InUsd) {
  const median = isPrinted(belowTiers.notionalUsd, dollars) ? belowTiers.price : null
  return {
    price: median === null ? null : price(median),
    distance_pct: median === null ? null : bps(distancePct(median, current)),
    notional_usd: dollars(belowTiers.notionalUsd),
  }
}

function beyondMembers({ beyond, zones }: SideMap, dollars: InUsd) {
  const byLeverage = [
    ['below_3x', beyond.belowTiersUsd] as const,
    ...zones.map(({ leverage, beyondUsd }) => [`${leverage}x`, beyondUsd] as const),
  ]
  return {
    notional_usd: dollars(beyond.notionalUsd),
    observed_usd: dollars(beyond.observedUsd),
    positions: beyond.positions,
    by_leverage: Object.fromEntries(
      byLeverage
        .filter(([, usd]) => isPrinted(usd, dollars))
        .map(([name, usd]) => [name, dollars(usd)]),
    ) as Record<string, number | null>,
    nearest_multiple: orNull(beyond.nearestMultiple, percent),
    median_multiple: orNull(beyond.medianMultiple, percent),
  }
}

function clustersOf({ clusters }: SideMap, dollars: InUsd) {
  return clusters
    .filter(({ notionalUsd }) => isPrinted(notionalUsd, dollars))
    .map((cluster) => ({
      price: price(cluster.price),
      distance_pct: percent(cluster.distancePct),
      estimated_notional: dollars(cluster.notionalUsd),
      observed_notional: dollars(cluster.observedUsd),
    }))
}

function cascadeMembers(
  map: Heatmap,
  { score: riskScore, level, components, record }: CascadeRisk & { readonly record: RecordMember },
  dollars: InUsd,
) {
  const { side, ...nearest } = map.nearestCluster
  return {
    score: riskScore,
    level,
    level_supported: supportedOnly(record, level),
    track_record: record,
    components: {
      proximity: score(components.proximity),
      size: score(components.size),
      leverage_skew: score(components.leverageSkew),
      volatility: score(components.volatility),
    },
    nearest_cluster: {
      side,
      price: price(nearest.price),
      distance_pct: percent(nearest.distancePct),
      estimated_notional: dollars(nearest.notionalUsd),
    },
  }
}

function atRisk({ long, short }: Heatmap, at: number): number {
  return (long.withinUsd[at] ?? 0) + (short.withinUsd[at] ?? 0)
}

function summaryOf({ long, short }: Heatmap, exposure: LiquidationExposure, dollars: InUsd) {
  return {
    open_interest_usd: dollars(openInterestUsd(exposure)),
    longs_usd: dollars(long.notionalUsd),
    shorts_usd: dollars(short.notionalUsd),
    observed_usd: dollars(long.observedUsd + short.observedUsd),
  }
}

function openInterestUsd({ openInterestBase, markPrice }: LiquidationExposure): number {
  return openInterestBase * markPrice
}

/** Shares of open interest, mean of both sides unless named after one. */
function coverageOf({ totals: { long, short }, openInterestBase }: LiquidationExposure) {
  const pct = (base: number) => (openInterestBase > 0 ? (base / openInterestBase) * 100 : 0)
  const both = (partOf: (side: typeof long) => number) => pct(partOf(long) + partOf(short)) / 2
  const onMapPct = ({ observedBase, flowBase, priorBase }: typeof long) =>
    pct(observedBase + flowBase + priorBase)
  return {
    observedPct: both(({ observedBase }) => observedBase),
    flowPct: both(({ flowBase }) => flowBase),
    priorPct: both(({ priorBase }) => priorBase),
    beyondPct: both(({ beyond }) => beyond.sizeBase),
    withoutPricePct: both(({ withoutPriceBase }) => withoutPriceBase),
    longsOnMapPct: onMapPct(long),
    shortsOnMapPct: onMapPct(short),
  }
}

function assumptionsOf({ maxLeverage, marginTiers }: Listing, ladder: readonly LeverageTier[]) {
  const shares = ladder.map(({ leverage, share }: LeverageTier) => [`${leverage}x`, score(share)])
  return {
    entry_model: 'open_interest_flow' as const,
    leverage_shares: Object.fromEntries(shares) as Record<string, number>,
    maintenance_margin: percent(1 / (2 * (marginTiers[0]?.maxLeverage ?? maxLeverage))),
    max_leverage: maxLeverage,
    half_life_hours: HALF_LIFE_MS / HOUR_MS,
  }
}

function inputsOf(coin: CoinMarket, openInterest: Input): readonly Input[] {
  return [
    { ...markInput(coin), ageMsMax: MARK_AGE_MS_MAX },
    openInterest,
    optional(candlesInput(coin, '1h')),
  ]
}

/** Whole dollars, rounded down so that the parts of a side never sum to more than its open interest. */
function wholeDollars(value: number): number {
  return Math.floor(value * (1 + ROUNDING_NOISE))
}

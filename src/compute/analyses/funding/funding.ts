import assert from 'node:assert/strict'
import type { Input, NoAnswer } from '../../../domain/document.ts'
import type { ContextEvent } from '../../../domain/event.ts'
import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { CoinAnalysis, Component, Rendering } from '../../analysis.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import type { FundingHour, FundingWindows } from '../../market/funding-series.ts'
import { DAY_HOURS, MONTH_HOURS, recordsOf, WEEK_HOURS } from '../../market/funding-series.ts'
import type { FundingTilt } from '../../market/funding-tilt.ts'
import { annualizedPctOf, FUNDING_INTERVAL_HOURS, fundingTilt } from '../../market/funding-tilt.ts'
import { contextInput } from '../../market/inputs.ts'
import { dexKindOf, premiumOf } from '../../market/premium.ts'
import type { SeriesStatistics } from '../../market/series-statistics.ts'
import { answerMeta } from '../../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { belowFloor, lowCoverage } from '../../render/coverage-floor.ts'
import type { Fragment, Written } from '../../render/document-builder.ts'
import { DocumentBuilder } from '../../render/document-builder.ts'
import { bps, orNull, percent, rate } from '../../render/significance.ts'
import { FundingAnswer } from './funding-schema.ts'
import { fundingTrendOf } from './funding-trend.ts'
import type { LookbackHours } from './lookback-parameter.ts'
import {
  defaultLookbackHours,
  lookbackParameter,
  lookbacksHours,
  lookbackViewKey,
} from './lookback-parameter.ts'
import type { VenueRate } from './venue-rates.ts'
import { otherVenueRates, widestSpread } from './venue-rates.ts'

/** What it says moves with hours: every second would be work for nothing. */
const PERIOD_MS = 5_000
const BPS = 10_000
/** Of the hours asked for, as far as the coin has them: fewer are no statistic of that time. */
const FLOOR_SHARE = 0.5
/** Other exchanges are asked for all coins at once, every few minutes. */
const VENUE_FUNDINGS_CADENCE_MS = 300_000

/** What a bundle asks of it. */
export type FundingFacts = { readonly tilt: FundingTilt }

/** What longs pay shorts: the running rate against its own history and against other exchanges. */
export const funding: CoinAnalysis & Component<FundingFacts> = {
  contract: {
    id: 'funding',
    offering: 'service_funding',
    scope: 'coin',
    summary:
      'Funding rate with its history, percentile, trend and crowding, beside other exchanges',
    guide: {
      title: 'Funding rate of one coin with its history',
      useWhen:
        'you hold or plan a position and want the cost of carrying it, or look for crowded sides.',
      notWhen: 'you compare funding over all coins (screener).',
      returns:
        'current and predicted rate, what it is a year, statistics of the last day, or of up to a week, and of 30 days, crowding, and other exchanges beside it.',
    },
    priceUsdcAtomic: 10_000n,
    document: FundingAnswer,
    defaultView: lookbackViewKey(defaultLookbackHours),
    viewParameters: [lookbackParameter],
    inputAgeMsMax: 300_000,
    coverageFloor: {
      counts: 'hours of funding',
      least:
        'half of the hours asked for, and an hour of the last day; of a younger coin half of the hours since it was listed',
    },
  },
  inputs: ['context', 'funding-history', 'venue-fundings'],
  periodMs: PERIOD_MS,

  render(coin, rendering) {
    const builder = new DocumentBuilder()
    const write = writerOf(builder, coin, rendering, WEEK_HOURS)
    for (const hours of lookbacksHours) builder.settle(lookbackViewKey(hours), write(hours))
    return builder.build(rendering)
  },

  write(builder, coin, rendering) {
    return writerOf(builder, coin, rendering, defaultLookbackHours)(defaultLookbackHours)
  },
}

/** What views have in common is written once; none of them goes back further than `longestHours`. */
function writerOf(
  builder: DocumentBuilder,
  coin: CoinMarket,
  rendering: Rendering,
  longestHours: LookbackHours,
): (lookbackHours: LookbackHours) => Written<FundingFacts> | NoAnswer {
  const measured = measure(coin)
  if (typeof measured === 'string') return () => ({ kind: 'missing-input', input: measured })
  const { context, tilt, windows, venueRates } = measured
  const isLastDayKnown = windows.over[DAY_HOURS].count > 0
  const floorOf = (lookbackHours: LookbackHours) => ({
    have: isLastDayKnown ? windows.over[lookbackHours].count : 0,
    need: hoursNeeded(windows, lookbackHours),
  })
  if (!isLastDayKnown)
    return (lookbackHours) => lowCoverage(funding.contract, floorOf(lookbackHours))
  const inputs = inputsOf(measured)
  const head = builder.text(
    `${JSON.stringify({
      coin: coin.listing.coin,
      ...builder.memberSlot({ kind: 'requested-coin' }),
      timestamp_iso: isoInstant(rendering.renderedAtMs),
      funding: current(coin, context),
    }).slice(0, -'}}'.length)},`,
  )
  const middle = builder.text(`${JSON.stringify(standing(measured)).slice(1, -1)},"history":[`)
  const shownHours = lookbacksHours.filter((hours) => hours <= longestHours)
  const history = newestOf(
    builder,
    textsOf(windows.week),
    shownHours.map((hours) => windows.over[hours].count),
  )
  const afterHistory = builder.text(
    `]},${JSON.stringify({
      venues: venueRates.map(shownVenue),
      venue_spread: venueSpread(venueRates, context),
    }).slice(1, -1)},"meta":`,
  )

  return (lookbackHours) => {
    const statistics = windows.over[lookbackHours]
    const below = belowFloor(funding.contract, floorOf(lookbackHours))
    if (below !== null) return below
    const records = history.get(statistics.count)
    assert(records !== undefined, 'a view at its floor has records')
    const own = { lookback_hours: lookbackHours, ...shown(statistics) }
    const meta = answerMeta(builder, {
      offering: funding.contract.offering,
      rendering,
      view: lookbackViewKey(lookbackHours),
      inputs,
      sources: ['venue'],
    })
    const fragments = [
      head,
      builder.text(`${JSON.stringify(own).slice(1, -1)},`),
      middle,
      records,
      afterHistory,
      builder.text(`${JSON.stringify(meta)}}`),
    ]
    const share = { have: statistics.count, need: lookbackHours }
    return {
      kind: 'written',
      fragments,
      inputs,
      coveragePct: coveragePct(share),
      warnings: completenessWarnings({
        records: share,
        history: { have: windows.monthSpanHours, need: MONTH_HOURS },
      }),
      facts: { tilt },
    }
  }
}

type Measured = {
  readonly context: ContextEvent
  readonly tilt: FundingTilt
  readonly windows: FundingWindows
  readonly venueRates: readonly VenueRate[]
}

/** @returns the name of the input without which there is nothing to sell */
function measure(coin: CoinMarket): Measured | string {
  const { context, trackers } = coin
  const tilt = fundingTilt(coin)
  if (context === null || tilt === null) return 'funding'
  const atMs = context.timeExchangeMs
  const windows = trackers.funding.windows(atMs)
  return {
    context,
    tilt,
    windows,
    venueRates: otherVenueRates(trackers.funding.venueFundings, atMs),
  }
}

/**
 * Before the venue told its records nobody knows how old the coin is: what we recorded ourselves is the youngest part.
 */
function hoursNeeded({ week, monthSpanHours }: FundingWindows, lookbackHours: number): number {
  const isTold = week.some(({ isSettled }) => isSettled)
  const exist = isTold ? Math.min(lookbackHours, monthSpanHours) : lookbackHours
  return Math.max(1, Math.ceil(FLOOR_SHARE * exist))
}

/** What stands now. Whatever is annualised is of the printed rate, so that a reader finds it exact. */
function current(coin: CoinMarket, context: ContextEvent) {
  const currentRate = rate(context.fundingRateHourly)
  const dexKind = dexKindOf(coin.listing.coin)
  const premium = premiumOf(context, dexKind)
  const nextHour = Math.floor(context.timeExchangeMs / FUNDING_STEP_MS) + 1
  return {
    current_rate: currentRate,
    interval_hours: FUNDING_INTERVAL_HOURS,
    annualized_pct: percent(annualizedPctOf(currentRate, FUNDING_INTERVAL_HOURS)),
    // On this venue one figure is both: the running estimate of what the next hour is charged.
    predicted_rate: currentRate,
    implied_rate:
      premium === null || dexKind === 'builder' ? null : rate(impliedRateHourly(premium)),
    premium_bps: premium === null ? null : bps(premium * BPS),
    next_funding_iso: isoInstant(nextHour * FUNDING_STEP_MS),
  }
}

/** Where the rate stands, however far the answer goes back. */
function standing({ tilt, windows }: Measured) {
  return {
    percentile: orNull(tilt.percentile, percent),
    percentile_window_hours: windows.monthSpanHours,
    zscore: orNull(tilt.zscore, percent),
    trend: fundingTrendOf(recordsOf(windows, DAY_HOURS), windows),
    bias: tilt.bias,
    crowding: tilt.crowding,
    streak_sign: windows.streak.sign,
    streak_hours: windows.streak.hours,
    windows: {
      '7d': { hours: WEEK_HOURS, ...shown(windows.over[WEEK_HOURS]) },
      '30d': { hours: MONTH_HOURS, ...shown(windows.over[MONTH_HOURS]) },
    },
  }
}

function shown(of: SeriesStatistics) {
  const averageRate = rate(of.mean)
  return {
    records: of.count,
    average_rate: averageRate,
    median_rate: rate(of.median),
    max_rate: rate(of.max),
    min_rate: rate(of.min),
    stdev_rate: rate(of.deviation),
    average_annualized_pct: percent(annualizedPctOf(averageRate, FUNDING_INTERVAL_HOURS)),
    cumulative_pct: percent(of.sum * 100),
    positive_pct: percent(of.positivePct),
    flips: of.flips,
  }
}

/**
 * The newest so many of a list that is written once, oldest first, in pieces that begin where one of the views does.
 * @returns by how many they are; none for 0
 */
function newestOf(
  builder: DocumentBuilder,
  texts: readonly string[],
  counts: readonly number[],
): ReadonlyMap<number, Fragment> {
  const descending = [...new Set(counts)].filter((count) => count > 0).sort((a, b) => b - a)
  const pieces = descending.map((count, at) => {
    const next = descending[at + 1] ?? 0
    const piece = texts.slice(texts.length - count, texts.length - next).join(',')
    return builder.text(next === 0 ? piece : `${piece},`)
  })
  return new Map(descending.map((count, at) => [count, pieces.slice(at).flat()]))
}

/** A week is shown every few seconds and changes once an hour. */
const weekTexts = new WeakMap<readonly FundingHour[], readonly string[]>()

function textsOf(week: readonly FundingHour[]): readonly string[] {
  let texts = weekTexts.get(week)
  if (texts === undefined) {
    texts = week.map((record) => JSON.stringify(shownRecord(record)))
    weekTexts.set(week, texts)
  }
  return texts
}

function shownRecord({ timeMs, rateHourly, premium, isSettled }: FundingHour) {
  return {
    timestamp_iso: isoInstant(timeMs),
    rate: rate(rateHourly),
    premium: orNull(premium, rate),
    settled: isSettled,
  }
}

function shownVenue({ venue, rate: raw, intervalHours, nextFundingMs, toldAtMs }: VenueRate) {
  const intervalRate = rate(raw)
  return {
    venue,
    rate: intervalRate,
    interval_hours: intervalHours,
    hourly_rate: rate(raw / intervalHours),
    annualized_pct: percent(annualizedPctOf(intervalRate, intervalHours)),
    next_funding_iso: isoInstant(nextFundingMs),
    as_of: isoInstant(toldAtMs),
  }
}

function venueSpread(venueRates: readonly VenueRate[], { fundingRateHourly }: ContextEvent) {
  const widest = widestSpread(venueRates, fundingRateHourly)
  return (
    widest && {
      long_on: widest.longOn,
      short_on: widest.shortOn,
      gross_annualized_pct: percent(annualizedPctOf(widest.rateHourly, FUNDING_INTERVAL_HOURS)),
    }
  )
}

function inputsOf({ context, windows, venueRates }: Measured): readonly Input[] {
  const lastRecordMs = windows.week.at(-1)?.timeMs
  const venuesToldAtMs = venueRates[0]?.toldAtMs
  return [
    contextInput('funding', context),
    ...besides('funding_history', lastRecordMs, FUNDING_STEP_MS),
    ...besides('venue_fundings', venuesToldAtMs, VENUE_FUNDINGS_CADENCE_MS),
  ]
}

/** An input whose loss leaves the answer useful; none where it is not there. */
function besides(name: string, confirmedAtMs: number | undefined, cadenceMs: number): Input[] {
  if (confirmedAtMs === undefined) return []
  return [{ name, confirmedAtMs, cadenceMs, isLoadBearing: false }]
}

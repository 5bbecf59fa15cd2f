import type { Input, NumberedOutcome, NumberedOutcomes } from '../../../domain/document.ts'
import { tailOf } from '../../../domain/document-bytes.ts'
import type { ContextEvent } from '../../../domain/event.ts'
import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { CoinAnalysis, Component, Rendering } from '../../analysis.ts'
import type { FundingHour, FundingWindows } from '../../funding/funding-series.ts'
import { DAY_HOURS, fundingSeries, MONTH_HOURS, WEEK_HOURS } from '../../funding/funding-series.ts'
import type { FundingTilt } from '../../funding/funding-tilt.ts'
import { FUNDING_INTERVAL_HOURS, fundingTilt } from '../../funding/funding-tilt.ts'
import { dexKindOf, fundingPremium } from '../../funding/premium.ts'
import { revertingMedian } from '../../funding/reverting-rate.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { contextInput } from '../../market/inputs.ts'
import type { MarketState } from '../../market/market-state.ts'
import { answerMeta, VIEW_MARK } from '../../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { deviationsOf, percentOf } from '../../render/count-digits.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import { DocumentBuilder, numberedOutcomes } from '../../render/document-builder.ts'
import { coinMembers } from '../../render/quote-unit.ts'
import { bps, decimals, orNull, rate } from '../../render/significance.ts'
import type { SeriesStatistics } from '../../statistics/series-statistics.ts'
import { quantileOf } from '../../statistics/series-statistics.ts'
import {
  compactRecordOmits,
  recordOfCoin,
  shownRules,
} from '../../track-record-statistics/record-member.ts'
import { FundingAnswer } from './funding-schema.ts'
import { fundingTrendOf } from './funding-trend.ts'
import {
  defaultLookbackHours,
  lookbackHoursMax,
  lookbackParameter,
  lookbackViewKey,
} from './lookback-parameter.ts'
import type { VenueRate } from './venue-rates.ts'
import { otherVenueRates, shownAnnualizedPct, widestSpread } from './venue-rates.ts'

/** The answer changes by the hour; rendering every second would waste work. */
const PERIOD_MS = 5_000
const BPS = 10_000
/** Share of the requested hours that must have data, counted from the listing of a young coin. */
const FLOOR_SHARE = 0.5
/** The feed requests other exchanges' fundings for all coins together, every few minutes. */
const VENUE_FUNDINGS_CADENCE_MS = 300_000

/** What a bundle reads from this answer. */
export type FundingFacts = { readonly tilt: FundingTilt }

/** Funding rate of one coin against its own history and other exchanges. */
export const funding: CoinAnalysis & Component<FundingFacts> = {
  contract: {
    id: 'funding',
    offering: 'service_funding',
    scope: 'coin',
    summary: 'Funding rate with history, percentile, trend, crowding, and rates on other exchanges',
    guide: {
      title: 'Funding rate of one coin with history',
      useWhen:
        'you hold or plan a position and want its carrying cost, or look for crowded positioning.',
      notWhen: 'you compare funding over all coins (screener).',
      returns:
        'current and annualised rate, statistics of the last 1 to 168 hours, 7 and 30 days, percentile, trend, crowding, and rates on other exchanges.',
    },
    priceUsdcAtomic: 10_000n,
    document: FundingAnswer,
    defaultView: lookbackViewKey(defaultLookbackHours),
    viewParameters: [lookbackParameter],
    compactOmits: [
      ...compactRecordOmits('funding.track_record'),
      ...compactRecordOmits('funding.reverting_track_record'),
    ],
    inputAgeMsMax: 300_000,
    coverageFloor: {
      counts: 'hours of funding',
      least:
        'half of the requested hours (of a younger coin, half of the hours since its first record), and one hour of the last day',
    },
  },
  inputs: ['context', 'funding-history', 'venue-fundings'],
  periodMs: PERIOD_MS,

  render(coin, rendering, market) {
    const builder = new DocumentBuilder()
    const measured = measure(coin)
    if (typeof measured === 'string') {
      const missing = { kind: 'missing-input', input: measured } as const
      builder.numbered([], [], numberedOutcomes(new Array(lookbackHoursMax).fill(missing)))
      return builder.build(rendering)
    }
    const inputs = inputsOf(measured)
    const { head, middle, tail, end } = surroundings(
      builder,
      { coin, market, measured, inputs },
      rendering,
    )
    const { text, statistics, names, records, outcomes } = lookbacksOf(measured.windows)
    const [own = [], history = [], name = []] = builder.choices(text, [statistics, records, names])
    builder.numbered([head, own, middle, history, tail, name, end], inputs, outcomes)
    return builder.build(rendering)
  },

  write(builder, coin, rendering, market) {
    const measured = measure(coin)
    if (typeof measured === 'string') return { kind: 'missing-input', input: measured }
    const lookback = measured.windows.over(defaultLookbackHours)
    const outcome = outcomeOf(measured.windows, defaultLookbackHours, lookback)
    if ('kind' in outcome) return outcome
    const inputs = inputsOf(measured)
    const { head, middle, tail, end } = surroundings(
      builder,
      { coin, market, measured, inputs },
      rendering,
    )
    const own = builder.text(statisticsText(defaultLookbackHours, lookback))
    const records = measured.windows.records(defaultLookbackHours)
    const history = builder.text(records.map(textOf).join(','))
    const name = builder.text(lookbackViewKey(defaultLookbackHours))
    return {
      kind: 'written',
      fragments: [head, own, middle, history, tail, name, end],
      inputs,
      ...outcome,
      facts: { tilt: measured.tilt },
    }
  },
}

/** Parts of the answer that are equal for all lookbacks. */
function surroundings(
  builder: DocumentBuilder,
  {
    coin,
    market,
    measured,
    inputs,
  }: {
    readonly coin: CoinMarket
    readonly market: MarketState
    readonly measured: Measured
    readonly inputs: readonly Input[]
  },
  rendering: Rendering,
) {
  const { context, venueRates } = measured
  const before = {
    ...coinMembers(builder, coin, rendering.renderedAtMs),
    funding: {
      ...current(coin, context),
      track_record: recordOfCoin(coin, market, shownRules.funding),
      reverting_rate: orNull(revertingMedian(measured.windows, context.timeExchangeMs), rate),
      reverting_track_record: recordOfCoin(coin, market, shownRules.reverting),
    },
  }
  const after = {
    venues: venueRates.map(shownVenue),
    venue_spread: venueSpread(venueRates, context),
    meta: answerMeta(builder, {
      offering: funding.contract.offering,
      rendering,
      view: VIEW_MARK,
      inputs,
      sources: ['venue'],
    }),
  }
  const [untilName = '', fromName = ''] = JSON.stringify(after).split(VIEW_MARK)
  return {
    head: builder.text(`${JSON.stringify(before).slice(0, -'}}'.length)},`),
    middle: builder.text(`,${JSON.stringify(ranking(measured)).slice(1, -1)},"history":[`),
    tail: builder.text(`]},${untilName.slice(1)}`),
    end: builder.text(fromName),
  }
}

/** Coverage and warnings of one lookback, or why it has no answer. */
function outcomeOf(
  windows: FundingWindows,
  lookbackHours: number,
  { count }: SeriesStatistics,
): NumberedOutcome {
  const isLastDayKnown = windows.over(DAY_HOURS).count > 0
  const floor = {
    have: isLastDayKnown ? count : 0,
    need: hoursNeeded(windows, lookbackHours),
  }
  const below = belowFloor(funding.contract, floor)
  if (below !== null) return below
  const share = { have: count, need: lookbackHours }
  return {
    coveragePct: coveragePct(share),
    warnings: completenessWarnings({
      records: share,
      history: { have: windows.monthSpanHours, need: MONTH_HOURS },
    }),
  }
}

type Measured = {
  readonly context: ContextEvent
  readonly tilt: FundingTilt
  readonly windows: FundingWindows
  readonly venueRates: readonly VenueRate[]
}

/** @returns the name of the missing input, if there is no answer */
function measure(coin: CoinMarket): Measured | string {
  const { context } = coin
  const tilt = fundingTilt(coin)
  if (context === null || tilt === null) return 'funding'
  const atMs = context.timeExchangeMs
  const windows = coin.of(fundingSeries).windows(atMs)
  return {
    context,
    tilt,
    windows,
    venueRates: otherVenueRates(coin.of(fundingSeries).venueFundings, atMs),
  }
}

/** Without settled records the age of the coin is unknown, because own estimates cover only recent hours. */
function hoursNeeded(
  { isSettledKnown, monthSpanHours }: FundingWindows,
  lookbackHours: number,
): number {
  const exist = isSettledKnown ? Math.min(lookbackHours, monthSpanHours) : lookbackHours
  return Math.max(1, Math.ceil(FLOOR_SHARE * exist))
}

/** Present figures. */
function current(coin: CoinMarket, context: ContextEvent) {
  const currentRate = rate(context.fundingRateHourly)
  const dexKind = dexKindOf(coin.listing.coin)
  const premium = fundingPremium(context, dexKind)
  const nextHour = Math.floor(context.timeExchangeMs / FUNDING_STEP_MS) + 1
  return {
    current_rate: currentRate,
    interval_hours: FUNDING_INTERVAL_HOURS,
    annualized_pct: shownAnnualizedPct(currentRate, FUNDING_INTERVAL_HOURS),
    // The venue publishes one figure for both: the running estimate of the next hourly rate.
    predicted_rate: currentRate,
    implied_rate:
      premium === null || dexKind === 'builder' ? null : rate(impliedRateHourly(premium)),
    premium_bps: premium === null ? null : bps(premium * BPS),
    next_funding_iso: isoInstant(nextHour * FUNDING_STEP_MS),
  }
}

/** Position of the rate in its history; independent of the lookback. */
function ranking({ tilt, windows }: Measured) {
  const month = windows.over(MONTH_HOURS)
  return {
    percentile: tilt.percentile,
    percentile_window_hours: windows.monthSpanHours,
    zscore: orNull(tilt.zscore, (zscore) => deviationsOf(zscore, tilt.rankedHours)),
    trend: fundingTrendOf(windows.records(DAY_HOURS), windows),
    bias: tilt.bias,
    crowding: tilt.crowding,
    streak_sign: windows.streak.sign,
    streak_hours: windows.streak.hours,
    windows: {
      '7d': { hours: WEEK_HOURS, ...shown(windows.over(WEEK_HOURS)) },
      '30d': {
        hours: MONTH_HOURS,
        ...shown(month),
        p10_rate: rate(quantileOf(month.ascending, 0.1)),
        p90_rate: rate(quantileOf(month.ascending, 0.9)),
      },
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
    average_annualized_pct: shownAnnualizedPct(averageRate, FUNDING_INTERVAL_HOURS),
    // The digits of a rate, in percent.
    cumulative_pct: decimals(of.sum * 100, 6),
    positive_pct: percentOf(of.positivePct, of.count),
    flips: of.flips,
  }
}

/** Text of all lookbacks with the range of each, and their outcomes. Depends on the windows alone. */
type Lookbacks = {
  /** By {@link tailOf}. */
  readonly text: Uint8Array
  readonly statistics: Ranges
  readonly names: Ranges
  readonly records: Ranges
  readonly outcomes: NumberedOutcomes
}
type Ranges = { readonly starts: Uint32Array; readonly ends: Uint32Array }

/** Cached, because the windows change once an hour and the answer is rendered every few seconds. */
const lookbacks = new WeakMap<FundingWindows, Lookbacks>()

function lookbacksOf(windows: FundingWindows): Lookbacks {
  let kept = lookbacks.get(windows)
  if (kept === undefined) {
    kept = writtenLookbacks(windows)
    lookbacks.set(windows, kept)
  }
  return kept
}

function writtenLookbacks(windows: FundingWindows): Lookbacks {
  const ranges = () => ({
    starts: new Uint32Array(lookbackHoursMax),
    ends: new Uint32Array(lookbackHoursMax),
  })
  const [statistics, names, records] = [ranges(), ranges(), ranges()]
  const texts = windows.records(lookbackHoursMax).map(textOf)
  let text = texts.join(',')
  const recordsEnd = text.length
  const outcomes: NumberedOutcome[] = []
  for (let at = 0; at < lookbackHoursMax; at += 1) {
    const hours = at + 1
    const lookback = windows.over(hours)
    const { count } = lookback
    records.starts[at] = recordsEnd - texts.slice(texts.length - count).join(',').length
    records.ends[at] = recordsEnd
    statistics.starts[at] = text.length
    if (count > 0) {
      names.starts[at] = text.length + LOOKBACK_MEMBER.length
      names.ends[at] = text.length + LOOKBACK_MEMBER.length + lookbackViewKey(hours).length
      text += statisticsText(hours, lookback)
    }
    statistics.ends[at] = text.length
    outcomes.push(outcomeOf(windows, hours, lookback))
  }
  return { text: tailOf(text), statistics, names, records, outcomes: numberedOutcomes(outcomes) }
}

const LOOKBACK_MEMBER = '"lookback_hours":'

/** Members, without braces. */
function statisticsText(hours: number, statistics: SeriesStatistics): string {
  const members = JSON.stringify(shown(statistics)).slice(1, -1)
  return `${LOOKBACK_MEMBER}${lookbackViewKey(hours)},${members}`
}

function textOf(record: FundingHour): string {
  return JSON.stringify(shownRecord(record))
}

function shownRecord({ timeMs, rateHourly, premium, isSettled }: FundingHour) {
  return {
    timestamp_iso: isoInstant(timeMs),
    rate: rate(rateHourly),
    premium: orNull(premium, rate),
    settled: isSettled,
  }
}

function shownVenue({ venue, rate: raw, intervalHours, nextFundingMs, asOfMs }: VenueRate) {
  const intervalRate = rate(raw)
  return {
    venue,
    rate: intervalRate,
    interval_hours: intervalHours,
    hourly_rate: rate(intervalRate / intervalHours),
    annualized_pct: shownAnnualizedPct(raw, intervalHours),
    next_funding_iso: isoInstant(nextFundingMs),
    as_of: isoInstant(asOfMs),
  }
}

function venueSpread(venueRates: readonly VenueRate[], { fundingRateHourly }: ContextEvent) {
  const widest = widestSpread(venueRates, fundingRateHourly)
  return (
    widest && {
      long_on: widest.longOn,
      short_on: widest.shortOn,
      gross_annualized_pct: widest.annualizedPct,
    }
  )
}

function inputsOf({ context, windows, venueRates }: Measured): readonly Input[] {
  const venuesAsOfMs = venueRates[0]?.asOfMs
  return [
    contextInput('funding', context),
    ...optionalInput('funding_history', windows.newestMs, FUNDING_STEP_MS),
    ...optionalInput('venue_fundings', venuesAsOfMs, VENUE_FUNDINGS_CADENCE_MS),
  ]
}

/** An input that the answer can do without; none if it is missing. */
function optionalInput(
  name: string,
  confirmedAtMs: number | undefined,
  cadenceMs: number,
): Input[] {
  if (confirmedAtMs === undefined) return []
  return [{ name, confirmedAtMs, cadenceMs, isLoadBearing: false }]
}

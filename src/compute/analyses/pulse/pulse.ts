import { BoundedMap } from '../../../domain/bounded-map.ts'
import type { Input, NoAnswer, Warning } from '../../../domain/document.ts'
import type { ContextEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframes } from '../../../domain/timeframe.ts'
import type { CoinAnalysis, Component, Rendering } from '../../analysis.ts'
import { midOf, spreadBpsOf } from '../../book/best-quote.ts'
import { impactPrices } from '../../book/impact-prices.ts'
import { BARS_NEEDED, BARS_NEEDED_OF_PART, barsNeeded, isWarm } from '../../candles/warm.ts'
import { confluenceOf, signalRules } from '../../confluence/confluence.ts'
import type { CandleVotes, DerivativeVotes } from '../../confluence/votes.ts'
import { candleVotes, derivativeVotesOf } from '../../confluence/votes.ts'
import { fundingTilt } from '../../funding/funding-tilt.ts'
import type { PulseIndicators } from '../../indicators/pulse-indicators.ts'
import { pulseIndicators } from '../../indicators/pulse-indicators.ts'
import { pulseValue } from '../../indicators/pulse-layout.ts'
import { recursiveValues } from '../../indicators/seed-memory.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { bookInput, candlesInput, contextInput, markInput } from '../../market/inputs.ts'
import type { MarketState } from '../../market/market-state.ts'
import { positioningOf } from '../../open-interest/positioning.ts'
import { regimeTracker } from '../../regime/regime.ts'
import type { Regime } from '../../regime/regime-rule.ts'
import {
  compositeOf,
  contributionOf,
  driverNames,
  REGIME_RULE_VERSION,
} from '../../regime/regime-rule.ts'
import { answerMeta } from '../../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import type { Fragment, Written } from '../../render/document-builder.ts'
import { DocumentBuilder } from '../../render/document-builder.ts'
import { coinMembers, unitWarnings, usdOf } from '../../render/quote-unit.ts'
import { bps, orNull, percent, price, rate, score } from '../../render/significance.ts'
import {
  compactRecordOmits,
  recordOfCoin,
  shownRules,
  supportedOnly,
} from '../../track-record-statistics/record-member.ts'
import { PulseAnswer } from './pulse-schema.ts'
import { timeframeSubsets, timeframesParameter } from './timeframes-parameter.ts'

const FUNDING_INTERVAL_HOURS = 1
const HOURS_PER_YEAR = 24 * 365
const defaultTimeframes = ['1h', '4h'] as const satisfies Timeframe[]

/** What a bundle reads from this answer. */
export type PulseFacts = {
  readonly bias: ReturnType<typeof confluenceOf>['bias']
  /** null unless the record of the bias supports it. */
  readonly biasSupported: PulseFacts['bias'] | null
  readonly atrPct1h: number | null
}

/** Multi-timeframe technical analysis of one coin. */
export const pulse: CoinAnalysis & Component<PulseFacts> = {
  contract: {
    id: 'pulse',
    offering: 'service_pulse',
    scope: 'coin',
    summary: 'Multi-timeframe technical analysis with derivatives and a confluence score',
    guide: {
      title: 'Technical analysis of one coin on up to three timeframes',
      useWhen:
        'you want the technical state of one coin: momentum, trend, volatility bands, funding, and how far the indicators agree.',
      notWhen: 'you compare many coins (screener) or need execution costs (spread).',
      returns:
        'indicators per timeframe, funding and open interest, market regime, and a confluence score with its signals.',
    },
    priceUsdcAtomic: 25_000n,
    document: PulseAnswer,
    defaultView: defaultTimeframes.join(','),
    viewParameters: [timeframesParameter],
    viewOmits: (view) =>
      timeframes
        .filter((timeframe) => !view.split(',').includes(timeframe))
        .flatMap((timeframe) => [
          `timeframes.${timeframe}`,
          `confluence.per_timeframe.${timeframe}`,
        ]),
    compactOmits: ['confluence.weights', ...compactRecordOmits('confluence.track_record')],
    // Stale data gives a warning (stale_data), not a refusal.
    inputAgeMsMax: Number.POSITIVE_INFINITY,
    coverageFloor: {
      counts: 'closed candles',
      least: `${BARS_NEEDED_OF_PART} closed candles of each requested timeframe, or ${BARS_NEEDED} if the coin has no older ones; a younger coin is refused with 400 insufficient_candles`,
    },
  },
  inputs: [
    'history',
    'hourly-history',
    'candle',
    'trade',
    'book',
    'top-of-book',
    'context',
    'mark',
    'funding-history',
    'sample-history',
  ],

  render(coin, rendering, market) {
    const builder = new DocumentBuilder()
    const write = writerOf(builder, { coin, rendering, market }, timeframes)
    for (const subset of timeframeSubsets) builder.settle(subset.join(','), write(subset))
    return builder.build(rendering)
  },

  write(builder, coin, rendering, market) {
    return writerOf(builder, { coin, rendering, market }, defaultTimeframes)(defaultTimeframes)
  },
}

/** Writes the parts that views share once. A view may be any subset of the `wanted` timeframes. */
function writerOf(
  builder: DocumentBuilder,
  { coin, rendering, market }: Asked,
  wanted: readonly Timeframe[],
): (subset: readonly Timeframe[]) => Written<PulseFacts> | NoAnswer {
  const { context } = coin
  if (context === null) return () => ({ kind: 'missing-input', input: 'context' })
  const readings = readTimeframes(coin, rendering.renderedAtMs, wanted)
  const head = builder.text(headText(builder, coin, rendering))
  const bodies = timeframeBodies(builder, readings)
  const mid = midOf(coin.quote)
  const impact = impactPrices(context, { bid: mid, ask: mid })
  const middle = builder.text(
    `},"derivatives":${JSON.stringify(derivatives(coin, context))},"regime":${JSON.stringify(
      shownRegime(market.of(regimeTracker).current(rendering.renderedAtMs), rendering),
    )},"confluence":`,
  )
  const derivativeVotes = derivativeVotesOf(
    { context, tilt: fundingTilt(coin), positioning: positioningOf(coin) },
    rendering.renderedAtMs,
  )
  const record = recordOfCoin(coin, market, shownRules.confluence)
  const recordText = JSON.stringify(record)
  return (subset) => {
    const missing = subset.find((timeframe) => !readings.has(timeframe))
    if (missing !== undefined) return whyMissing(coin, missing, rendering.renderedAtMs)
    const inputs = inputsOf(coin, context, subset)
    const { bias, text } = confluenceText(readings, subset, derivativeVotes)
    const meta = answerMeta(builder, {
      offering: pulse.contract.offering,
      rendering,
      view: subset.join(','),
      inputs,
      sources: ['venue'],
      more: { coins_available: builder.slot({ kind: 'coins-available' }) },
    })
    const biasSupported = supportedOnly(record, bias)
    const tail = builder.text(
      `${text.slice(0, -1)},"bias_supported":${JSON.stringify(biasSupported)},"track_record":${recordText}},"meta":${JSON.stringify(meta)}}`,
    )
    return {
      kind: 'written',
      fragments: [head, ...joined(builder, subset, bodies), middle, tail],
      inputs,
      ...completenessOf({ coin, readings, subset, isSkewed: impact.isSkewed }),
      facts: { bias, biasSupported, atrPct1h: readings.get('1h')?.indicators.atr_pct ?? null },
    }
  }
}

type Asked = {
  readonly coin: CoinMarket
  readonly rendering: Rendering
  readonly market: MarketState
}

/** A coin whose whole history is loaded has too few candles; any other may still receive older ones. */
function whyMissing({ ladder }: CoinMarket, timeframe: Timeframe, nowMs: number): NoAnswer {
  const [have, need] = [ladder.barCount(timeframe), barsNeeded(ladder, timeframe)]
  if (have < need && ladder.isWhole(timeframe) && !ladder.isCold(nowMs))
    return { kind: 'insufficient-candles', timeframe, have, need }
  return (
    belowFloor(pulse.contract, { have, need, missing: `closed candles of ${timeframe}` }) ?? {
      kind: 'missing-input',
      input: `candles_${timeframe}`,
    }
  )
}

type InsufficientBars = { readonly field: string; readonly have: number; readonly need: number }

type Reading = {
  /** Forming one included. */
  readonly bars: number
  readonly isWhole: boolean
  /** Indicators that are null for lack of bars. */
  readonly insufficient: readonly InsufficientBars[]
  readonly indicators: PulseIndicators
  readonly votes: CandleVotes
  /** Key of the votes in {@link confluenceTexts}. */
  readonly ballot: string
}

/** The warm timeframes, with indicators as if the forming bar closed now. */
function readTimeframes(
  coin: CoinMarket,
  nowMs: number,
  wanted: readonly Timeframe[],
): ReadonlyMap<Timeframe, Reading> {
  const readings = new Map<Timeframe, Reading>()
  for (const timeframe of wanted) {
    if (!isWarm(coin, timeframe, nowMs)) continue
    const bar = coin.ladder.peek(timeframe)
    if (bar === null) continue
    const indicators = pulseIndicators(coin.ladder.values, bar.close)
    const votes = candleVotes(indicators, bar.close)
    readings.set(timeframe, {
      ...barsOf(coin, timeframe),
      indicators,
      votes,
      ballot: `${timeframe}${JSON.stringify(votes)}`,
    })
  }
  return readings
}

function barsOf({ ladder }: CoinMarket, timeframe: Timeframe) {
  const have = ladder.barCount(timeframe) + 1
  const isWhole = ladder.isWhole(timeframe)
  const withheld = isWhole ? [] : recursiveValues.filter(({ bars }) => have < bars)
  return {
    bars: have,
    isWhole,
    insufficient: withheld.map(({ field, bars }) => ({ field, have, need: bars })),
  }
}

/** Share of indicators that have enough bars. */
function completenessOf({
  coin,
  readings,
  subset,
  isSkewed,
}: {
  readonly coin: CoinMarket
  readonly readings: ReadonlyMap<Timeframe, Reading>
  readonly subset: readonly Timeframe[]
  readonly isSkewed: boolean
}): { readonly coveragePct: number; readonly warnings: readonly Warning[] } {
  const need = subset.length * Object.keys(pulseValue).length
  const withheld = subset.flatMap((timeframe) => readings.get(timeframe)?.insufficient ?? [])
  const share = { have: need - withheld.length, need }
  const warnings = [...completenessWarnings({ history: share }), ...unitWarnings(coin)]
  if (!coin.isMidKnown) warnings.push('thin_book')
  return {
    coveragePct: coveragePct(share),
    warnings: isSkewed ? [...warnings, 'leg_skew'] : warnings,
  }
}

function headText(builder: DocumentBuilder, coin: CoinMarket, rendering: Rendering): string {
  const head = JSON.stringify({
    ...coinMembers(builder, coin, rendering.renderedAtMs),
    price: { current: price(coin.midPrice) },
  })
  return `${head.slice(0, -1)},"timeframes":{`
}

function timeframeBodies(
  builder: DocumentBuilder,
  readings: ReadonlyMap<Timeframe, Reading>,
): ReadonlyMap<Timeframe, Fragment> {
  const bodies = new Map<Timeframe, Fragment>()
  for (const [timeframe, { indicators, bars, isWhole, insufficient }] of readings) {
    const body = JSON.stringify({
      indicators: shown(indicators),
      bars,
      bars_is_whole_history: isWhole,
      insufficient_bars: insufficient,
      candle_freshness_seconds: builder.slot({ kind: 'input-age', input: `candles_${timeframe}` }),
    })
    bodies.set(timeframe, builder.text(`"${timeframe}":${body}`))
  }
  return bodies
}

function joined(
  builder: DocumentBuilder,
  subset: readonly Timeframe[],
  bodies: ReadonlyMap<Timeframe, Fragment>,
): Fragment[] {
  return subset.flatMap((timeframe, at) => {
    const body = bodies.get(timeframe) ?? []
    return at === 0 ? [body] : [builder.text(','), body]
  })
}

function shown(indicators: PulseIndicators) {
  const { bollinger } = indicators
  return {
    rsi_14: orNull(indicators.rsi_14, percent),
    rsi_zone: indicators.rsi_zone,
    atr_14: orNull(indicators.atr_14, price),
    atr_pct: orNull(indicators.atr_pct, percent),
    ema_20: orNull(indicators.ema_20, price),
    ema_50: orNull(indicators.ema_50, price),
    ema_200: orNull(indicators.ema_200, price),
    vwap_20: orNull(indicators.vwap_20, price),
    zscore_100: orNull(indicators.zscore_100, percent),
    bollinger: {
      upper: orNull(bollinger.upper, price),
      middle: orNull(bollinger.middle, price),
      lower: orNull(bollinger.lower, price),
      width_pct: orNull(bollinger.width_pct, percent),
      position_pct: orNull(bollinger.position_pct, percent),
    },
    trend: indicators.trend,
  }
}

function derivatives(coin: CoinMarket, context: ContextEvent) {
  // Annualised from the rounded rate, so that the published identity holds exactly.
  const fundingRate = rate(context.fundingRateHourly)
  return {
    funding_rate: fundingRate,
    funding_annualized_pct: percent((fundingRate / FUNDING_INTERVAL_HOURS) * HOURS_PER_YEAR * 100),
    funding_interval_hours: FUNDING_INTERVAL_HOURS,
    open_interest: usdOf(coin)(context.openInterestBase * context.markPrice),
    open_interest_contracts: context.openInterestBase,
    impact_bid: orNull(context.impactBid, price),
    impact_ask: orNull(context.impactAsk, price),
    spread_bps: orNull(spreadBpsOf(coin.quote), bps),
  }
}

/** UNKNOWN as of now before the first evaluation. */
function shownRegime(regime: Regime | null, { renderedAtMs }: Rendering) {
  const drivers = regime?.drivers ?? null
  return {
    current: regime?.label ?? 'UNKNOWN',
    as_of: Math.floor((regime?.asOfMs ?? renderedAtMs) / 1000),
    score: drivers === null ? null : compositeOf(drivers),
    previous: regime?.previous ?? null,
    since: regime === null ? null : Math.floor(regime.sinceMs / 1000),
    drivers:
      drivers === null
        ? []
        : driverNames.map((name) => ({
            name,
            value: score(drivers[name]),
            contribution: contributionOf(drivers, name),
          })),
    rule_version: REGIME_RULE_VERSION,
  }
}

type ConfluenceText = { readonly bias: PulseFacts['bias']; readonly text: string }

/** Cached by votes, which stay the same for minutes while the indicators change every second. */
const confluenceTexts = new BoundedMap<string, ConfluenceText>(8_192)

function confluenceText(
  readings: ReadonlyMap<Timeframe, Reading>,
  subset: readonly Timeframe[],
  derivativeVotes: DerivativeVotes,
): ConfluenceText {
  const ballots = subset.map((timeframe) => readings.get(timeframe)?.ballot)
  const key = `${ballots.join()}${JSON.stringify(derivativeVotes)}`
  const known = confluenceTexts.get(key)
  if (known !== undefined) return known
  const found = confluence(readings, subset, derivativeVotes)
  const made = { bias: found.bias, text: JSON.stringify(found) }
  confluenceTexts.set(key, made)
  return made
}

function confluence(
  readings: ReadonlyMap<Timeframe, Reading>,
  subset: readonly Timeframe[],
  derivativeVotes: DerivativeVotes,
) {
  const votes = new Map<Timeframe, CandleVotes>()
  for (const timeframe of subset) votes.set(timeframe, readings.get(timeframe)?.votes ?? {})
  const result = confluenceOf(votes, derivativeVotes)
  return {
    score: score(result.score),
    bias: result.bias,
    signals: result.signals,
    bullish_count: result.bullishCount,
    bearish_count: result.bearishCount,
    net: score(result.net),
    weights: Object.fromEntries(
      Object.entries(signalRules).flatMap(([name, rule]) =>
        name in result.signals ? [[name, rule.weight]] : [],
      ),
    ),
    vote_share: score(result.voteShare),
    families: Object.fromEntries(
      Object.entries(result.families).map(([family, net]) => [family, orNull(net, score)]),
    ),
    per_timeframe: Object.fromEntries(
      Object.entries(result.perTimeframe).map(([timeframe, { net, bias }]) => [
        timeframe,
        { net: score(net), bias },
      ]),
    ),
    aligned: result.isAligned,
    conflicts: result.conflicts,
    // Not measured: past answers are not compared with later prices.
    calibration: null,
    validated: false,
  }
}

function inputsOf(
  coin: CoinMarket,
  context: ContextEvent,
  subset: readonly Timeframe[],
): readonly Input[] {
  const { quote } = coin
  return [
    ...subset.map((timeframe) => candlesInput(coin, timeframe)),
    markInput(coin),
    contextInput('funding', context),
    // Without a quote the mark price is the price.
    ...(quote === null ? [] : [bookInput(quote.confirmedAtMs)]),
  ]
}

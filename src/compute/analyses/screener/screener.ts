import type { Input } from '../../../domain/document.ts'
import { isoInstant } from '../../../domain/instant.ts'
import type { MarketAnalysis, Rendering } from '../../analysis.ts'
import { stressLevelOf } from '../../external/arb/arb-levels.ts'
import { divergenceDirection } from '../../external/divergence-direction.ts'
import { dexKindOf } from '../../funding/premium.ts'
import { COIN_AGE_MS_MAX, CONTEXT_CADENCE_MS } from '../../market/cadence.ts'
import { compositeOf } from '../../regime/regime-rule.ts'
import { answerMeta, VIEW_MARK } from '../../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { percentOf } from '../../render/count-digits.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import type { Fragment } from '../../render/document-builder.ts'
import { DocumentBuilder } from '../../render/document-builder.ts'
import { bps, orNull, percent, price, score } from '../../render/significance.ts'
import { statisticsOf } from '../../statistics/series-statistics.ts'
import { volatilityRegimeOf } from '../../volatility/volatility-regime.ts'
import { VOLATILITY_WINDOW_HOURS } from '../../volatility/volatility-series.ts'
import type { ScreenerColumns, Skipped } from './screener-columns.ts'
import { screenerColumns } from './screener-columns.ts'
import type { ScreenerView } from './screener-parameters.ts'
import {
  defaultScreenerView,
  rowsMax,
  screenerViewKey,
  screenerViews,
  topNParameter,
  viewParameter,
  wholeScreenerView,
} from './screener-parameters.ts'
import type { Ranked } from './screener-rank.ts'
import { rankedCoins } from './screener-rank.ts'
import { fullRowMembers, ScreenerAnswer } from './screener-schema.ts'

const PERIOD_MS = 5_000

/** Share of the listed coins that must be rankable. */
const COVERAGE_NEEDED = 0.5
const SKIPPED_SHOWN_MAX = 40

const TOP_DIRECTIONS = 5
const TOP_OTHERS = 3

/** All listed coins, ranked by signal strength. */
export const screener: MarketAnalysis<ScreenerColumns> = {
  contract: {
    id: 'screener',
    offering: 'service_screener',
    scope: 'market',
    summary:
      'All coins ranked by signal strength, with trend, volatility, funding and market regime',
    guide: {
      title: 'Screener: all coins ranked by signal strength',
      useWhen:
        'you search for coins with strong signals, crowded funding or high volatility, or want the market regime.',
      notWhen: 'you want details of one known coin (pulse).',
      returns: 'one row per coin, strongest signals first, market-wide figures, and short lists.',
    },
    priceUsdcAtomic: 60_000n,
    document: ScreenerAnswer,
    defaultView: defaultScreenerView,
    viewParameters: [viewParameter, topNParameter],
    viewOmits: (view) =>
      view.startsWith('compact') ? fullRowMembers.map((name) => `coins.${name}`) : [],
    wholeView: wholeScreenerView,
    // Coins with older data are skipped, so an older answer means that the engine has stopped.
    inputAgeMsMax: COIN_AGE_MS_MAX + 60_000,
    coverageFloor: {
      counts: 'coins with warm 1h and 4h candles and 30-day volatility history',
      least: 'half of the listed coins, each with warm 1h and 4h candles and volatility history',
    },
  },
  periodMs: PERIOD_MS,

  gather: screenerColumns,

  render(columns, rendering) {
    const builder = new DocumentBuilder()
    const below = belowFloor(screener.contract, {
      have: columns.coins.length,
      need: Math.max(1, Math.ceil(COVERAGE_NEEDED * columns.coinsTotal)),
    })
    if (below !== null) {
      for (const view of screenerViews)
        for (let rows = 1; rows <= rowsMax[view]; rows += 1)
          builder.noAnswer(screenerViewKey(view, rows), below)
      builder.noAnswer(wholeScreenerView, below)
      return builder.build(rendering)
    }
    renderViews(builder, columns, rendering)
    return builder.build({ ...rendering, nextUpdateMs: rendering.renderedAtMs + PERIOD_MS })
  },
}

function renderViews(
  builder: DocumentBuilder,
  columns: ScreenerColumns,
  rendering: Rendering,
): void {
  const ranked = rankedCoins(columns)
  const inputs = inputsOf(columns)
  const facts = {
    inputs,
    coveragePct: coveragePct({ have: ranked.length, need: columns.coinsTotal }),
    warnings: completenessWarnings({
      history: { have: medianHours(judgedOf(ranked)), need: VOLATILITY_WINDOW_HOURS },
      members: { have: ranked.length, need: columns.coinsTotal },
    }),
  }
  const head = builder.text(`${opened(summaryOf(columns, ranked, rendering))},"coins":[`)
  const [untilView = '', fromView = ''] = tailText(
    builder,
    { ranked, skipped: columns.skipped, inputs },
    rendering,
  ).split(VIEW_MARK)
  const tail = builder.text(`],${untilView}`)
  const end = builder.text(fromView)
  for (const view of screenerViews) {
    const runs = rowRuns(builder, view, view === 'full' ? ranked : ranked.slice(0, rowsMax[view]))
    if (view === 'full') {
      const name = builder.text('full_all')
      builder.answer(wholeScreenerView, [head, runs.at(-1) ?? [], tail, name, end], facts)
    }
    for (let rows = 1; rows <= rowsMax[view]; rows += 1) {
      const run = runs[Math.min(rows, runs.length) - 1] ?? []
      const name = builder.text(`${view}_${rows}`)
      builder.answer(screenerViewKey(view, rows), [head, run, tail, name, end], facts)
    }
  }
}

/** Runs of the first row, the first two, and so on. Views share the rows. */
function rowRuns(
  builder: DocumentBuilder,
  view: ScreenerView,
  ranked: readonly Ranked[],
): readonly Fragment[] {
  const rows = ranked.map((coin, at) => {
    const row = view === 'full' ? fullRow(builder, coin) : compactRow(coin)
    return builder.text(`${at === 0 ? '' : ','}${JSON.stringify(row)}`)
  })
  const [first = []] = rows
  return rows.map((row) => builder.run(first, row))
}

function compactRow(coin: Ranked) {
  return {
    coin: coin.coin,
    price: price(coin.price),
    ...(dexKindOf(coin.coin) === 'builder' && { quote_unit: coin.unit }),
    change_24h_pct: orNull(coin.change24hPct, percent),
    signal_strength: coin.signalStrength,
    confluence_bias: coin.bias,
    trend: coin.trend,
    vol_regime: coin.volatilityRegime,
    funding_bias: coin.fundingBias,
  }
}

function fullRow(builder: DocumentBuilder, coin: Ranked) {
  return {
    coin: coin.coin,
    price: price(coin.price),
    ...(dexKindOf(coin.coin) === 'builder' && { quote_unit: coin.unit }),
    change_24h_pct: orNull(coin.change24hPct, percent),
    signal_strength: coin.signalStrength,
    ...(coin.strengthSupported !== null && {
      signal_strength_supported: coin.strengthSupported,
    }),
    confluence_bias: coin.bias,
    confluence_score: score(coin.confluenceScore),
    rsi_14: percent(coin.rsi),
    rsi_zone: coin.rsiZone,
    trend: coin.trend,
    vol_regime: coin.volatilityRegime,
    funding_bias: coin.fundingBias,
    funding_annualized_pct: percent(coin.fundingAnnualizedPct),
    oi_trend: coin.interestTrend,
    // Whole dollars: cents would cost hundreds of tokens per answer.
    oi_notional_usd: orNull(coin.openInterestUsd, Math.round),
    volume_24h_usd: orNull(coin.dayNotionalUsd, Math.round),
    cascade_level: coin.cascadeLevel,
    liquidated_usd: orNull(coin.liquidatedUsd, Math.round),
    ...divergence(coin),
    data_age_seconds: builder.slot({ kind: 'age', confirmedAtMs: coin.confirmedAtMs }),
  }
}

function divergence({ cexDexBps: divergenceBps, cexDexNoiseBps: noiseBps }: Ranked) {
  if (Number.isNaN(divergenceBps)) return { cex_dex_spread_bps: null, cex_dex_direction: null }
  return {
    cex_dex_spread_bps: bps(divergenceBps),
    cex_dex_direction: divergenceDirection({ divergenceBps, noiseBps }),
  }
}

/** Members before the rows. */
function summaryOf(
  { coinsTotal, regime, stressScore }: ScreenerColumns,
  ranked: readonly Ranked[],
  { renderedAtMs }: Rendering,
) {
  const count = (bias: Ranked['bias']) => ranked.filter((coin) => coin.bias === bias).length
  const judged = judgedOf(ranked)
  const above = judged.filter(({ isAboveEma50 }) => isAboveEma50).length
  const median = (of: (coin: Ranked) => number) =>
    statisticsOf(Float64Array.from(judged.map(of))).median
  return {
    timestamp_iso: isoInstant(renderedAtMs),
    coins_scanned: ranked.length,
    coins_total: coinsTotal,
    market: {
      regime: regime?.label ?? 'UNKNOWN',
      regime_score: regime?.drivers ? compositeOf(regime.drivers) : null,
      breadth_pct: percentOf((100 * above) / judged.length, judged.length),
      bullish_count: count('bullish'),
      bearish_count: count('bearish'),
      neutral_count: count('neutral'),
      strength_supported_count: ranked.filter(({ strengthSupported: of }) => of !== null).length,
      median_funding_annualized_pct: percent(median((coin) => coin.fundingAnnualizedPct)),
      vol_regime: volatilityRegimeOf(median((coin) => coin.volatilityPercentile)),
      vol_window_hours: Math.floor(medianHours(judged)),
      stress_level: stressScore === null ? null : stressLevelOf(score(stressScore)),
    },
  }
}

/** Text after the rows, without its opening brace. */
function tailText(
  builder: DocumentBuilder,
  of: {
    readonly ranked: readonly Ranked[]
    readonly skipped: readonly Skipped[]
    readonly inputs: readonly Input[]
  },
  rendering: Rendering,
): string {
  return JSON.stringify({
    top: topOf(of.ranked),
    skipped: of.skipped.slice(0, SKIPPED_SHOWN_MAX),
    skipped_count: of.skipped.length,
    meta: answerMeta(builder, {
      offering: screener.contract.offering,
      rendering,
      view: VIEW_MARK,
      inputs: of.inputs,
      sources: ['venue'],
      nextUpdateMs: rendering.renderedAtMs + PERIOD_MS,
    }),
  }).slice(1)
}

/** Crowded: the funding signal votes against the paying side. */
function topOf(ranked: readonly Ranked[]) {
  const by = (bias: Ranked['bias']) => ranked.filter((coin) => coin.bias === bias)
  const crowded = (fundingVote: 1 | -1) =>
    ranked
      .filter((coin) => coin.fundingVote === fundingVote)
      .sort((one, other) => crowdedBy(other) - crowdedBy(one) || paid(other) - paid(one))
  const volatile = ranked
    .filter(({ volatilityRegime }) => volatilityRegime === 'HIGH' || volatilityRegime === 'EXTREME')
    .sort((one, other) => other.volatilityPercentile - one.volatilityPercentile)
  return {
    bullish: names(by('bullish'), TOP_DIRECTIONS),
    bearish: names(by('bearish'), TOP_DIRECTIONS),
    crowded_long: names(crowded(-1), TOP_OTHERS),
    crowded_short: names(crowded(1), TOP_OTHERS),
    volatile: names(volatile, TOP_OTHERS),
  }
}

/** Distance of the percentile from 50. */
function crowdedBy({ fundingPercentile }: Ranked): number {
  return Math.abs(fundingPercentile - 50)
}

function paid({ fundingAnnualizedPct }: Ranked): number {
  return Math.abs(fundingAnnualizedPct)
}

function names(coins: readonly Ranked[], count: number): readonly string[] {
  return coins.slice(0, count).map(({ coin }) => coin)
}

/** Each input with the oldest confirmation over all rows. */
function inputsOf({ numbers }: ScreenerColumns): readonly Input[] {
  const input = (name: string, instants: Float64Array): Input => ({
    name,
    confirmedAtMs: Math.min(...instants),
    cadenceMs: CONTEXT_CADENCE_MS,
    isLoadBearing: true,
  })
  return [
    input('candles_1h', numbers.candlesConfirmedAtMs),
    input('mark', numbers.priceConfirmedAtMs),
    input('funding', numbers.contextReceivedAtMs),
  ]
}

/** Stocks and commodities of builder dexes say nothing about the market, unless there is nothing else. */
function judgedOf(ranked: readonly Ranked[]): readonly Ranked[] {
  const own = ranked.filter(({ coin }) => dexKindOf(coin) === 'main')
  return own.length > 0 ? own : ranked
}

function medianHours(judged: readonly Ranked[]): number {
  return statisticsOf(Float64Array.from(judged, ({ volatilityHours }) => volatilityHours)).median
}

/** JSON text of an object, without its closing brace. */
function opened(value: object): string {
  return JSON.stringify(value).slice(0, -1)
}

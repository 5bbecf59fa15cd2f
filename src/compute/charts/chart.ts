import type { Bar } from '../../domain/bar.ts'
import type { Input } from '../../domain/document.ts'
import type { CoinDocumentKind } from '../analysis.ts'
import type { PulseIndicators } from '../indicators/pulse-indicators.ts'
import { pulseIndicators } from '../indicators/pulse-indicators.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { candlesInput } from '../market/inputs.ts'
import { interestSeries } from '../open-interest/interest-series.ts'
import { freshnessMeta } from '../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../render/completeness.ts'
import { DocumentBuilder } from '../render/document-builder.ts'
import { coinMembers } from '../render/quote-unit.ts'
import { decimals, orNull, percent, price } from '../render/significance.ts'
import type { ChartRow } from './chart-bars.ts'
import { CHART_BARS, chartBars } from './chart-bars.ts'
import { ChartAnswer } from './chart-schema.ts'

const PERIOD_MS = 60_000
const VIEW = ''
/** Significant digits of the indicators of closed bars, at the latest price: one more than the venue's prices have. */
const CLOSED_DIGITS = 6

/** Candles of one coin with the indicators of `/pulse`, for the console. */
export const chart: CoinDocumentKind = {
  contract: {
    id: 'chart',
    scope: 'coin',
    document: ChartAnswer,
    defaultView: VIEW,
    viewParameters: [],
  },
  // 'context' confirms the candles while there are no trades.
  inputs: ['history', 'hourly-history', 'candle', 'context', 'sample-history'],
  trackers: [chartBars],
  periodMs: PERIOD_MS,
  atCloseOf: '1h',

  render(coin, rendering) {
    const builder = new DocumentBuilder()
    const forming = coin.ladder.isCold(rendering.renderedAtMs) ? null : formingRow(coin)
    if (forming === null) {
      builder.noAnswer(VIEW, { kind: 'missing-input', input: 'candles_1h' })
      return builder.build(rendering)
    }
    const closed = coin.of(chartBars).rowsBefore(forming.bar.openTimeMs)
    const rows = [...closed, forming]
    const inputs = [inputOf(coin)]
    const history = {
      have: closed.length,
      need: coin.of(chartBars).isWhole ? closed.length : CHART_BARS,
    }
    const answer = builder.value({
      ...coinMembers(builder, coin, rendering.renderedAtMs),
      bars: barColumns(
        rows.map(({ bar }) => bar),
        coin.listing.sizeDecimals,
      ),
      indicators: indicatorColumns(closed, forming),
      open_interest: openInterest(coin, rows),
      meta: { ...freshnessMeta(builder, inputs), snapshot_id: rendering.snapshotId },
    })
    builder.answer(VIEW, [answer], {
      inputs,
      coveragePct: coveragePct(history),
      warnings: completenessWarnings({ history }),
    })
    return builder.build(rendering)
  },
}

/** null while the beginning of the bar is unknown. */
function formingRow({ ladder }: CoinMarket): ChartRow | null {
  const bar = ladder.peek('1h')
  return bar && { bar, indicators: pulseIndicators(ladder.values, bar.close) }
}

/** Prices are the venue's own; sums of volumes are rounded, because they have digits of floating-point errors. */
function barColumns(bars: readonly Bar[], sizeDecimals: number) {
  return {
    time_ms: bars.map(({ openTimeMs }) => openTimeMs),
    open: bars.map(({ open }) => open),
    high: bars.map(({ high }) => high),
    low: bars.map(({ low }) => low),
    close: bars.map(({ close }) => close),
    volume: bars.map(({ volumeBase }) => decimals(volumeBase, sizeDecimals)),
  }
}

/** The forming bar has the digits of `/pulse`, closed ones those that a chart can show. */
function indicatorColumns(closed: readonly ChartRow[], forming: ChartRow) {
  const column = (
    read: (one: PulseIndicators) => number | null,
    roundClosed: (value: number) => number,
    roundForming: (value: number) => number,
  ) => [
    ...closed.map(({ indicators }) => orNull(read(indicators), roundClosed)),
    orNull(read(forming.indicators), roundForming),
  ]
  const magnitude = Math.floor(Math.log10(forming.bar.close))
  const priceDecimals = Math.max(0, CLOSED_DIGITS - 1 - magnitude)
  const closedPrice = (value: number) => decimals(value, priceDecimals)
  const prices = (read: (one: PulseIndicators) => number | null) => column(read, closedPrice, price)
  return {
    ema_20: prices(({ ema_20 }) => ema_20),
    ema_50: prices(({ ema_50 }) => ema_50),
    ema_200: prices(({ ema_200 }) => ema_200),
    bollinger_upper: prices(({ bollinger }) => bollinger.upper),
    bollinger_middle: prices(({ bollinger }) => bollinger.middle),
    bollinger_lower: prices(({ bollinger }) => bollinger.lower),
    rsi_14: column(
      ({ rsi_14 }) => rsi_14,
      (value) => decimals(value, 2),
      percent,
    ),
    vwap_20: prices(({ vwap_20 }) => vwap_20),
  }
}

function openInterest(coin: CoinMarket, rows: readonly ChartRow[]): readonly (number | null)[] {
  const lastMs = rows.at(-1)?.bar.openTimeMs ?? Number.NaN
  const contracts = new Map(
    coin
      .of(interestSeries)
      .hourly(lastMs, rows.length)
      .map((reading) => [reading.timeMs, reading.contracts]),
  )
  return rows.map(({ bar }) => contracts.get(bar.openTimeMs) ?? null)
}

/** A reader sees a new confirmation with each rendering only, so the cadence is the render period. */
function inputOf(coin: CoinMarket): Input {
  return { ...candlesInput(coin, '1h'), cadenceMs: PERIOD_MS }
}

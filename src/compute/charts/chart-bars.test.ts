import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededCandles } from '../../../test/golden/seeded-candles.ts'
import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import { CandleLadder } from '../candles/candle-ladder.ts'
import type { PulseIndicators } from '../indicators/pulse-indicators.ts'
import { pulseIndicators } from '../indicators/pulse-indicators.ts'
import { pulseRows } from '../indicators/pulse-rows.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { recursiveValues } from '../indicators/seed-memory.ts'
import type { TrackedCoin } from '../market/coin-tracker.ts'
import { hasSharedCandles, sharedBars } from '../testing/bars.ts'
import { BOUNDARY_MS, wave } from '../testing/tape.ts'
import { CHART_BARS, ChartBars } from './chart-bars.ts'
import { naiveHours } from './testing/naive-hours.ts'

const HOUR_MS = timeframeMs['1h']
const QUARTER_MS = timeframeMs['15m']
const SETTLED_MS = 10_000
/** A cold start requests 1,344 of these, and 2,000 hours afterwards. */
const quarters = wave('15m', 4 * 2_000)
const hours = naiveHours(quarters)

describe('chart bars', () => {
  property.prop([fc.integer({ min: 1, max: 700 }), fc.integer()])(
    'are the last 240 hours with the indicators of /pulse at each close',
    (count, seed) => {
      const bars = seededCandles({ seed, count, startPrice: 40, volatility: 0.01 })
      const chart = new ChartBars()
      for (const bar of bars) chart.closed('1h', bar)
      expect(chart.rowsBefore(endOf(bars))).toEqual(naiveRows(bars))
    },
  )

  test('take the last state of a bar that closes twice', () => {
    const chart = closedOf(hours)
    const last = hours.at(-1) as Bar
    const revised = { ...last, close: last.high, volumeBase: 2 * last.volumeBase }
    chart.closed('1h', revised)
    expect(chart.rowsBefore(BOUNDARY_MS)).toEqual(naiveRows([...hours.slice(0, -1), revised]))
  })

  test('leave out a bar that is forming again', () => {
    const chart = closedOf(hours)
    expect(chart.rowsBefore(BOUNDARY_MS - HOUR_MS)).toEqual(naiveRows(hours.slice(0, -1)))
  })

  test('ignore bars of other timeframes', () => {
    const chart = closedOf(hours)
    for (const timeframe of ['15m', '4h'] as const)
      chart.closed(timeframe, { ...(hours[0] as Bar), openTimeMs: BOUNDARY_MS })
    expect(chart.rowsBefore(BOUNDARY_MS + HOUR_MS)).toEqual(naiveRows(hours))
  })

  test('start over with a ladder that starts over', () => {
    const chart = closedOf(hours)
    const again = hours.slice(-336)
    for (const bar of again) chart.closed('1h', bar)
    expect(chart.rowsBefore(BOUNDARY_MS)).toEqual(naiveRows(again))
  })

  test('are empty before any', () => {
    expect(new ChartBars().rowsBefore(BOUNDARY_MS)).toEqual([])
  })
})

describe('chart bars and the ladder', () => {
  test('agree after a cold start, and after the deeper history that follows it', () => {
    const coin = new Coin()
    coin.start(quarters.slice(-1_344))
    expect(coin.rows()).toEqual(naiveRows(hours.slice(-336)))
    expect(coin.rows()).toHaveLength(CHART_BARS)
    coin.apply(hourly(hours, (hours[0] as Bar).openTimeMs))
    expect(coin.rows()).toEqual(naiveRows(hours))
    expect(coin.rows()[0]?.indicators.ema_200).not.toBeNull()
    expectAgreementAtNextClose(coin)
  })

  test('agree on a coin whose whole history is known: no indicator is withheld', () => {
    const coin = new Coin()
    const young = quarters.slice(-4 * 300)
    coin.start(young)
    coin.apply(hourly(naiveHours(young), BOUNDARY_MS - 2_000 * HOUR_MS))
    expect(coin.chart.isWhole).toBe(true)
    expect(coin.rows().map(({ indicators }) => indicators)).toEqual(
      [...pulseRows(naiveHours(young))].slice(-CHART_BARS).map(({ indicators }) => indicators),
    )
    expect(coin.rows().at(-1)?.indicators.ema_200).not.toBeNull()
    expectAgreementAtNextClose(coin)
  })

  test('agree where deeper history arrives while the last hour is open again', () => {
    const coin = new Coin()
    coin.start(quarters.slice(-1_344))
    // The connection is lost before the final frame of the last bar is certain.
    coin.ladder.live(nextQuarter(quarters), BOUNDARY_MS + SETTLED_MS)
    for (let at = 1; at < 4; at += 1)
      coin.ladder.advance(BOUNDARY_MS + at * QUARTER_MS + SETTLED_MS)
    coin.ladder.advance(BOUNDARY_MS + HOUR_MS + SETTLED_MS)
    expect(coin.rows().at(-1)?.bar.openTimeMs).toBe(BOUNDARY_MS)
    coin.ladder.interrupt(BOUNDARY_MS + HOUR_MS + SETTLED_MS)
    expect(coin.ladder.openBar('1h')?.openTimeMs).toBe(BOUNDARY_MS)
    coin.apply(hourly(hours))
    expect(coin.rows()).toEqual(naiveRows(hours))
    coin.ladder.history(
      '15m',
      [flatAt(BOUNDARY_MS + HOUR_MS - QUARTER_MS)],
      BOUNDARY_MS + HOUR_MS + 60_000,
    )
    expect(coin.rows().at(-1)?.bar.openTimeMs).toBe(BOUNDARY_MS)
    expect(coin.rows()).toHaveLength(CHART_BARS)
  })

  test('are rebuilt from history on disk where a checkpoint has none, whether the missing bars come before or after it', () => {
    const saved = new Coin()
    saved.start(quarters.slice(-1_344, -40))
    const remembered = hours.slice(-936, -10)
    const results = [true, false].map((isHistoryFirst) => {
      const coin = new Coin()
      coin.ladder.restore(saved.ladder.save())
      const bridge = () => coin.ladder.history('15m', quarters.slice(-60), BOUNDARY_MS + SETTLED_MS)
      if (!isHistoryFirst) bridge()
      coin.apply({ ...hourly(remembered), isRemembered: true })
      if (isHistoryFirst) bridge()
      return coin.rows()
    })
    for (const rows of results) expect(rows).toEqual(naiveRows(hours.slice(-936)))
  })

  test('use history on disk from its last gap or damaged row on', () => {
    const saved = new Coin()
    saved.start(quarters.slice(-1_344))
    const faults: readonly ((at: number) => Bar[])[] = [
      () => [],
      (at) => [{ ...(hours[at] as Bar), high: Number.NaN }],
    ]
    for (const faulty of faults) {
      const coin = new Coin()
      coin.ladder.restore(saved.ladder.save())
      const at = hours.length - 100
      coin.apply(hourly([...hours.slice(0, at), ...faulty(at), ...hours.slice(at + 1)]))
      expect(coin.rows()).toEqual(naiveRows(hours.slice(at + 1)))
    }
  })

  test('keep their own bars where history contradicts them or is shorter', () => {
    const coin = new Coin()
    coin.start(quarters.slice(-1_344))
    const before = coin.rows()
    const other = hours.map((bar) => ({ ...bar, high: 2 * bar.high, close: 1.5 * bar.high }))
    for (const event of [hourly(other), hourly(hours.slice(-300)), hourly(hours.slice(0, -400))]) {
      coin.apply(event)
      expect(coin.rows()).toEqual(before)
    }
  })
})

describe('a checkpoint of chart bars', () => {
  property.prop([fc.integer({ min: 1, max: 500 }), fc.integer({ min: 0, max: 300 })])(
    'continues as if nothing had happened',
    (before, after) => {
      const bars = hours.slice(0, before + after)
      const saved = closedOf(bars.slice(0, before)).save()
      const restored = new ChartBars()
      expect(restored.restore(saved, tracked(ladderOf(bars.slice(0, before))))).toBe(true)
      for (const bar of bars.slice(before)) restored.closed('1h', bar)
      expect(restored.rowsBefore(endOf(bars))).toEqual(closedOf(bars).rowsBefore(endOf(bars)))
      expect(restored.save()).toEqual(closedOf(bars).save())
    },
  )

  test.each([
    ['nothing', () => new Float64Array()],
    ['no bar', () => new ChartBars().save()],
    ['a cut row', () => closedOf(hours).save().slice(0, -1)],
    [
      'more bars than are kept',
      () => Float64Array.from([...closedOf(hours).save(), 1, 1, 1, 1, 1]),
    ],
    ['bars that the ladder has not closed', () => closedOf(hours).save().with(0, 9e9)],
    ['an hour that is no number', () => closedOf(hours).save().with(0, Number.NaN)],
  ])('with %s begins empty', (_, saved) => {
    const chart = new ChartBars()
    expect(chart.restore(saved(), tracked(ladderOf(hours)))).toBe(false)
    expect(chart.rowsBefore(BOUNDARY_MS)).toEqual([])
  })

  test('takes less than 15 kB', () => {
    expect(closedOf(hours).save().byteLength).toBeLessThan(15_000)
  })
})

describe.skipIf(!hasSharedCandles)('on recorded candles (needs ../shared/data)', () => {
  test.each(['BTC', 'ETH', 'kPEPE', 'FARTCOIN', 'RLB'])(
    'bars of %s equal a naive aggregation, and its indicators the series of all hours',
    (name) => {
      const recorded = sharedBars(name, '15m')
      const coin = new Coin()
      coin.start(recorded)
      const all = naiveHours(recorded)
      expect(all.length).toBeGreaterThan(1_000)
      expect(coin.rows()).toEqual(naiveRows(all))
    },
  )
})

/** A ladder with chart bars, as a coin connects them. */
class Coin {
  readonly ladder = new CandleLadder(new PulsePool(3))
  readonly chart = new ChartBars()

  constructor() {
    this.ladder.onClosed = (timeframe, bar) => this.chart.closed(timeframe, bar)
  }

  /** A cold start right after the end of the last bar. */
  start(bars: readonly Bar[]): void {
    const endMs = (bars.at(-1)?.openTimeMs ?? Number.NaN) + QUARTER_MS
    this.ladder.history('15m', bars, endMs + SETTLED_MS, bars[0]?.openTimeMs)
  }

  apply(event: Extract<CoinEvent, { kind: 'hourly-history' }>): void {
    if (event.fromMs !== undefined) this.ladder.deepen(event.bars, event.fromMs)
    this.chart.apply(event, tracked(this.ladder))
  }

  rows() {
    return this.chart.rowsBefore(this.ladder.openBar('1h')?.openTimeMs ?? Number.NaN)
  }
}

/** The indicators of the forming hour are those of the chart after it closed. */
function expectAgreementAtNextClose({ ladder, chart }: Coin): void {
  for (let part = 0; part < 4; part += 1) {
    const openTimeMs = BOUNDARY_MS + part * QUARTER_MS
    const close = 120 + part
    const bar = { openTimeMs, open: 119, high: 130, low: 100, close, volumeBase: 7 }
    ladder.live(bar, openTimeMs + 60_000)
  }
  const forming = ladder.peek('1h')
  const shown = pulseIndicators(ladder.values, forming?.close ?? Number.NaN)
  ladder.advance(BOUNDARY_MS + HOUR_MS + SETTLED_MS)
  expect(chart.rowsBefore(BOUNDARY_MS + HOUR_MS).at(-1)).toEqual({
    bar: forming,
    indicators: shown,
  })
}

function tracked(ladder: CandleLadder): TrackedCoin {
  const listing = {
    coin: 'BTC',
    sizeDecimals: 2,
    maxLeverage: 3,
    marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 3 }],
    isDelisted: false,
  }
  return { listing, ladder }
}

/** A ladder that has closed these hours. */
function ladderOf(closed: readonly Bar[]): CandleLadder {
  const ladder = new CandleLadder(new PulsePool(3))
  const endMs = endOf(closed)
  ladder.history('15m', [flatAt(endMs - QUARTER_MS), flatAt(endMs)], endMs + SETTLED_MS)
  return ladder
}

function closedOf(bars: readonly Bar[]): ChartBars {
  const chart = new ChartBars()
  for (const bar of bars) chart.closed('1h', bar)
  return chart
}

/** By the series of all bars, where what is not settled is unknown. */
function naiveRows(bars: readonly Bar[]) {
  const unsettled = (count: number) =>
    recursiveValues.filter((value) => count < value.bars).map(({ field }) => field)
  return [...pulseRows(bars)]
    .map(({ indicators }, at) => ({
      bar: bars[at],
      indicators: without(unsettled(at + 1), indicators, bars[at] as Bar),
    }))
    .slice(-CHART_BARS)
}

function without(fields: readonly string[], known: PulseIndicators, bar: Bar) {
  if (fields.length === 0) return known
  const shown = { ...known, ...Object.fromEntries(fields.map((field) => [field, null])) }
  // What follows from a value that is unknown is unknown too.
  return {
    ...shown,
    rsi_zone: shown.rsi_14 === null ? null : known.rsi_zone,
    atr_pct: shown.atr_14 === null ? null : ((shown.atr_14 as number) / bar.close) * 100,
    trend:
      shown.ema_20 === null || shown.ema_50 === null
        ? { direction: null, label: null, ema_stack: null }
        : { ...known.trend, ema_stack: shown.ema_200 === null ? null : known.trend.ema_stack },
  }
}

function hourly(bars: readonly Bar[], fromMs?: number) {
  return {
    kind: 'hourly-history',
    coin: 'BTC',
    bars,
    ...(fromMs !== undefined && { fromMs }),
    timeExchangeMs: BOUNDARY_MS + SETTLED_MS,
    timeReceivedMs: BOUNDARY_MS + SETTLED_MS,
  } as const
}

function endOf(bars: readonly Bar[]): number {
  return (bars.at(-1)?.openTimeMs ?? Number.NaN) + HOUR_MS
}

function nextQuarter(bars: readonly Bar[]): Bar {
  const last = bars.at(-1) as Bar
  return { ...last, openTimeMs: last.openTimeMs + QUARTER_MS, open: last.close }
}

function flatAt(openTimeMs: number): Bar {
  return { openTimeMs, open: 100, high: 100, low: 100, close: 100, volumeBase: 0 }
}

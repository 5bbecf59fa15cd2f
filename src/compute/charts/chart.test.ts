import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import type { Document } from '../../domain/document.ts'
import { viewOf } from '../../domain/document.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { PulseAnswer } from '../analyses/pulse/pulse-schema.ts'
import { documentKinds } from '../analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { Session } from '../testing/session.ts'
import {
  BOUNDARY_MS,
  context,
  flat,
  history,
  NOW_MS,
  universe,
  warmTape,
  wave,
} from '../testing/tape.ts'
import { CHART_BARS } from './chart-bars.ts'
import { ChartAnswer } from './chart-schema.ts'
import { naiveHours } from './testing/naive-hours.ts'

type Chart = Static<typeof ChartAnswer>

const HOUR_MS = timeframeMs['1h']
const MINUTE_MS = 60_000
const quarters = wave('15m', 4 * 2_000)
const hours = naiveHours(quarters)
const deepHistory: MarketEvent = {
  kind: 'hourly-history',
  coin: 'BTC',
  bars: hours,
  fromMs: hours[0]?.openTimeMs ?? 0,
  timeExchangeMs: NOW_MS,
  timeReceivedMs: NOW_MS,
}
const warm: readonly Batch[] = [
  [universe(['BTC'])],
  [context('BTC')],
  [history('BTC', '4h', wave('4h', 1_200)), history('BTC', '15m', quarters.slice(-1_344))],
]
const deep: readonly Batch[] = [...warm, [deepHistory]]

describe('/chart', () => {
  test.each([
    { market: 'a coin after a cold start', tape: warm, withheld: ['ema_200'] },
    { market: 'a coin with deep history', tape: deep, withheld: [] },
  ])(
    'shows the forming bar of $market as /pulse does, throughout a session',
    ({ tape, withheld }) => {
      const session = new Session('BTC', NOW_MS, 3)
      const processor = processorOf(tape)
      for (let minute = 0; minute < 75; minute += 5) {
        const { pulse, chart } = renderedNow(processor, session.nowMs)
        const { indicators } = pulse.timeframes['1h'] ?? {}
        if (indicators === undefined) throw new Error('a warm coin has 1h candles')
        const { bollinger } = indicators
        const last = (column: readonly (number | null)[]) => column.at(-1)
        expect({
          ema_20: last(chart.indicators.ema_20),
          ema_50: last(chart.indicators.ema_50),
          ema_200: last(chart.indicators.ema_200),
          rsi_14: last(chart.indicators.rsi_14),
          vwap_20: last(chart.indicators.vwap_20),
          upper: last(chart.indicators.bollinger_upper),
          middle: last(chart.indicators.bollinger_middle),
          lower: last(chart.indicators.bollinger_lower),
        }).toEqual({
          ema_20: indicators.ema_20,
          ema_50: indicators.ema_50,
          ema_200: indicators.ema_200,
          rsi_14: indicators.rsi_14,
          vwap_20: indicators.vwap_20,
          upper: bollinger.upper,
          middle: bollinger.middle,
          lower: bollinger.lower,
        })
        expect(
          Object.keys(indicators).filter((name) => indicators[name as 'ema_20'] === null),
        ).toEqual(withheld)
        for (const batch of session.run(5 * MINUTE_MS)) processor.process(batch)
      }
      expect(session.nowMs, 'an hour closed in it').toBeGreaterThan(BOUNDARY_MS + HOUR_MS)
    },
  )

  test('has the closed bars of the history before the forming one', () => {
    const { bars } = chartOf(deep)
    const shown = [...hours.slice(-CHART_BARS)]
    expect(bars.time_ms.slice(0, -1)).toEqual(shown.map(({ openTimeMs }) => openTimeMs))
    for (const name of ['open', 'high', 'low', 'close'] as const)
      expect(bars[name].slice(0, -1)).toEqual(shown.map((bar) => bar[name]))
    expect(bars.volume.slice(0, -1)).toEqual(shown.map(({ volumeBase }) => volumeBase))
    expect(bars.time_ms.at(-1)).toBe(BOUNDARY_MS)
  })

  test.each([
    { market: 'a moving market', tape: deep },
    { market: 'a market without a single trade', tape: warmTape('BTC', flat) },
    { market: 'a coin of two hours', tape: young(2) },
    { market: 'a coin that has just been listed', tape: young(0) },
  ])(
    'on $market satisfies its schema, with columns of one length and ascending hours',
    ({ tape }) => {
      const chart = chartOf(tape)
      expect([...Compile(ChartAnswer).Errors(chart)]).toEqual([])
      const { time_ms } = chart.bars
      const columns = [
        ...Object.values(chart.bars),
        ...Object.values(chart.indicators),
        chart.open_interest,
      ]
      expect(new Set(columns.map(({ length }) => length))).toEqual(new Set([time_ms.length]))
      expect(time_ms.slice(1).map((timeMs, at) => timeMs - (time_ms[at] ?? 0))).toEqual(
        time_ms.slice(1).map(() => HOUR_MS),
      )
      for (const [at, high] of chart.bars.high.entries()) {
        expect(high).toBeGreaterThanOrEqual(chart.bars.close[at] ?? Number.NaN)
        expect(chart.bars.low[at]).toBeLessThanOrEqual(chart.bars.close[at] ?? Number.NaN)
      }
    },
  )

  test('states its coverage: a coin with less history has a lower grade, one that is younger has not', () => {
    expect(chartOf(deep).meta).toMatchObject({
      warnings: [],
      quality: { grade: 'A', coverage_pct: 100 },
    })
    const short = [...warm.slice(0, 2), [history('BTC', '15m', quarters.slice(-400))]]
    expect(chartOf(short).meta).toMatchObject({
      warnings: ['short_history'],
      quality: { grade: 'C', coverage_pct: expect.closeTo((100 * 100) / CHART_BARS, 2) },
    })
    const whole = { ...deepHistory, bars: hours.slice(-100), fromMs: BOUNDARY_MS - 2_000 * HOUR_MS }
    expect(chartOf([...short, [whole]]).meta).toMatchObject({
      warnings: [],
      quality: { grade: 'A' },
    })
  })

  test('has open interest at the open of each bar, null where there is no reading', () => {
    const at = (hour: number, contracts: number) => ({
      coin: 'BTC',
      timeMs: BOUNDARY_MS - hour * HOUR_MS,
      markPrice: 110,
      oraclePrice: 110,
      openInterestBase: contracts,
      dayNotional: 5e6,
      fundingRateHourly: 0,
      premium: null,
      spreadBps: null,
      impactSpreadBps: null,
    })
    const samples = [at(500, 1), at(CHART_BARS, 2), at(3, 3), at(0, 4)]
    const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
    const { open_interest } = chartOf([
      ...deep,
      [{ kind: 'sample-history', coin: 'BTC', samples, ...stamp }],
    ])
    expect(open_interest).toHaveLength(CHART_BARS + 1)
    const known = open_interest.flatMap((contracts, index) =>
      contracts === null ? [] : [[index, contracts]],
    )
    expect(known).toEqual([
      [0, 2],
      [CHART_BARS - 3, 3],
      [CHART_BARS, 4],
    ])
  })

  test('a coin without candles has a reason and no answer', () => {
    const document = published(
      processorOf([[universe(['BTC'])], [context('BTC')]]),
      'chart',
      NOW_MS,
    )
    expect(document.views).toEqual({ '': { kind: 'missing-input', input: 'candles_1h' } })
  })

  test('the same events give the same bytes, however they were batched', () => {
    const tape = [...deep, ...new Session('BTC', NOW_MS, 3).run(3 * MINUTE_MS)]
    const single = tape.flat().map((event) => [event])
    const nowMs = NOW_MS + 3 * MINUTE_MS
    expect(published(processorOf(single), 'chart', nowMs)).toEqual(
      published(processorOf(tape), 'chart', nowMs),
    )
  })

  test('a restored engine shows the same chart', () => {
    const first = processorOf(deep)
    const restored = new Processor(documentKinds, '0.0.0')
    restored.restore(first.records.checkpoint(NOW_MS), NOW_MS)
    const session = new Session('BTC', NOW_MS, 3)
    for (const batch of session.run(70 * MINUTE_MS))
      for (const one of [first, restored]) one.process(batch)
    restored.process([history('BTC', '15m', quarters.slice(-4), BOUNDARY_MS - HOUR_MS)])
    const { nowMs } = session
    const bodyOf = (processor: Processor) => {
      const { meta: _, ...body } = answerOf(
        published(processor, 'chart', nowMs),
        '',
        nowMs,
      ) as Chart
      return body
    }
    expect(bodyOf(restored)).toEqual(bodyOf(first))
  })

  test('takes less than 30 kB for a coin with prices of five digits', () => {
    const rounded = (price: number) => Number(price.toPrecision(5))
    const bars = quarters.map((bar) => ({
      ...bar,
      open: rounded(bar.open),
      high: rounded(bar.high),
      low: rounded(bar.low),
      close: rounded(bar.close),
    }))
    const tape = [...warm.slice(0, 2), [history('BTC', '15m', bars)]]
    expect(published(processorOf(tape), 'chart', NOW_MS).bytes.length).toBeLessThan(30_000)
  })
})

/** A coin that was listed some hours before the boundary. */
function young(count: number): readonly Batch[] {
  const bars = quarters.slice(quarters.length - Math.max(1, 4 * count))
  return [...warm.slice(0, 2), [history('BTC', '15m', bars, BOUNDARY_MS - 20 * HOUR_MS)]]
}

function processorOf(tape: readonly Batch[]): Processor {
  const processor = new Processor(documentKinds, '0.0.0')
  for (const batch of tape) processor.process(batch)
  return processor
}

function chartOf(tape: readonly Batch[]): Chart {
  return answerOf(published(processorOf(tape), 'chart', NOW_MS), '', NOW_MS) as Chart
}

/** Both documents of one state of the market. */
function renderedNow(processor: Processor, nowMs: number) {
  const documents = new Map<string, Document>()
  for (let phase = 0; phase < PUBLISH_PHASES * 61; phase += 1)
    for (const document of processor.publish(nowMs)) documents.set(document.key, document)
  const of = (key: string, view: string) => {
    const document = documents.get(key)
    if (document === undefined) throw new Error(`${key} was not rendered`)
    return answerOf(document, view, nowMs)
  }
  return {
    pulse: of('pulse/BTC', '1h') as Static<typeof PulseAnswer>,
    chart: of('chart/BTC', '') as Chart,
  }
}

function published(processor: Processor, id: string, nowMs: number): Document {
  for (let phase = 0; phase < PUBLISH_PHASES * 61; phase += 1)
    for (const document of processor.publish(nowMs))
      if (document.key === `${id}/BTC`) return document
  throw new Error(`${id} was not rendered`)
}

function answerOf(document: Document, view: string, nowMs: number): unknown {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`no answer in view ${view}`)
  return JSON.parse(
    fillDocument(document, answer, { nowMs, executionMs: 0, coinsAvailable: 1 }).toString('utf8'),
  )
}

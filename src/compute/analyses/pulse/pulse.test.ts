import { describe, expect, test } from 'vitest'
import { naivePulse } from '../../../../test/golden/naive-pulse.ts'
import { naiveHours } from '../../../../test/golden/naive-volatility.ts'
import type { Bar } from '../../../domain/bar.ts'
import type { Document } from '../../../domain/document.ts'
import type { Batch } from '../../../domain/event.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import {
  BOUNDARY_MS,
  book,
  context,
  history,
  NOW_MS,
  universe,
  warmTape,
  wave,
} from '../../testing/tape.ts'
import { pulse } from './pulse.ts'

const HOUR = 3_600_000

describe('pulse', () => {
  test('annualises funding by the identity that its interval states', () => {
    const { derivatives } = read(warmTape('BTC'))
    const { funding_rate, funding_interval_hours, funding_annualized_pct } = derivatives
    expect(funding_rate).toBe(0.0000214)
    expect(funding_annualized_pct).toBeCloseTo(
      funding_rate * (24 / funding_interval_hours) * 365 * 100,
      4,
    )
  })

  test('open interest in USD is contracts at the mark price', () => {
    const { derivatives } = read([
      ...warmTape('BTC'),
      [context('BTC', { openInterestBase: 3.5, markPrice: 200 })],
    ])
    expect(derivatives.open_interest_contracts).toBe(3.5)
    expect(derivatives.open_interest).toBe(700)
  })

  test('spread is best ask against best bid over mid', () => {
    const { derivatives, price } = read([
      ...warmTape('BTC'),
      [book('BTC', { bids: [{ price: 99, sizeBase: 1 }], asks: [{ price: 101, sizeBase: 1 }] })],
    ])
    expect(derivatives.spread_bps).toBe(200)
    expect(price.current).toBe(100)
  })

  test("a one-sided book has no spread, and the price is the venue's mid", () => {
    const { derivatives, price } = read([...warmTape('BTC'), [book('BTC', { asks: [] })]])
    expect(derivatives.spread_bps).toBeNull()
    expect(price.current).toBe(110.05)
  })

  test('without any mid the price is the mark price, and says so', () => {
    const oneSided = [book('BTC', { asks: [] }), context('BTC', { midPrice: null, markPrice: 111 })]
    const warningsOf = (document: Document) => {
      const answer = document.views[pulse.contract.defaultView]
      return answer?.kind === 'answer' ? answer.warnings : null
    }
    expect(read([...warmTape('BTC'), oneSided]).price.current).toBe(111)
    expect(warningsOf(render([...warmTape('BTC'), oneSided]))).toContain('thin_book')
    expect(warningsOf(render(warmTape('BTC')))).not.toContain('thin_book')
  })

  test('impact prices that the venue does not give are null', () => {
    const { derivatives } = read([
      ...warmTape('BTC'),
      [context('BTC', { impactBid: null, impactAsk: null })],
    ])
    expect(derivatives.impact_bid).toBeNull()
    expect(derivatives.impact_ask).toBeNull()
  })

  test('warns if the price lies outside the impact prices', () => {
    const level = (price: number) => [{ price, sizeBase: 1 }]
    const quoted = (bid: number, ask: number) =>
      render([...warmTape('BTC'), [book('BTC', { bids: level(bid), asks: level(ask) })]])
    const isSkewed = (document: Document) => {
      const answer = document.views[pulse.contract.defaultView]
      return answer?.kind === 'answer' ? answer.warnings.includes('leg_skew') : null
    }
    // The figures have impact prices of 109.9 and 110.2.
    expect(isSkewed(quoted(109.95, 110.15))).toBe(false)
    expect(isSkewed(quoted(109.2, 110.7))).toBe(false)
    expect(isSkewed(quoted(109.8, 109.9))).toBe(true)
  })

  test('names the first timeframe that has too few candles, with have and need', () => {
    const { views } = render(youngTape)
    expect(views['15m']?.kind, '600 quarters are enough for 15m').toBe('answer')
    expect(views['1h']).toEqual({
      kind: 'insufficient-candles',
      timeframe: '1h',
      have: 150,
      need: 200,
    })
    expect(views['15m,1h,4h']).toMatchObject({ timeframe: '1h' })
  })

  test('a timeframe of which older candles may exist is warming up below the bars that settle it', () => {
    const tape = [[universe(['NEW'])], [context('NEW')], [history('NEW', '15m', wave('15m', 324))]]
    expect(render(tape).views['15m']).toMatchObject({ kind: 'low-coverage', have: 324, need: 325 })
  })

  test('withholds EMA 200 while its seed is still in it, and lists it with the bars that it needs', () => {
    const document = render(warmTape('BTC'))
    const { '1h': hour, '4h': four } = read(warmTape('BTC')).timeframes
    expect(hour).toMatchObject({
      bars: 337,
      bars_is_whole_history: false,
      insufficient_bars: [{ field: 'ema_200', have: 337, need: 1_122 }],
      indicators: { ema_200: null, trend: { direction: expect.any(Number), ema_stack: null } },
    })
    expect(four).toMatchObject({
      bars: 1_201,
      insufficient_bars: [],
      indicators: { ema_200: expect.any(Number), trend: { ema_stack: expect.any(String) } },
    })
    expect(document.views['4h'], 'of ten indicators of one timeframe, all').toMatchObject({
      coveragePct: 100,
      warnings: [],
    })
    expect(document.views['1h,4h'], 'of twenty, one is withheld').toMatchObject({
      coveragePct: 95,
      warnings: ['short_history'],
    })
  })

  test('a coin that is younger has its EMA 200 from all of its candles', () => {
    const bars = wave('15m', 600)
    const { views } = render(youngTape)
    expect(views['15m']).toMatchObject({ coveragePct: 100, warnings: [] })
    const quarter = read(youngTape, '15m').timeframes['15m']
    expect(quarter).toMatchObject({ bars: 601, bars_is_whole_history: true, insufficient_bars: [] })
    const closes = [...bars, ...bars.slice(-1)].map(({ close }) => close)
    const seed = closes.slice(0, 200).reduce((sum, close) => sum + close, 0) / 200
    const ema = closes.slice(200).reduce((mean, close) => mean + (2 / 201) * (close - mean), seed)
    expect((quarter.indicators.ema_200 ?? Number.NaN) / ema).toBeCloseTo(1, 6)
  })

  test('older candles of 1h that arrive settle its EMA 200', () => {
    const quarters = wave('15m', 6_000)
    const hours = naiveHours(quarters)
    const recent = quarters.slice(-1_344)
    const tape = warmTape('BTC', (timeframe, count) =>
      timeframe === '15m' ? recent : wave(timeframe, count),
    )
    const older: Batch = [
      {
        ...{ kind: 'hourly-history', coin: 'BTC', bars: hours, fromMs: BOUNDARY_MS - 1_500 * HOUR },
        ...{ timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS },
      },
    ]
    const { '1h': hour } = read([...tape, older]).timeframes
    expect(hour).toMatchObject({ bars: 1_501, bars_is_whole_history: false, insufficient_bars: [] })
    const { ema200 } = naivePulse([...hours, forming(hours)]).at(-1) ?? {}
    expect((hour.indicators.ema_200 ?? Number.NaN) / (ema200 ?? Number.NaN)).toBeCloseTo(1, 6)
  })

  test('the forming bar moves the answer, and its close is what counts', () => {
    const quarter = {
      ...(wave('15m', 1).at(0) as ReturnType<typeof wave>[number]),
      openTimeMs: BOUNDARY_MS,
    }
    const at = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
    const candle = (close: number): Batch => [
      {
        kind: 'candle',
        coin: 'BTC',
        timeframe: '15m',
        bar: {
          ...quarter,
          close,
          high: Math.max(quarter.high, close),
          low: Math.min(quarter.low, close),
        },
        ...at,
      },
    ]
    const rsi = (close: number) =>
      read([...warmTape('BTC'), candle(close)]).timeframes['1h'].indicators.rsi_14
    expect(rsi(150)).toBeGreaterThan(rsi(110))
    expect(rsi(80)).toBeLessThan(rsi(110))
  })

  test('candles keep their age while the feed is down', () => {
    const later = NOW_MS + 60_000
    const stamp = { timeExchangeMs: later, timeReceivedMs: later }
    const { views } = render([
      ...warmTape('BTC'),
      [
        {
          kind: 'feed-status',
          feed: 'venue',
          state: 'down',
          reason: 'closed',
          coins: ['BTC'],
          ...stamp,
        },
      ],
      [context('BTC', stamp)],
    ])
    const answer = views['1h,4h']
    if (answer?.kind !== 'answer') throw new Error('the default view answers')
    const confirmed = new Map(answer.inputs.map((input) => [input.name, input.confirmedAtMs]))
    expect(confirmed.get('candles_1h'), 'nothing vouches for the candles').toBe(NOW_MS)
    expect(confirmed.get('funding')).toBe(later)
  })
})

function render(tape: readonly Batch[]): Document {
  const processor = new Processor({ coin: [pulse], market: [] }, '0.0.0')
  for (const batch of tape) processor.process(batch)
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(NOW_MS)) return document
  throw new Error('nothing was rendered')
}

/** Six days of quarters, and no candle before them. */
const youngTape: readonly Batch[] = [
  [universe(['NEW'])],
  [context('NEW')],
  [history('NEW', '15m', wave('15m', 600), 0), history('NEW', '4h', [], 0)],
  [
    {
      ...{ kind: 'hourly-history', coin: 'NEW', bars: naiveHours(wave('15m', 600)), fromMs: 0 },
      ...{ timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS },
    },
  ],
]

function forming(bars: readonly Bar[]): Bar {
  const { close = Number.NaN } = bars.at(-1) ?? {}
  return { openTimeMs: BOUNDARY_MS, open: close, high: close, low: close, close, volumeBase: 0 }
}

type Body = {
  price: { current: number }
  timeframes: Record<
    '15m' | '1h' | '4h',
    { indicators: { rsi_14: number; ema_200: number | null } }
  >
  derivatives: Record<
    | 'funding_rate'
    | 'funding_interval_hours'
    | 'funding_annualized_pct'
    | 'open_interest'
    | 'open_interest_contracts',
    number
  > &
    Record<'spread_bps' | 'impact_bid' | 'impact_ask', number | null>
}

/** Slots that a gateway fills are read as zero. */
function read(tape: readonly Batch[], view = pulse.contract.defaultView): Body {
  const document = render(tape)
  const answer = document.views[view]
  if (answer?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(answer)}`)
  const text = answer.parts
    .map((index) => {
      const part = document.parts[index]
      if (part?.kind === 'text')
        return new TextDecoder().decode(document.bytes.subarray(part.start, part.end))
      if (part?.kind === 'requested-coin') return ''
      return part?.kind === 'freshness' ? '"data_age_seconds":0' : '0'
    })
    .join('')
  return JSON.parse(text) as Body
}

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { Batch } from '../../../domain/event.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { randomMarket } from '../../testing/random-market.ts'
import { BOUNDARY_MS, context, flat, NOW_MS, warmTape } from '../../testing/tape.ts'
import { pulse } from './pulse.ts'
import { timeframeSubsets } from './timeframes-parameter.ts'

/** What the documentation of the service says; nothing here is imported from it. */
const signs: Readonly<Record<string, number>> = { bullish: 1, neutral: 0, bearish: -1 }
const familyOf: Readonly<Record<string, string>> = {
  rsi: 'trend_following',
  trend: 'trend_following',
  vwap: 'trend_following',
  bollinger: 'mean_reversion',
  zscore: 'mean_reversion',
  funding: 'contrarian',
  oi: 'flow',
}
const timeframeWeights: Readonly<Record<string, number>> = { '15m': 1, '1h': 2, '4h': 3 }

const views = timeframeSubsets.map((subset) => subset.join(','))
const HALF_UNIT = 0.000_501

describe('what an agent can check of a pulse', () => {
  property.prop([fc.integer()], { numRuns: 25 })(
    'bias, score, counts and net follow from the answer for any timeframes',
    (seed) => {
      const { answer } = published(randomMarket(['BTC'], seed))
      for (const view of views) {
        const { confluence } = answer(view)
        const { signals, weights } = confluence
        expect(Object.keys(weights), view).toEqual(Object.keys(signals))
        const net = netOf(signals, weights)
        expect(Math.abs(confluence.net - net), view).toBeLessThan(HALF_UNIT)
        expect(Math.abs(confluence.score - Math.abs(net)), view).toBeLessThan(HALF_UNIT)
        expect(confluence.bias, view).toBe(biasOf(net))
        const labels = Object.values(signals)
        expect(confluence.bullish_count).toBe(labels.filter((label) => label === 'bullish').length)
        expect(confluence.bearish_count).toBe(labels.filter((label) => label === 'bearish').length)
        const share = labels.reduce((sum, label) => sum + (1 + (signs[label] ?? 0)) / 2, 0)
        expect(Math.abs(confluence.vote_share - share / labels.length)).toBeLessThan(HALF_UNIT)
        for (const [family, shown] of Object.entries(confluence.families)) {
          const members = Object.entries(signals).filter(([name]) => familyOf[name] === family)
          if (members.length === 0) expect(shown).toBeNull()
          else {
            const own = netOf(Object.fromEntries(members), weights)
            expect(Math.abs((shown ?? Number.NaN) - own)).toBeLessThan(HALF_UNIT)
          }
        }
        const biases = Object.values(confluence.per_timeframe).map(({ bias }) => bias)
        expect(confluence.aligned).toBe(new Set(biases).size === 1)
        expect(confluence.calibration).toBeNull()
        expect(confluence.validated).toBe(false)
      }
    },
  )

  property.prop([fc.integer()], { numRuns: 25 })(
    'the signals of rsi and trend follow from the indicators that are shown',
    (seed) => {
      const { answer } = published(randomMarket(['BTC'], seed))
      for (const view of views) {
        const { timeframes, confluence } = answer(view)
        const rsi = joined(timeframes, ({ rsi_zone }) => signs[rsi_zone] ?? 0)
        const trend = joined(timeframes, ({ trend: { direction } }) => direction)
        expect(confluence.signals, view).toMatchObject({ rsi, trend })
      }
    },
  )

  test('every signal is there when everything is known', () => {
    const { answer } = published(randomMarket(['BTC'], 1))
    expect(Object.keys(answer('1h,4h').confluence.signals)).toEqual([
      'rsi',
      'trend',
      'bollinger',
      'zscore',
      'vwap',
      'funding',
      'oi',
    ])
  })

  test.each([
    { ageMs: 300_000, signals: ['funding', 'oi'] },
    { ageMs: 300_001, signals: [] },
  ])('figures of the derivative that are $ageMs ms old vote as $signals', ({ ageMs, signals }) => {
    const { answer } = published(randomMarket(['BTC'], 1), NOW_MS + ageMs)
    const shown = Object.keys(answer('1h').confluence.signals)
    expect(shown.filter((name) => name === 'funding' || name === 'oi')).toEqual(signals)
  })

  test('without a past funding and open interest do not vote', () => {
    const { answer } = published(warmTape('BTC').map((batch) => batch.filter(isNoPast)))
    const { signals, families } = answer('1h').confluence
    expect(signals).not.toHaveProperty('funding')
    expect(signals).not.toHaveProperty('oi')
    expect(families).toMatchObject({ contrarian: null, flow: null })
  })

  test('a past that arrives after a restart, before any figures, votes', () => {
    const tape = randomMarket(['BTC'], 1)
    const past = tape.map((batch) => batch.filter((event) => !isNoPast(event)))
    const { answer } = published(
      tape.map((batch) => batch.filter(isNoPast)),
      NOW_MS,
      past,
    )
    expect(answer('1h').confluence.signals).toMatchObject({
      funding: expect.any(String),
      oi: expect.any(String),
    })
  })

  test('figures that expire while nothing arrives do not vote any more after a minute', () => {
    const processor = new Processor({ coin: [pulse], market: [] }, '0.1.0')
    for (const batch of randomMarket(['BTC'], 1)) processor.process(batch)
    const laterMs = NOW_MS + 300_001
    const [first, ...later] = Array.from({ length: 61 }, (_, round) =>
      publishedBy(processor, round === 0 ? NOW_MS : laterMs),
    )
    const again = later.filter((document) => document !== undefined)
    expect(again, 'once a minute').toHaveLength(1)
    const signalsOf = (document: Document | undefined, nowMs: number) =>
      Object.keys(readable(document, nowMs).answer('1h').confluence.signals)
    expect(signalsOf(first, NOW_MS)).toEqual(expect.arrayContaining(['funding', 'oi']))
    expect(signalsOf(again[0], laterMs)).toEqual(['rsi', 'trend', 'bollinger', 'zscore', 'vwap'])
  })

  test('a market without a single trade leaves vwap out, and all else is neutral', () => {
    const { answer } = published(warmTape('BTC', flat))
    const { signals, bias, net } = answer('15m,1h,4h').confluence
    expect(signals).not.toHaveProperty('vwap')
    expect(new Set(Object.values(signals))).toEqual(new Set(['neutral']))
    expect({ bias, net }).toEqual({ bias: 'neutral', net: 0 })
  })

  test('before any evaluation the regime is unknown as of now', () => {
    const { answer } = published(warmTape('BTC'))
    expect(answer('1h').regime).toEqual({
      current: 'UNKNOWN',
      as_of: Math.floor(NOW_MS / 1000),
      score: null,
      previous: null,
      since: null,
      drivers: [],
      rule_version: '2',
    })
  })

  test('the regime shows by which figures it was found', () => {
    const laterMs = BOUNDARY_MS + 300_000
    const heard = context('BTC', { timeExchangeMs: laterMs, timeReceivedMs: laterMs })
    const { answer } = published(warmTape('BTC'), NOW_MS, [[heard]], laterMs)
    const { regime } = answer('1h')
    expect(regime).toMatchObject({
      current: 'NEUTRAL',
      as_of: laterMs / 1000,
      since: laterMs / 1000,
    })
    const sum = regime.drivers.reduce((total, { contribution }) => total + contribution, 0)
    expect(Number(sum.toFixed(3))).toBe(regime.score)
    expect(
      regime.drivers.map(({ name, value, contribution }) => [name, contribution / value]),
    ).toEqual([
      ['btc_trend_4h', expect.closeTo(0.4, 2)],
      ['breadth', expect.closeTo(0.3, 2)],
      ['momentum_7d', expect.closeTo(0.15, 1)],
      ['btc_volatility', expect.closeTo(0.15, 1)],
    ])
  })

  test('the default answer stays within the token budget', () => {
    const laterMs = BOUNDARY_MS + 300_000
    const heard = context('BTC', { timeExchangeMs: laterMs, timeReceivedMs: laterMs })
    const { text } = published(randomMarket(['BTC'], 3), NOW_MS, [[heard]], laterMs)
    expect(encode(text('1h,4h')).length).toBeLessThan(1_100)
  })
})

function netOf(
  signals: Readonly<Record<string, string>>,
  weights: Readonly<Record<string, number>>,
): number {
  let [sum, total] = [0, 0]
  for (const [name, label] of Object.entries(signals)) {
    sum += (weights[name] ?? Number.NaN) * (signs[label] ?? Number.NaN)
    total += weights[name] ?? Number.NaN
  }
  return sum / total
}

function biasOf(net: number): string {
  if (net >= 0.25) return 'bullish'
  return net <= -0.25 ? 'bearish' : 'neutral'
}

/** Rule 2: the weighted mean over the timeframes, labelled at half. */
function joined(
  timeframes: Body['timeframes'],
  voteOf: (indicators: Body['timeframes'][string]['indicators']) => number,
): string {
  let [sum, total] = [0, 0]
  for (const [timeframe, { indicators }] of Object.entries(timeframes)) {
    const weight = timeframeWeights[timeframe] ?? Number.NaN
    sum += weight * voteOf(indicators)
    total += weight
  }
  if (sum / total >= 0.5) return 'bullish'
  return sum / total <= -0.5 ? 'bearish' : 'neutral'
}

function isNoPast({ kind }: Batch[number]): boolean {
  return kind !== 'funding-history' && kind !== 'sample-history'
}

/** What was published last: after the tape, and then once more after what came later. */
function published(
  tape: readonly Batch[],
  nowMs = NOW_MS,
  later: readonly Batch[] = [],
  laterMs = nowMs,
) {
  const processor = new Processor({ coin: [pulse], market: [] }, '0.1.0')
  for (const batch of tape) processor.process(batch)
  let document = publishedBy(processor, nowMs)
  for (const batch of later) processor.process(batch)
  if (later.length > 0) document = publishedBy(processor, laterMs)
  return readable(document, laterMs)
}

/** The views of a document, as they are sent. */
function readable(document: Document | undefined, nowMs: number) {
  if (document === undefined) throw new Error('nothing was published')
  const text = (view: string): string => {
    const answer = document.views[view]
    if (answer?.kind !== 'answer') throw new Error(`no answer in ${view}`)
    const facts = { nowMs, executionMs: 0.123, coinsAvailable: 190 }
    return fillDocument(document, answer, facts).toString('utf8')
  }
  return { text, answer: (view: string) => JSON.parse(text(view)) as Body }
}

function publishedBy(processor: Processor, nowMs: number) {
  const documents = Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(nowMs)])
  return documents.flat().at(-1)
}

type Body = {
  readonly timeframes: Readonly<
    Record<string, { readonly indicators: { rsi_zone: string; trend: { direction: number } } }>
  >
  readonly regime: {
    readonly current: string
    readonly score: number | null
    readonly drivers: readonly { name: string; value: number; contribution: number }[]
  }
  readonly confluence: {
    readonly score: number
    readonly bias: string
    readonly signals: Readonly<Record<string, string>>
    readonly weights: Readonly<Record<string, number>>
    readonly bullish_count: number
    readonly bearish_count: number
    readonly net: number
    readonly vote_share: number
    readonly families: Readonly<Record<string, number | null>>
    readonly per_timeframe: Readonly<Record<string, { net: number; bias: string }>>
    readonly aligned: boolean
    readonly calibration: null
    readonly validated: boolean
  }
}

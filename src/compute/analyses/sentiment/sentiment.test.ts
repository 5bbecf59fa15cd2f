import { fc, test as property } from '@fast-check/vitest'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { naiveCoins, naiveSentiment } from '../../../../test/golden/naive-sentiment.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { MarketEvent, TradeEvent } from '../../../domain/event.ts'
import type { FearGreedEvent } from '../../../domain/external.ts'
import { coinBucketOf } from '../../../domain/sectors.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { MarketState } from '../../market/market-state.ts'
import { newMarket } from '../../testing/new-market.ts'
import { randomMarket } from '../../testing/random-market.ts'
import { context, NOW_MS, universe } from '../../testing/tape.ts'
import { bucketParameter } from './bucket-parameter.ts'
import { coinSentiment } from './coin-sentiment.ts'
import { sentiment } from './sentiment.ts'
import { SentimentHours } from './sentiment-hours.ts'
import { momentumOf } from './sentiment-labels.ts'
import { SENTIMENT_SERIES, sentimentMeasure } from './sentiment-measure.ts'

const HOUR_MS = 3_600_000
const COINS = 'BTC ETH SOL HYPE XRP DOGE kPEPE kBONK SUI LINK AVAX ARB ZEC'.split(' ')
const at = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }

describe('sentiment', () => {
  test.each(Array.from({ length: 8 }, (_, seed) => ({ seed })))(
    'is what a second implementation finds in random market $seed',
    ({ seed }) => {
      const events = [
        ...randomMarket(COINS, seed).flat().map(pricedNearOracle),
        ...trades(seed),
        index(seed * 12, 6 * seed),
      ]
      const body = bodyOf(events)
      const found = naiveSentiment(naiveCoins(events), { value: seed * 12, ageHours: 6 * seed })
      expect(body.score).toBeCloseTo(found.score / 100, 3)
      expect(body.dispersion).toBeCloseTo(Math.min(1, found.deviation / 50), 3)
      expect(body.conflicted).toBe(body.dispersion > 0.5)
      for (const { name, score } of body.components) {
        const expected = found.scores[name]
        if (expected === undefined) expect(score, name).toBeNull()
        else expect(score, name).toBeCloseTo(expected / 50 - 1, 3)
      }
      const weights = body.components.reduce((sum, { weight }) => sum + weight, 0)
      expect(weights, 'the weight that is live').toBeCloseTo(found.liveShare, 2)
      const confidence = weights * (1 - body.dispersion)
      expect(Math.abs(body.confidence - confidence)).toBeLessThan(0.5e-3 * (1 + 1e-6))
      const mean =
        body.components.reduce((sum, one) => sum + one.weight * (one.score ?? 0), 0) / weights
      expect(body.score, 'found by a reader, from what is printed').toBeCloseTo((mean + 1) / 2, 2)
      for (const sector of body.sectors) {
        const members = naiveCoins(events).filter(
          ({ coin }) => coinBucketOf(coin) === sector.sector,
        )
        expect(sector.coins).toBe(members.length)
        const sentiment = naiveSentiment(members, undefined).score
        if (members.length < 2 || Number.isNaN(sentiment)) expect(sector.score).toBeNull()
        else expect(sector.score, sector.sector).toBeCloseTo(sentiment / 100, 3)
      }
      expect(body.coins_scored).toBe(COINS.length)
      expect(Object.values(body.distribution).reduce((sum, count) => sum + count, 0)).toBe(
        COINS.length,
      )
    },
  )

  test('the funding label is that of the main dex', () => {
    const events = randomMarket(['BTC', 'ETH', 'xyz:TSLA'], 1)
      .flat()
      .map((event) =>
        event.kind === 'context'
          ? { ...event, fundingRateHourly: event.coin === 'xyz:TSLA' ? 0.01 : 0.0000125 }
          : event,
      )
      .filter(({ kind }) => kind !== 'funding-history')
    expect(bodyOf(events).labels['funding_bias']).toBe('NEUTRAL')
  })

  test('a rate that eight hours share ranks among its equals', () => {
    const equal = randomMarket(COINS, 1)
      .flat()
      .map((event) =>
        event.kind === 'funding-history'
          ? { ...event, rows: event.rows.map((row) => ({ ...row, rateHourly: 0.0000125 })) }
          : event,
      )
    const market = marketAfter(equal)
    const coin = market.coin('BTC') ?? expect.fail('BTC is listed')
    const { fundingPercentile } = coinSentiment(coin, market, new SentimentHours(), NOW_MS)
    expect(fundingPercentile).toBe(50)
  })

  test.each([
    [0.0200004, 'neutral'],
    [0.0200006, 'bullish'],
    [-0.0200006, 'bearish'],
  ])('a 7-day return of %d has the momentum %s', (return7d, momentum) => {
    expect(momentumOf(return7d)).toBe(momentum)
  })

  test('shows sector scores, and on request all figures of all sectors or of one', () => {
    const document = documentIn(marketAfter(randomMarket(COINS, 1).flat()))
    const [scores, all, memes] = ['scores', 'all', 'Meme'].map(
      (view) => JSON.parse(filled(document, view)).sentiment,
    )
    expect(scores).not.toHaveProperty('sectors')
    const { sectors, ...others } = all
    expect(others).toEqual(scores)
    expect(
      Object.fromEntries(
        sectors.map((one: { sector: string; score: number }) => [one.sector, one.score]),
      ),
    ).toEqual(scores.sector_scores)
    expect(memes.sectors).toEqual(
      sectors.filter((one: { sector: string }) => one.sector === 'Meme'),
    )
  })

  test.each([
    ['ALL', 'all'],
    ['l1', 'L1'],
    [' meme ', 'Meme'],
    ['defi', 'DeFi'],
    ['nothing', undefined],
    ['', undefined],
  ])('understands bucket=%j as %s', (raw, view) => {
    expect(bucketParameter.valueOf(raw, [])).toBe(view)
  })

  test('a coin alone in its sector has no score there, and both its return and its name elsewhere', () => {
    const sectors = bodyOf(randomMarket(COINS, 1).flat()).sectors
    const alone = sectors.find(({ sector }) => sector === 'L2')
    expect(alone).toMatchObject({ coins: 1, score: null, bucket: null, leaders: [], laggards: [] })
    const memes = sectors.find(({ sector }) => sector === 'Meme')
    expect(memes?.coins).toBe(3)
    expect(memes?.score).not.toBeNull()
    expect(sectors.reduce((sum, { coins }) => sum + coins, 0)).toBe(COINS.length)
  })

  test.each([
    [25, 'EXTREME_FEAR'],
    [26, 'FEAR'],
    [46, 'FEAR'],
    [47, 'NEUTRAL'],
    [54, 'NEUTRAL'],
    [55, 'GREED'],
    [75, 'GREED'],
    [76, 'EXTREME_GREED'],
  ])('shows an index of %d as %s, in its own classes, and says whose it is', (value, label) => {
    const { external_index } = bodyOf([...randomMarket(COINS, 2).flat(), index(value, 1)])
    expect(external_index).toMatchObject({ value, label, attribution: 'Source: alternative.me' })
  })

  test('an index that is too old is shown with its age and has weight 0', () => {
    const { external_index, components } = bodyOf([...randomMarket(COINS, 2).flat(), index(80, 40)])
    expect(external_index?.as_of).toBe(new Date(NOW_MS - 40 * HOUR_MS).toISOString())
    expect(components.at(-1)).toMatchObject({ status: 'missing', score: null, weight: 0 })
  })

  test('compares with its own value of a day before, where there is one', () => {
    const market = marketAfter(randomMarket(COINS, 3).flat())
    expect(bodyIn(market).change_24h).toBeNull()
    const rows = [{ timeMs: NOW_MS - 24 * HOUR_MS - 5_000, value: 30 }]
    market.apply({ kind: 'measure-history', series: SENTIMENT_SERIES, rows, ...at })
    const { change_24h, score, history_3h } = bodyIn(market)
    expect(change_24h).toBeCloseTo(score - 0.3, 3)
    expect(history_3h).toEqual([...new Array(7).fill(null), score])
  })

  test('keeps a value a minute, of itself and of the premium', () => {
    const market = marketAfter(randomMarket(COINS, 3).flat())
    advanceTo(market, NOW_MS)
    advanceTo(market, NOW_MS + 120_000)
    const series = market.log.take().minutes.map((minute) => minute.series)
    expect(series).toEqual(expect.arrayContaining([SENTIMENT_SERIES, 'sentiment/premium']))
  })

  test('ranks the premium in its own past once a day of it is known', () => {
    const market = marketAfter(randomMarket(COINS, 3).flat())
    const premiumOf = () => bodyIn(market).components[1]?.score ?? Number.NaN
    expect(premiumOf(), 'far above its anchors').toBe(1)
    const rows = Array.from({ length: 1_440 }, (_, ago) => ({
      timeMs: NOW_MS - (ago + 1) * 60_000,
      value: 60,
    }))
    market.apply({ kind: 'measure-history', series: 'sentiment/premium', rows, ...at })
    advanceTo(market, NOW_MS + 10_000)
    expect(premiumOf(), 'and below all of its past').toBeCloseTo(0, 2)
  })

  test('is measured every ten seconds, not more often', () => {
    const market = marketAfter(randomMarket(COINS, 4).flat())
    const before = bodyIn(market).components[1]?.raw
    for (const coin of COINS)
      market.apply(context(coin, { markPrice: 110, oraclePrice: 110, timeReceivedMs: NOW_MS + 1 }))
    advanceTo(market, NOW_MS + 1_000)
    expect(bodyIn(market).components[1]?.raw).toBe(before)
    advanceTo(market, NOW_MS + 10_000)
    expect(bodyIn(market).components[1]?.raw).toBe(0)
  })

  test('says that it lacks trades of some coin, where it says what takers did', () => {
    const tape = [...randomMarket(COINS, 2).flat(), ...trades(2)]
    const lost = {
      kind: 'trade-gap',
      coin: 'SOL',
      fromMs: NOW_MS - 5_000,
      toMs: NOW_MS,
      ...at,
    } as const
    const warningsOf = (events: readonly MarketEvent[]) => {
      const view = documentIn(marketAfter(events)).views['scores']
      return view?.kind === 'answer' ? view.warnings : view
    }
    expect(warningsOf([...tape, index(50, 1)])).toEqual([])
    expect(warningsOf([...tape, index(50, 1), lost])).toEqual(['partial_data'])
  })

  test.each([
    { seconds: 60, warnings: [], status: 'live' },
    { seconds: 61, warnings: ['partial_data'], status: 'live' },
    { seconds: 301, warnings: ['partial_data'], status: 'missing' },
  ])('after $seconds s with figures only, the taker flow is $status', (given) => {
    const market = marketAfter([...randomMarket(COINS, 2).flat(), ...trades(2), index(50, 1)])
    const laterMs = NOW_MS + 1_000 * given.seconds
    const times = { timeExchangeMs: laterMs, timeReceivedMs: laterMs }
    for (const coin of COINS) market.apply(context(coin, times))
    advanceTo(market, laterMs)
    const document = documentIn(market, laterMs)
    expect(document.views['scores']).toMatchObject({ warnings: given.warnings })
    const { components } = JSON.parse(filled(document, 'scores', laterMs)).sentiment
    expect(components[5]).toMatchObject({ name: 'taker_flow', status: given.status })
    const confirmed = new Date(NOW_MS).toISOString()
    expect(components[5].as_of).toBe(given.status === 'live' ? confirmed : null)
  })

  test('a listed coin that has figures alone makes the taker flow no less complete', () => {
    const [listed, ...rest] = randomMarket([...COINS, 'XRP'], 2)
    const followed = rest.flat().filter((event) => !('coin' in event) || event.coin !== 'XRP')
    const tape = [...(listed ?? []), ...followed, context('XRP'), ...trades(2), index(50, 1)]
    const view = documentIn(marketAfter(tape)).views['scores']
    expect(view).toMatchObject({ kind: 'answer', warnings: [] })
  })

  test('the open interest of a sector without fresh data is null', () => {
    const market = marketAfter([...randomMarket(COINS, 1).flat(), index(50, 1)])
    const laterMs = NOW_MS + 300_001
    for (const coin of COINS.filter((one) => coinBucketOf(one) !== 'Meme'))
      market.apply(context(coin, { timeExchangeMs: laterMs, timeReceivedMs: laterMs }))
    advanceTo(market, laterMs)
    const document = documentIn(market, laterMs)
    const { sectors } = JSON.parse(filled(document, 'Meme', laterMs)).sentiment
    expect(sectors).toMatchObject([{ sector: 'Meme', oi_usd: null }])
  })

  test('reads ten coins at a time, but all of them the first time', () => {
    const market = newMarket(new PulsePool(3 * COINS.length))
    for (const event of randomMarket(COINS, 4).flat()) market.apply(event)
    market.advance(NOW_MS)
    const measuredAtMs = () => market.of(sentimentMeasure).sentiment?.measuredAtMs
    expect(measuredAtMs()).toBe(NOW_MS)
    market.advance(NOW_MS + 10_000)
    expect(measuredAtMs(), 'two of twelve are not read yet').toBe(NOW_MS)
    market.advance(NOW_MS + 10_040)
    expect(measuredAtMs()).toBe(NOW_MS + 10_040)
    market.advance(NOW_MS + 10_080)
    expect(measuredAtMs()).toBe(NOW_MS + 10_040)
  })

  test('a measurement that takes longer than ten seconds is finished', () => {
    const market = marketAfter(randomMarket(COINS, 4).flat())
    market.advance(NOW_MS + 10_000)
    market.advance(NOW_MS + 25_000)
    expect(market.of(sentimentMeasure).sentiment?.measuredAtMs).toBe(NOW_MS + 25_000)
  })

  test('coins without fresh data are left out, and too many of them give no answer', () => {
    const market = marketAfter(randomMarket(COINS, 5).flat())
    const laterMs = NOW_MS + 300_001
    for (const coin of COINS.slice(0, 6))
      market.apply(context(coin, { timeExchangeMs: laterMs, timeReceivedMs: laterMs }))
    advanceTo(market, laterMs)
    const document = documentIn(market, laterMs)
    expect(document.views['scores']).toMatchObject({ kind: 'low-coverage', have: 6, need: 7 })
  })

  test('sources with less than half of the weight give no answer', () => {
    const events = COINS.map((coin) => context(coin))
    const view = documentIn(marketAfter([universe(COINS), ...events])).views['scores']
    expect(view).toEqual({
      kind: 'low-coverage',
      missing: 'percent of the total weight of the sources',
      have: 35,
      need: 50,
    })
  })

  property.prop([fc.nat(1_000)], { numRuns: 8 })(
    'satisfies its schema in any market, with any missing data',
    (seed) => {
      const lacking = ['history', 'sample-history', 'funding-history'][seed % 3]
      const events = randomMarket(COINS.slice(0, 1 + (seed % 12)), seed)
        .flat()
        .filter(({ kind }) => kind !== lacking)
      const document = documentIn(marketAfter(events))
      if (document.views['scores']?.kind !== 'answer') return
      const schema = Compile(sentiment.contract.document)
      for (const view of Object.keys(document.views))
        expect([...schema.Errors(JSON.parse(filled(document, view)))], view).toEqual([])
    },
  )
})

type Body = {
  readonly score: number
  readonly confidence: number
  readonly dispersion: number
  readonly conflicted: boolean
  readonly change_24h: number | null
  readonly labels: Readonly<Record<string, string | null>>
  readonly components: readonly {
    readonly name: string
    readonly score: number | null
    readonly weight: number
    readonly raw: number | null
  }[]
  readonly sectors: readonly {
    readonly sector: string
    readonly coins: number
    readonly score: number | null
  }[]
  readonly distribution: Readonly<Record<string, number>>
  readonly coins_scored: number
  readonly history_3h: readonly (number | null)[]
  readonly sector_scores: Readonly<Record<string, number | null>>
  readonly external_index: { readonly as_of: string } | null
}

function bodyOf(events: readonly MarketEvent[]): Body {
  return bodyIn(marketAfter(events))
}

function bodyIn(market: MarketState): Body {
  return JSON.parse(filled(documentIn(market))).sentiment
}

function marketAfter(events: readonly MarketEvent[]): MarketState {
  const market = newMarket(new PulsePool(3 * COINS.length))
  for (const event of events) market.apply(event)
  advanceTo(market, NOW_MS)
  return market
}

/** Some coins are read at a time. */
function advanceTo(market: MarketState, nowMs: number): void {
  for (const _ of COINS) market.advance(nowMs)
}

function documentIn(market: MarketState, nowMs = NOW_MS): Document {
  const identity = { key: 'sentiment/*', version: 1, renderedAtMs: nowMs } as const
  const rendering = { ...identity, snapshotId: 'snp_test', engineVersion: '0' }
  return sentiment.render(sentiment.gather(market, nowMs), rendering)
}

function filled(document: Document, view = 'all', nowMs = NOW_MS): string {
  const answer = document.views[view]
  if (answer?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(answer)}`)
  const facts = { nowMs, executionMs: 0, coinsAvailable: COINS.length }
  return fillDocument(document, answer, facts).toString()
}

/** The premium of another market is beyond all measure. */
function pricedNearOracle(event: MarketEvent, at: number): MarketEvent {
  if (event.kind !== 'context') return event
  return { ...event, oraclePrice: event.markPrice * (1 + 0.002 * Math.sin(at)) }
}

/** Half a day of trades, some coins busier than others; of the even seeds alone. */
function trades(seed: number): TradeEvent[] {
  if (seed % 2 === 1) return []
  return COINS.flatMap((coin, index) =>
    Array.from({ length: 60 }, (_, trade): TradeEvent => {
      const timeMs = NOW_MS - 12 * HOUR_MS + trade * (600_000 + 10_000 * index)
      return {
        kind: 'trade',
        coin,
        tradeId: trade,
        takerSide: (trade * 7 + index * seed) % 3 === 0 ? 'buy' : 'sell',
        price: 1 + index,
        sizeBase: 1 + ((trade * 13 + seed) % 29),
        timeExchangeMs: Math.min(timeMs, NOW_MS),
        timeReceivedMs: timeMs,
      }
    }),
  )
}

function index(value: number, ageHours: number): FearGreedEvent {
  return {
    kind: 'fear-greed',
    value,
    timeExchangeMs: NOW_MS - ageHours * HOUR_MS,
    timeReceivedMs: NOW_MS,
  }
}

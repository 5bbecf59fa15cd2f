import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { Compile } from 'typebox/compile'
import { beforeAll, describe, expect, test } from 'vitest'
import type { FillFacts } from '../../../api/fill-document.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import { overdue } from '../../../api/freshness.ts'
import type { Answer, Document } from '../../../domain/document.ts'
import { viewOf } from '../../../domain/document.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import type { Rendering } from '../../analysis.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { MarketState } from '../../market/market-state.ts'
import { newMarket } from '../../testing/new-market.ts'
import { randomMarket } from '../../testing/random-market.ts'
import { context, NOW_MS } from '../../testing/tape.ts'
import { funding } from '../funding/funding.ts'
import { pulse } from '../pulse/pulse.ts'
import { sentiment } from '../sentiment/sentiment.ts'
import { spread } from '../spread/spread.ts'
import { bundleOf } from './bundle.ts'

const COINS = ['kPEPE', 'BTC', 'ETH', 'SOL', 'ARB']
const COIN = 'kPEPE'
const ALL_SECTORS =
  'kPEPE kSHIB BTC ETH SUI APT ARB OP AAVE UNI FET TAO LTC BCH LINK PYTH GALA SAND ZEC XMR ZZ ZZZ'.split(
    ' ',
  )
const bundle = bundleOf({ pulse, sentiment, funding, spread })
const rendering: Rendering = {
  key: `bundle/${COIN}`,
  version: 77,
  renderedAtMs: NOW_MS,
  snapshotId: 'snp_one',
  engineVersion: '0',
}

describe('a bundle', () => {
  let market: MarketState
  beforeAll(() => {
    market = marketAfter(randomMarket(COINS, 5).flat())
  })

  const singles = {
    pulse: () => pulse.render(coinOf(market), rendering, market),
    sentiment: () => sentiment.render(sentiment.gather(market, NOW_MS), rendering),
    funding: () => funding.render(coinOf(market), rendering, market),
    spread: () => spread.render(coinOf(market), rendering, market),
  }

  const defaultViews: Readonly<Record<string, string>> = {
    pulse: pulse.contract.defaultView,
    sentiment: sentiment.contract.defaultView,
    funding: funding.contract.defaultView,
  }

  describe.each([
    { when: 'at once', facts: { nowMs: NOW_MS } },
    { when: 'when inputs are late', facts: { nowMs: NOW_MS + 40_000, executionMs: 3.25 } },
    { when: 'when all is stale', facts: { nowMs: NOW_MS + 9 * 3_600_000, coinsAvailable: 7 } },
    {
      when: 'for who named the unscaled token',
      facts: { nowMs: NOW_MS, requested: { ticker: 'PEPE', unitMultiplier: 1_000 } },
    },
  ])('asked $when', ({ facts }) => {
    const all: FillFacts = { executionMs: 0, coinsAvailable: 3, ...facts }

    test.each(Object.entries(singles))('holds %s byte by byte as alone', (name, single) => {
      const alone = textOf(single(), defaultViews[name] ?? '', all)
      const whole = textOf(bundle.render(coinOf(market), rendering, market), '', all)
      expect(whole).toContain(`"${name}":${alone},"`)
      expect(JSON.stringify(JSON.parse(whole)[name])).toBe(alone)
    })

    test('satisfies its schema', () => {
      const text = textOf(bundle.render(coinOf(market), rendering, market), '', all)
      expect([...Compile(bundle.contract.document).Errors(JSON.parse(text))]).toEqual([])
    })
  })

  test('has one snapshot id and distinct answer ids', () => {
    const body = bodyIn(market)
    const metas = [body.meta, ...Object.keys(singles).map((name) => body[name].meta)]
    expect(new Set(metas.map(({ snapshot_id }) => snapshot_id))).toEqual(new Set(['snp_one']))
    expect(new Set(metas.map(({ answer_id }) => answer_id)).size).toBe(5)
  })

  test('has the price of its contract, with the discount', () => {
    expect(bodyIn(market).meta).toMatchObject({
      bundle: true,
      components: ['pulse', 'sentiment', 'funding', 'spread'],
      price_usdc: '0.05',
      list_price_usdc: '0.06',
      discount_pct: 16.67,
    })
    expect(bundle.contract.priceUsdcAtomic).toBe(50_000n)
  })

  test('is as old as the oldest load-bearing input of any component', () => {
    const body = bodyIn(market, NOW_MS + 12_345)
    const ages = Object.keys(singles).map((name) => body[name].meta.data_age_seconds)
    expect(body.meta.data_age_seconds).toBe(Math.max(...ages))
    expect(body.meta.quality.coverage_pct).toBe(
      Math.min(...Object.keys(singles).map((name) => body[name].meta.quality.coverage_pct)),
    )
  })

  test('shows the oldest load-bearing confirmation of every component', () => {
    const body = bodyIn(market, NOW_MS + 5_000)
    expect(Object.keys(body.meta.as_of)).toEqual(Object.keys(singles))
    for (const name of Object.keys(singles)) {
      const ageMs = NOW_MS + 5_000 - Date.parse(body.meta.as_of[name])
      expect(body[name].meta.data_age_seconds, name).toBe(ageMs / 1_000)
    }
  })

  test('stays below 4,750 tokens with all members, four track records among them', () => {
    const at = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
    const rows = Array.from({ length: 1_440 }, (_, ago) => ({
      timeMs: NOW_MS - ago * 60_000,
      value: 45.1234,
    }))
    const fundings = ['BinPerp', 'BybitPerp'].map((venue) => ({
      venue,
      rate: 0.00012345,
      intervalHours: 8,
      nextFundingMs: NOW_MS + 3_600_000,
    }))
    const rich = marketAfter([
      ...randomMarket(ALL_SECTORS, 5).flat(),
      { kind: 'fear-greed', value: 40, ...at },
      { kind: 'measure-history', series: 'sentiment/score', rows, ...at },
      { kind: 'venue-fundings', coin: COIN, fundings, ...at },
    ])
    const tokens = countTokens(JSON.stringify(bodyIn(rich)))
    expect(tokens, `${tokens} tokens`).toBeLessThan(4_750)
  })

  test.each([
    { name: 'book', ageMs: 60_000 },
    { name: 'funding', ageMs: 300_000 },
    { name: 'sentiment_figures', ageMs: 360_000 },
  ])('is refused when its $name is older than any component allows', ({ name, ageMs }) => {
    const document = bundle.render(coinOf(market), rendering, market)
    const answer = answerOf(document)
    const only = { ...answer, inputs: answer.inputs.filter((input) => input.name === name) }
    const [{ confirmedAtMs = 0 } = {}] = only.inputs
    const { inputAgeMsMax } = bundle.contract
    expect(overdue(document, only, inputAgeMsMax, confirmedAtMs + ageMs)).toBeNull()
    expect(overdue(document, only, inputAgeMsMax, confirmedAtMs + ageMs + 1)).not.toBeNull()
  })

  test.each([
    { lacking: 'history', reason: { kind: 'low-coverage', missing: 'closed candles of 1h' } },
    { lacking: 'funding-history', reason: { kind: 'low-coverage', missing: 'hours of funding' } },
    { lacking: 'book', reason: { kind: 'low-coverage', missing: 'sides of the order book' } },
    { lacking: 'context', reason: { kind: 'missing-input', input: 'context' } },
  ])('without $lacking is none at all, for the reason of the component', ({ lacking, reason }) => {
    const events = randomMarket(COINS, 5)
      .flat()
      .filter((event) => !('coin' in event && event.coin === COIN && event.kind === lacking))
    const poor = marketAfter(events)
    expect(bundle.render(coinOf(poor), rendering, poor).views['']).toMatchObject(reason)
  })

  test('has no answer while the market sentiment is unknown', () => {
    const events = randomMarket(COINS, 5)
      .flat()
      .filter((event) => !('coin' in event) || event.coin === COIN)
    const poor = marketAfter(events)
    expect(bundle.render(coinOf(poor), rendering, poor).views['']).toEqual({
      kind: 'low-coverage',
      missing: 'coins with fresh data',
      have: 1,
      need: 3,
    })
  })

  test('flags crowded longs', () => {
    const crowded = marketAfter([
      ...randomMarket(COINS, 5).flat(),
      context(COIN, { fundingRateHourly: 0.001 }),
    ])
    expect(bodyIn(crowded).summary.risk_flags).toContain('crowded_long')
  })

  test('counts no agreement of funding without a rank', () => {
    const settled = randomMarket(COINS, 5).flat()
    const young = settled.map((event) =>
      event.kind === 'funding-history' ? { ...event, rows: event.rows.slice(-167) } : event,
    )
    const body = bodyIn(marketAfter(young))
    expect(body.funding.funding.crowding).toBe('UNKNOWN')
    const { bias, agree_count } = body.summary
    const others = [body.pulse.confluence.bias, body.sentiment.sentiment.overall]
    expect(agree_count).toBe(others.filter((one) => one === bias).length)
  })

  test('flags an input that is late', () => {
    expect(bodyIn(market).summary.risk_flags).not.toContain('stale_input')
    const later = { ...rendering, renderedAtMs: NOW_MS + 60_000 }
    const document = bundle.render(coinOf(market), later, market)
    const text = textOf(document, '', { nowMs: NOW_MS, executionMs: 0, coinsAvailable: 1 })
    expect(JSON.parse(text).summary.risk_flags).toContain('stale_input')
  })
})

function marketAfter(events: readonly MarketEvent[]): MarketState {
  const market = newMarket(new PulsePool(3 * ALL_SECTORS.length))
  for (const event of events) market.apply(event)
  market.advance(NOW_MS)
  return market
}

function coinOf(market: MarketState) {
  const coin = market.coin(COIN)
  if (coin === undefined) throw new Error('the coin is listed')
  return coin
}

function answerOf(document: Document, view = ''): Answer {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(answer)}`)
  return answer
}

function textOf(document: Document, view: string, facts: FillFacts): string {
  return fillDocument(document, answerOf(document, view), facts).toString('utf8')
}

// biome-ignore lint/suspicious/noExplicitAny: its shape is checked by its schema
function bodyIn(market: MarketState, nowMs = NOW_MS): any {
  const document = bundle.render(coinOf(market), rendering, market)
  return JSON.parse(textOf(document, '', { nowMs, executionMs: 0, coinsAvailable: 3 }))
}

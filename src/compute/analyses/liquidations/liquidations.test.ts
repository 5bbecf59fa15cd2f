import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { Static } from 'typebox'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { AccountPositionEvent, LiquidationEvent, MarketEvent } from '../../../domain/event.ts'
import { singleMarginTier } from '../../../domain/listing.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { cascadeLevel, cascadeLevelOf, cascadeWeights } from '../../liquidation/cascade.ts'
import type { MarketState } from '../../market/market-state.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { newMarket } from '../../testing/new-market.ts'
import { randomMarket } from '../../testing/random-market.ts'
import { book, context, history, NOW_MS, universe, warmTape, wave } from '../../testing/tape.ts'
import { longShortRatio } from './funding-ratio.ts'
import { liquidations } from './liquidations.ts'
import type { LiquidationsAnswer } from './liquidations-schema.ts'

type Body = Static<typeof LiquidationsAnswer>

/** Seconds after the tape's end. */
const at = (seconds: number) => ({
  timeExchangeMs: NOW_MS + seconds * 1_000,
  timeReceivedMs: NOW_MS + seconds * 1_000,
})

describe('liquidations', () => {
  test('has one zone per tier and side, longs largest first, shorts smallest first', () => {
    const { zones } = answer(40, [...busy()])
    for (const side of [zones.longs, zones.shorts])
      expect(side.map(({ leverage }) => leverage).toSorted()).toEqual([
        '10x',
        '25x',
        '3x',
        '50x',
        '5x',
      ])
    const sizes = (side: Body['zones']['longs']) =>
      side.map((zone) => zone.estimated_notional ?? Number.NaN)
    expect(sizes(zones.longs)).toEqual(sizes(zones.longs).toSorted((a, b) => b - a))
    expect(sizes(zones.shorts)).toEqual(sizes(zones.shorts).toSorted((a, b) => a - b))
  })

  test('a worked example by hand: one coin of 3x, everything opened at 100', () => {
    const given = { markPrice: 100, midPrice: 100, openInterestBase: 1_000 }
    const found = answer(3, [context('BTC', given), flatAtHundred()])
    // Long: 100 (1 - 1/3) / (1 - 1/6) = 80; short: 100 (1 + 1/3) / (1 + 1/6) = 114.286.
    const long = found.zones.longs[0]
    const short = found.zones.shorts.at(-1)
    expect(long).toMatchObject({ leverage: '3x', share_pct: 100, permitted: true })
    expect((long?.price ?? 0) / 80).toBeCloseTo(1, 2)
    expect((short?.price ?? 0) / 114.286).toBeCloseTo(1, 2)
    expect(long?.estimated_notional, 'at the mark, as the short').toBe(100_000)
    expect(short?.estimated_notional).toBe(100_000)
    expect(found.summary.open_interest_usd).toBe(100_000)
    expect(found.total_at_risk_usd).toEqual({ within_1pct: 0, within_2pct: 0, within_5pct: 0 })
    expect(found.cascade_risk.nearest_cluster.side).toBe('short')
    expect(found.coverage).toMatchObject({ observed_pct: 0, flow_pct: 0, prior_pct: 100 })
    const tenfold = found.zones.longs.find(({ leverage }) => leverage === '10x')
    // Not permitted: priced by r = 1/20.
    expect(tenfold).toMatchObject({
      permitted: false,
      estimated_notional: 0,
      share_pct: 0,
      holds: 'nothing',
    })
    expect(tenfold?.price).toBeCloseTo(100 * (0.9 / 0.95), 4)
  })

  test('realised: confirmed liquidations of 24 hours, and what is observed, by hand', () => {
    const fill = (tradeId: number, of: Partial<LiquidationEvent> = {}): LiquidationEvent => ({
      ...{ kind: 'liquidation', coin: 'BTC', tradeId, account: '0xa', side: 'long' },
      ...{ price: 99, sizeBase: 10, markPrice: 100, method: 'market', ...at(-3_600), ...of },
    })
    const given = { markPrice: 100, midPrice: 100, openInterestBase: 1_000 }
    const known = { coin: 'BTC', account: '0xb', sizeBase: 250, entryPrice: 100, leverage: 3 }
    const { realised } = answer(40, [
      context('BTC', given),
      { kind: 'account-position', ...known, liquidationPrice: 70, ...at(0) },
      fill(1),
      fill(2),
      fill(1),
      fill(3, { method: 'backstop', sizeBase: 5, account: '0xb', ...at(-60) }),
      fill(4, { side: 'short', ...at(-25 * 3_600) }),
      { kind: 'liquidator-vaults', accounts: ['0xe', '0xf'], ...at(0) },
      {
        kind: 'liquidation-feed',
        fromMs: NOW_MS - 6 * 3_600_000,
        untilMs: NOW_MS,
        ...at(0),
      },
    ])
    expect(realised.longs).toEqual({
      ...{ notional_usd: 2_500, count: 2, largest_usd: 2_000 },
      by_method: { market: 2_000, backstop: 500 },
    })
    expect(realised.shorts).toMatchObject({ notional_usd: 0, count: 0, largest_usd: 0 })
    expect(realised.newest_iso).toBe(new Date(NOW_MS - 60_000).toISOString())
    expect(realised.coverage).toMatchObject({
      ...{ longs_followed_pct: 25, shorts_followed_pct: 0, liquidator_vaults: 2 },
      market_wide_pct: 25,
    })
  })

  test('realised: observed while the trade feed is live, even if no trade occurs', () => {
    const lastMs = NOW_MS + 600_000
    const quiet = (untilMs: number, ofCoin = untilMs): MarketEvent[] => {
      const events: MarketEvent[] = []
      for (let ms = NOW_MS; ms <= untilMs; ms += 5_000) {
        const when = { timeExchangeMs: ms, timeReceivedMs: ms }
        events.push(context('BTC', when))
        if (ms <= ofCoin) events.push(book('BTC', when))
      }
      return events
    }
    const sinceOf = (events: readonly MarketEvent[]) =>
      answer(40, events).realised.coverage.observed_since_iso
    expect(sinceOf(quiet(lastMs))).toBe(new Date(NOW_MS).toISOString())
    expect(sinceOf(quiet(lastMs, lastMs - 50_000))).not.toBeNull()
    expect(sinceOf(quiet(lastMs, lastMs - 70_000)), 'its connection is silent').toBeNull()
  })

  test('less than a dollar is printed as nothing', () => {
    const dust = answer(40, [
      context('BTC', { markPrice: 100, midPrice: 100, openInterestBase: 1_000 }),
      position('0xa', 0.005, { liquidationPrice: 90, leverage: 25 }),
      position('0xb', 0.005, { liquidationPrice: 60, leverage: 2 }),
      position('0xc', 999.99, { liquidationPrice: null, leverage: 3 }),
      position('0xd', -0.005, { liquidationPrice: 900, leverage: 10 }),
      position('0xe', -999.995, { liquidationPrice: null, leverage: 3 }),
    ])
    const { zones, clusters, below_3x, beyond, cascade_risk } = dust
    for (const { holds } of [...zones.longs, ...zones.shorts]) expect(holds).toBe('nothing')
    // A position of 25x opened now: 100 (1 - 1/25) / (1 - 1/80).
    const zone = zones.longs.find(({ leverage }) => leverage === '25x')
    expect(zone).toMatchObject({ price: expect.closeTo(97.215, 2), estimated_notional: 0 })
    expect(zone?.distance_pct).toBeCloseTo(100 * (1 - 97.215 / dust.price), 1)
    expect(clusters).toEqual({ longs: [], shorts: [] })
    expect(below_3x.longs).toEqual({ price: null, distance_pct: null, notional_usd: 0 })
    expect(beyond.shorts.by_leverage).toEqual({})
    expect(cascade_risk.components.proximity).toBe(0)
    expect(cascade_risk.nearest_cluster.estimated_notional).toBe(0)
  })

  test('shares, clusters and totals add up', () => {
    const { zones, clusters, summary, coverage } = answer(40, [...busy()])
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
    for (const [name, usd] of [
      ['longs', summary.longs_usd],
      ['shorts', summary.shorts_usd],
    ] as const) {
      expect(sum(zones[name].map((zone) => zone.share_pct))).toBeCloseTo(100, 1)
      const [inZones, inClusters] = [zones[name], clusters[name]].map((rows) =>
        sum(rows.map((row) => row.estimated_notional ?? Number.NaN)),
      )
      expect(
        Math.abs((inZones ?? 0) - (usd ?? Number.NaN)),
        'in whole dollars',
      ).toBeLessThanOrEqual(5)
      expect(Math.abs((inClusters ?? 0) - (usd ?? Number.NaN))).toBeLessThanOrEqual(20)
      const distances = clusters[name].map((cluster) => cluster.distance_pct)
      expect(distances).toEqual(distances.toSorted((a, b) => a - b))
      expect(clusters[name].length).toBeLessThanOrEqual(20)
    }
    expect(coverage.observed_pct + coverage.flow_pct + coverage.prior_pct).toBeCloseTo(100, 1)
    expect(coverage.observed_pct).toBeGreaterThan(0)
    expect(coverage.flow_pct).toBeGreaterThan(0)
  })

  test.each([
    { awayPct: 1.00004, shownPct: 1 },
    { awayPct: 1.0042, shownPct: 1.0042 },
  ])(
    'a cluster $awayPct % away is within 1 % as its distance is printed',
    ({ awayPct, shownPct }) => {
      const given = { markPrice: 100, openInterestBase: 1_000 }
      const account = position('0xa', -900, { liquidationPrice: 101, leverage: 50 })
      const largest = (found: Body) =>
        found.clusters.shorts.toSorted(
          (one, other) => (other.estimated_notional ?? 0) - (one.estimated_notional ?? 0),
        )[0]
      const answerAt = (midPrice: number) =>
        answer(50, [context('BTC', { ...given, midPrice }), flatAtHundred(), account])
      const found = answerAt((largest(answerAt(100))?.price ?? Number.NaN) / (1 + awayPct / 100))
      expect(largest(found)?.distance_pct).toBe(shownPct)
      const within = [...found.clusters.longs, ...found.clusters.shorts].flatMap((cluster) =>
        cluster.distance_pct <= 1 ? [cluster.estimated_notional ?? Number.NaN] : [],
      )
      const sum = within.reduce((total, usd) => total + usd, 0)
      // Whole dollars, rounded down.
      expect((found.total_at_risk_usd.within_1pct ?? Number.NaN) - sum).toBeCloseTo(0, -1)
    },
  )

  test('a side of the book that is far away moves no distance', () => {
    const given = { markPrice: 100, openInterestBase: 1_000 }
    const account = position('0xa', -900, { liquidationPrice: 114, leverage: 50 })
    const answerWith = (bestAsk: number) =>
      answer(50, [
        context('BTC', { ...given, midPrice: (99.99 + bestAsk) / 2 }),
        book('BTC', {
          bids: [{ price: 99.99, sizeBase: 9 }],
          asks: [{ price: bestAsk, sizeBase: 9 }],
        }),
        flatAtHundred(),
        account,
      ])
    const [narrow, wide] = [answerWith(100.01), answerWith(130)]
    expect(wide.price).toBe(100)
    expect(wide.total_at_risk_usd).toEqual(narrow.total_at_risk_usd)
    expect(wide.clusters.shorts).toEqual(narrow.clusters.shorts)
  })

  test('score and level follow from the published components and weights', () => {
    const { cascade_risk: risk } = answer(40, [...busy()])
    const { proximity, size, leverage_skew, volatility } = risk.components
    const score =
      cascadeWeights.proximity * proximity +
      cascadeWeights.size * size +
      cascadeWeights.leverageSkew * leverage_skew +
      cascadeWeights.volatility * volatility
    expect(Math.abs(risk.score - score)).toBeLessThanOrEqual(0.001 + 1e-9)
    expect(risk.level).toBe(cascadeLevel(risk.score))
  })

  test('positions of known accounts are in the map as observed', () => {
    const { zones, summary } = answer(40, [...busy()])
    const observed = zones.longs.find(({ leverage }) => leverage === '25x')
    expect(observed?.observed_notional).toBeGreaterThan(0)
    expect(observed?.observed_notional).toBeLessThanOrEqual(observed?.estimated_notional ?? 0)
    expect(summary.observed_usd).toBeGreaterThan(0)
  })

  test('liquidation prices out of reach are beyond the map, and each side sums to open interest', () => {
    // Of the longs half have no liquidation price; of the shorts 76 % are liquidated at 2.2 to 635 times the mark.
    const open = 1_000
    const accounts = [
      position('0xa', 500, { liquidationPrice: null, leverage: 3 }),
      position('0xb', -300, { liquidationPrice: 100 * 2.25, leverage: 3 }),
      position('0xc', -400, { liquidationPrice: 100 * 12, leverage: 10 }),
      position('0xd', -60, { liquidationPrice: 100 * 635, leverage: 1 }),
      position('0xe', -100, { liquidationPrice: 190, leverage: 1 }),
    ]
    const given = { markPrice: 100, midPrice: 100, openInterestBase: open }
    const found = answer(40, [context('BTC', given), ...accounts])
    expect(found.without_liquidation_price_usd).toEqual({ longs: 50_000, shorts: 0 })
    expect(found.beyond).toEqual({
      longs: {
        notional_usd: 0,
        observed_usd: 0,
        positions: 0,
        by_leverage: {},
        nearest_multiple: null,
        median_multiple: null,
      },
      shorts: {
        notional_usd: 76_000,
        observed_usd: 76_000,
        positions: 3,
        by_leverage: { below_3x: 6_000, '3x': 30_000, '10x': 40_000 },
        nearest_multiple: 2.25,
        median_multiple: 12,
      },
    })
    expect(found.below_3x.longs).toEqual({ price: null, distance_pct: null, notional_usd: 0 })
    expect(found.below_3x.shorts.notional_usd).toBe(10_000)
    expect((found.below_3x.shorts.price ?? 0) / 190).toBeCloseTo(1, 2)
    expect(found.summary).toMatchObject({ longs_usd: 50_000, shorts_usd: 24_000 })
    for (const { price, observed_notional, holds } of found.zones.shorts) {
      expect(price).toBeLessThan(150)
      expect(observed_notional, 'no known position is in a tier').toBe(0)
      if (holds === 'on_map') continue
      expect(holds).toBe('nothing')
    }
    expect(found.coverage).toMatchObject({
      observed_pct: 5,
      prior_pct: 32,
      beyond_pct: 38,
      without_liquidation_price_pct: 25,
      longs_on_map_pct: 50,
      shorts_on_map_pct: 24,
    })
    expect(found.meta.quality.coverage_pct, 'known to be off the map is not on it').toBe(5)
  })

  test('with all positions beyond the map there is no cluster, no zone and no proximity', () => {
    const given = { markPrice: 100, midPrice: 100, openInterestBase: 10 }
    const found = answer(40, [
      context('BTC', given),
      position('0xa', 10, { liquidationPrice: 1, leverage: 5 }),
      position('0xb', -10, { liquidationPrice: 60_000, leverage: 10 }),
    ])
    expect(found.clusters).toEqual({ longs: [], shorts: [] })
    expect(found.summary).toMatchObject({ longs_usd: 0, shorts_usd: 0, observed_usd: 0 })
    const holding = (side: Body['zones']['longs']) =>
      side
        .filter(({ holds }) => holds !== 'nothing')
        .map(({ leverage, holds }) => [leverage, holds])
    expect(holding(found.zones.longs)).toEqual([['5x', 'beyond']])
    expect(holding(found.zones.shorts)).toEqual([['10x', 'beyond']])
    expect(found.cascade_risk.nearest_cluster.estimated_notional).toBe(0)
    expect(found.cascade_risk.components).toMatchObject({ proximity: 0, size: 0, leverage_skew: 0 })
    expect(found.total_at_risk_usd.within_5pct).toBe(0)
  })

  test('its assumptions name the shares and margin of this coin', () => {
    expect(answer(20, [...busy()]).assumptions).toMatchObject({
      leverage_shares: { '3x': 0.15, '5x': 0.25, '10x': 0.6, '25x': 0, '50x': 0 },
      maintenance_margin: 0.025,
      max_leverage: 20,
    })
  })

  test.each([
    [0.0000214, 1.092],
    [0.0000125, 1],
    [1, Math.exp(0.5)],
    [-1, Math.exp(-0.5)],
  ])('at a funding rate of %d longs are %d of shorts', (rate, ratio) => {
    expect(longShortRatio('BTC', rate)).toBeCloseTo(ratio, 3)
  })

  test('the ratio is null for a builder-deployed perpetual', () => {
    expect(longShortRatio('xyz:GOLD', 0.0000214)).toBeNull()
  })

  test('is refused when the mark is older than a minute or open interest older than five', () => {
    const { inputs } = view(40, [...busy()])
    const limits = Object.fromEntries(
      inputs.map(({ name, isLoadBearing, ageMsMax }) => [
        name,
        isLoadBearing ? (ageMsMax ?? liquidations.contract.inputAgeMsMax) : null,
      ]),
    )
    expect(limits).toEqual({ mark: 60_000, open_interest: 300_000, candles_1h: null })
  })

  test('shows the observed coverage', () => {
    const { warnings, coveragePct } = view(40, [])
    expect(warnings).toEqual(['model_estimate', 'low_coverage'])
    const withoutMid = view(40, [book('BTC', { asks: [] }), context('BTC', { midPrice: null })])
    expect(withoutMid.warnings, 'the price is the mark price').toContain('thin_book')
    expect(coveragePct).toBe(0)
  })

  test('without hourly candles there is no volatility, and no answer', () => {
    const document = render([universe(['BTC']), context('BTC')])
    expect(document.views['']).toMatchObject({ kind: 'low-coverage', have: 1, need: 2 })
  })

  test('the screener reads the cascade level of the last answer', () => {
    const market = marketOf(['A', 'B', 'C', 'D', 'E', 'F'])
    const coin = [...market.coins()].find((one) => cascadeLevelOf(one) !== 'LOW')
    if (coin === undefined) throw new Error('one of them is in danger')
    const answer = () =>
      bodyOf(
        liquidations.render(
          coin,
          {
            key: `liquidations/${coin.listing.coin}`,
            version: 1,
            renderedAtMs: NOW_MS,
            snapshotId: 's',
            engineVersion: '0',
          },
          market,
        ),
      ).cascade_risk.level
    const before = cascadeLevelOf(coin)
    expect(answer(), 'worked out where nothing was answered yet').toBe(before)
    market.apply(context(coin.listing.coin, { openInterestBase: 0 }))
    expect(cascadeLevelOf(coin)).toBe(before)
    const after = answer()
    expect(after).not.toBe(before)
    expect(cascadeLevelOf(coin)).toBe(after)
  })

  test('a restored engine answers before any event', () => {
    const first = new Processor({ coin: [liquidations], market: [] }, '0.0.0')
    first.process([...warm(40), ...busy()])
    const nowMs = NOW_MS + 5_600_000
    const second = new Processor({ coin: [liquidations], market: [] }, '0.0.0')
    second.restore(first.records.checkpoint(nowMs), nowMs)
    const found = bodyOf(published(second))
    const before = bodyOf(published(first))
    expect(found.zones.longs).toHaveLength(5)
    expect(found.summary.open_interest_usd).toBe(before.summary.open_interest_usd)
    expect(found.coverage.observed_pct, 'known accounts are asked for again').toBe(0)
    expect(found.coverage.flow_pct).toBeGreaterThan(before.coverage.flow_pct)
  })

  test('stays within the token budget', () => {
    const document = render([...warm(50), ...busy()])
    const text = bytesOf(document)
    // As `view=compact`: three members of each record.
    const {
      clusters: _,
      assumptions: __,
      realised: ___,
      ...compact
    } = JSON.parse(text, (name, value) =>
      name === 'track_record'
        ? { rule: value.rule, lift: value.lift, status: value.status }
        : value,
    ) as Body
    expect(encode(text).length).toBeLessThan(2_500)
    expect(encode(JSON.stringify(compact)).length, 'compact').toBeLessThan(1_200)
  })
})

/** A while in which positions open on both sides at many prices, and two accounts are known. */
function* busy(): Generator<MarketEvent> {
  for (let round = 0; round < 400; round += 1) {
    const markPrice = 110 * (1 + 0.06 * Math.sin(round / 40))
    const openInterestBase = 1_234.5 + 300 * Math.sin(round / 9)
    yield {
      kind: 'trade',
      coin: 'BTC',
      tradeId: round,
      takerSide: round % 3 === 0 ? 'sell' : 'buy',
      price: markPrice,
      sizeBase: 5,
      ...at(round * 14 + 1),
    }
    const midPrice = markPrice * 1.0001
    yield context('BTC', { markPrice, midPrice, openInterestBase, ...at(round * 14 + 2) })
  }
  for (const [account, sizeBase, liquidationPrice] of [
    ['0xa', 120, 90],
    ['0xb', -80, 140],
  ] as const)
    yield {
      kind: 'account-position',
      coin: 'BTC',
      account,
      sizeBase,
      entryPrice: 110,
      leverage: 20,
      liquidationPrice,
      ...at(5_600),
    }
}

/** Nothing moves but the range of each bar. */
function flatAtHundred(): MarketEvent {
  const bars = wave('15m', 1_344, 0).map((bar) => ({
    ...bar,
    ...{ open: 100, high: 100.5, low: 99.5, close: 100 },
  }))
  return history('BTC', '15m', bars)
}

function position(
  account: string,
  sizeBase: number,
  changes: Pick<AccountPositionEvent, 'liquidationPrice' | 'leverage'>,
): AccountPositionEvent {
  return {
    kind: 'account-position',
    coin: 'BTC',
    account,
    sizeBase,
    entryPrice: 100,
    ...at(1),
    ...changes,
  }
}

function warm(maxLeverage: number): MarketEvent[] {
  const [[listed, ...others] = [], ...batches] = warmTape('BTC')
  if (listed?.kind !== 'universe') throw new Error('the tape begins with the universe')
  const marginTiers = singleMarginTier(maxLeverage)
  const listings = listed.listings.map((listing) => ({ ...listing, maxLeverage, marginTiers }))
  return [{ ...listed, listings }, ...others, ...batches.flat()]
}

function answer(maxLeverage: number, events: readonly MarketEvent[]): Body {
  return bodyOf(render([...warmUnless(events, maxLeverage), ...events]))
}

/** Events that bring candles of their own need only the listing. */
function warmUnless(events: readonly MarketEvent[], maxLeverage: number): readonly MarketEvent[] {
  const tape = warm(maxLeverage)
  return events.some(({ kind }) => kind === 'history') ? tape.slice(0, 2) : tape
}

function view(maxLeverage: number, events: readonly MarketEvent[]) {
  const found = render([...warm(maxLeverage), ...events]).views['']
  if (found?.kind !== 'answer') throw new Error('there is an answer')
  return found
}

function render(events: readonly MarketEvent[]): Document {
  const processor = new Processor({ coin: [liquidations], market: [] }, '0.0.0')
  processor.process(events)
  return published(processor)
}

function published(processor: Processor): Document {
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(NOW_MS + 5_600_000)) return document
  throw new Error('nothing was rendered')
}

function bodyOf(document: Document): Body {
  return JSON.parse(bytesOf(document)) as Body
}

function bytesOf(document: Document): string {
  const found = document.views['']
  if (found?.kind !== 'answer') throw new Error('there is an answer')
  const facts = { nowMs: NOW_MS + 5_600_000, executionMs: 0.1, coinsAvailable: 1 }
  return fillDocument(document, found, facts).toString('utf8')
}

function marketOf(coins: readonly string[]): MarketState {
  const market = newMarket(new PulsePool(3 * coins.length))
  for (const batch of randomMarket(coins, 5)) for (const event of batch) market.apply(event)
  market.advance(0)
  return market
}

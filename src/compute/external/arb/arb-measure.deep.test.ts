import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { NaiveResult, NaiveSample } from '../../../../test/golden/naive-arb.ts'
import { naiveArb } from '../../../../test/golden/naive-arb.ts'
import type { Chain, ExternalEvent, PoolEvent } from '../../../domain/external.ts'
import { chains } from '../../../domain/external.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { MarketState } from '../../market/market-state.ts'
import { block, chainPricesUsd, pool, poolEvents, rateEvents } from '../../testing/chain-tape.ts'
import { NOW_MS } from '../../testing/tape.ts'
import { oracleTrust } from '../oracle-trust.ts'
import { arbMeasure } from './arb-measure.ts'
import type { ArbAsset } from './arb-model.ts'
import { ARB_STEP_MS, arbAssets } from './arb-model.ts'
import type { ArbMeasurement, Stress } from './arb-sample.ts'
import { stressNames } from './arb-stress.ts'

const START_MS = Math.ceil(NOW_MS / 300_000) * 300_000
const MINUTE_MS = 60_000
const NATIVE_USD = 100
const GAS_USD = 0.1

type GapBps = (asset: ArbAsset, chain: Chain) => number

describe('against the naive second implementation', () => {
  test.each([{ seed: 1 }, { seed: 2 }])(
    'seven hours of minutes give the same, seed $seed',
    ({ seed }) => {
      const world = randomWorld(seed, 430, MINUTE_MS)
      expectSame(measured(world), naiveArb(world.map(({ naive }) => naive)))
    },
  )

  property.prop([fc.integer({ min: 3, max: 1e6 })], { numRuns: 40 })(
    'samples of ten seconds give the same',
    (seed) => {
      const world = randomWorld(seed, 14, ARB_STEP_MS)
      expectSame(measured(world), naiveArb(world.map(({ naive }) => naive)))
    },
  )
})

describe('a gap between chains', () => {
  /** What the cheapest other pair costs: two fees of 5 bps, 0.5 of impact each, 0.02 of gas each, 2. */
  const COST_BPS = 2 * 5 + 2 * 0.5 + 2 * 0.02 + 2
  /** One deviation of what every pool's price is off by itself, bps. */
  const NOISE_BPS = 0.25
  const SEEDS = Array.from({ length: 200 }, (_, seed) => seed)

  test('of 2 bps beyond the costs is found in its second sample, and not before', () => {
    const missed = SEEDS.filter((seed) => {
      const { market, gaps, chain } = planted(seed, COST_BPS + 2)
      tell(market, START_MS, noisy(seed, NOISE_BPS))
      tell(market, START_MS + ARB_STEP_MS, gaps(1))
      const early = found(market, chain)
      tell(market, START_MS + 2 * ARB_STEP_MS, gaps(2))
      return early || !found(market, chain)
    })
    expect(missed).toEqual([])
  })

  test('of 2 bps less than the costs is no opportunity', () => {
    const alarmed = SEEDS.filter((seed) => {
      const { market, gaps } = planted(seed, COST_BPS - 2)
      for (let sample = 0; sample < 6; sample += 1)
        tell(market, START_MS + sample * ARB_STEP_MS, gaps(sample))
      return latest(market).opportunities.length > 0
    })
    expect(alarmed).toEqual([])
  })

  test('of one sample alone is no opportunity', () => {
    const market = newMarket()
    tell(market, START_MS)
    tell(market, START_MS + ARB_STEP_MS, off('ETH', 'base', 80))
    tell(market, START_MS + 2 * ARB_STEP_MS)
    expect(latest(market).opportunities).toEqual([])
  })

  test('grows from transient to persistent to structural', () => {
    const market = newMarket()
    const kinds = new Set<string>()
    for (let sample = 0; sample <= 25; sample += 1) {
      tell(market, START_MS + sample * ARB_STEP_MS, off('ETH', 'base', 80))
      for (const { kind, ageMs } of latest(market).opportunities) kinds.add(`${kind} ${ageMs}`)
    }
    expect([...kinds]).toEqual(
      expect.arrayContaining([
        'TRANSIENT 10000',
        'TRANSIENT 50000',
        'PERSISTENT 60000',
        'PERSISTENT 240000',
        'STRUCTURAL 250000',
      ]),
    )
  })

  test('is bought where it is cheap and sold where it is dear', () => {
    const market = newMarket()
    for (let sample = 0; sample < 2; sample += 1)
      tell(market, START_MS + sample * ARB_STEP_MS, off('BTC', 'bsc', -100))
    const { opportunities } = latest(market)
    expect(opportunities.map(({ asset, buyChain }) => `${asset} ${buyChain}`)).toEqual(
      Array(7).fill('BTC bsc'),
    )
  })

  test('across a bridge pays less by its fee and the risk of four minutes', () => {
    const market = newMarket()
    const swing = (at: number) => (at % 2 === 0 ? 1 : 1.001)
    for (let minute = 0; minute < 61; minute += 1)
      tell(market, START_MS + minute * MINUTE_MS, undefined, swing(minute))
    for (let sample = 1; sample < 3; sample += 1)
      tell(market, START_MS + 60 * MINUTE_MS + sample * ARB_STEP_MS, off('ETH', 'base', 80))
    const [best] = latest(market).opportunities
    // Returns of a minute are +-9.995 bps in turn: their deviation, over a root of 60, is that of a second.
    const riskBps = 1.65 * (9.995 / Math.sqrt(60)) * Math.sqrt(242)
    expect((best?.netBps ?? 0) - (best?.netBridgeBps ?? 0)).toBeCloseTo(5 + riskBps, 1)
  })

  test('across a bridge is not judged while volatility is unknown', () => {
    const market = newMarket()
    for (let sample = 0; sample < 2; sample += 1)
      tell(market, START_MS + sample * ARB_STEP_MS, off('ETH', 'base', 80))
    expect(latest(market).opportunities[0]?.netBridgeBps).toBeNaN()
  })
})

describe('what cannot be trusted', () => {
  test('four fresh chains are not enough for an index', () => {
    const market = newMarket()
    applyAll(
      market,
      START_MS,
      eventsOf(START_MS, (chain) => chains.indexOf(chain) < 4),
    )
    expect(latest(market).stress).toBeNull()
    expect(market.of(arbMeasure).stressScore(START_MS)).toBeUndefined()
  })

  test('five are', () => {
    const market = newMarket()
    applyAll(
      market,
      START_MS,
      eventsOf(START_MS, (chain) => chains.indexOf(chain) < 5),
    )
    expect(latest(market).stress?.raw[stressNames.indexOf('plumbing')]).toBe(3 / 8)
  })

  test.each([
    { chain: 'base' as const, ageMs: 30_000, isFresh: true },
    { chain: 'base' as const, ageMs: 30_001, isFresh: false },
    { chain: 'ethereum' as const, ageMs: 36_000, isFresh: true },
    { chain: 'ethereum' as const, ageMs: 36_001, isFresh: false },
    { chain: 'solana' as const, ageMs: -30_001, isFresh: false },
  ])('a block of $chain that is $ageMs ms old is fresh: $isFresh', ({ chain, ageMs, isFresh }) => {
    const market = newMarket()
    const events = poolEvents(START_MS).map((event) =>
      'chain' in event && event.chain === chain
        ? { ...event, timeExchangeMs: START_MS - ageMs, timeReceivedMs: START_MS + 60_000 }
        : event,
    )
    applyAll(market, START_MS, [...rateEvents(START_MS), ...events])
    expect(latest(market).chains.find((one) => one.chain === chain)?.isFresh).toBe(isFresh)
  })

  test.each([
    { silentMs: 120_000, state: 'up' as const, status: 'ok' },
    { silentMs: 130_000, state: 'up' as const, status: 'stale' },
    { silentMs: 20_000, state: 'down' as const, status: 'ok' },
    { silentMs: 40_000, state: 'down' as const, status: 'down' },
  ])(
    'a chain without blocks for $silentMs ms, its source $state, is $status',
    ({ silentMs, state, status }) => {
      const market = newMarket()
      const nowMs = START_MS + silentMs
      applyAll(market, START_MS, eventsOf(START_MS))
      applyAll(market, nowMs, [
        ...eventsOf(nowMs, (chain) => chain !== 'polygon'),
        {
          kind: 'source-status',
          source: 'polygon',
          state,
          reason: '',
          timeExchangeMs: nowMs,
          timeReceivedMs: nowMs,
        },
      ])
      expect(latest(market).chains.find(({ chain }) => chain === 'polygon')?.status).toBe(status)
    },
  )

  test('a chain without any block is down', () => {
    const market = newMarket()
    applyAll(
      market,
      START_MS,
      eventsOf(START_MS, (chain) => chain !== 'polygon'),
    )
    expect(latest(market).chains.find(({ chain }) => chain === 'polygon')?.status).toBe('down')
  })

  test('an old gap is no opportunity, and is no older when the chain is back', () => {
    const market = newMarket()
    const gap = off('ETH', 'base', 80)
    for (let sample = 0; sample < 3; sample += 1) tell(market, START_MS + sample * ARB_STEP_MS, gap)
    const silent = (sample: number) =>
      applyAll(
        market,
        START_MS + sample * ARB_STEP_MS,
        eventsOf(START_MS + sample * ARB_STEP_MS, (chain) => chain !== 'base'),
      )
    for (let sample = 3; sample < 8; sample += 1) silent(sample)
    expect(latest(market).opportunities).toEqual([])
    tell(market, START_MS + 8 * ARB_STEP_MS, gap)
    expect(latest(market).opportunities[0]?.ageMs, 'within two minutes').toBe(8 * ARB_STEP_MS)
    for (let sample = 9; sample < 24; sample += 1) silent(sample)
    tell(market, START_MS + 24 * ARB_STEP_MS, gap)
    expect(latest(market).opportunities, 'beyond').toEqual([])
  })

  property.prop([fc.constantFrom(...chains), fc.double({ min: -900, max: 900, noNaN: true })], {
    numRuns: 60,
  })('one chain that lies does not move the reference', (liar, bps) => {
    const market = newMarket()
    const events = eventsOf(START_MS).map((event) =>
      event.kind === 'pool' && event.chain === liar
        ? // However much it says that it holds.
          { ...event, price: event.price * Math.exp(bps / 10_000), balanceQuote: 1e9 }
        : event,
    )
    applyAll(market, START_MS, events)
    for (const { asset, referenceUsd } of latest(market).assets)
      expect(referenceUsd).toBeCloseTo(chainPricesUsd[asset], 9)
  })

  test('a thin pool is named and takes no part', () => {
    const market = newMarket()
    const thin = pool('base', 'ETH', START_MS, { price: 4_000, balanceQuote: 249_999 })
    applyAll(market, START_MS, [...eventsOf(START_MS), thin])
    const cell = cellOf(market, 'ETH', 'base')
    expect(cell?.cell.status).toBe('thin')
    expect(cell?.gapBps).toBeNaN()
    expect(latest(market).stress?.index).toBe(0)
  })

  test('of two pools the deeper one counts, unless its block is old', () => {
    const market = newMarket()
    const nowMs = START_MS + 60_000
    const deep = pool('base', 'ETH', START_MS, { pool: 'deep', balanceQuote: 5e7 })
    const shallow = (ms: number) => pool('base', 'ETH', ms, { pool: 'shallow', balanceQuote: 1e6 })
    applyAll(market, START_MS, [...eventsOf(START_MS), deep, shallow(START_MS)])
    expect(cellOf(market, 'ETH', 'base')?.cell.pool?.pool).toBe('deep')
    const later = eventsOf(nowMs).filter(({ kind }) => kind !== 'pool')
    const others = eventsOf(nowMs, (chain) => chain !== 'base')
    applyAll(market, nowMs, [...later, ...others, shallow(nowMs)])
    expect(cellOf(market, 'ETH', 'base')?.cell.pool?.pool).toBe('shallow')
  })

  test('stablecoins without a price leave nothing to measure', () => {
    const market = newMarket()
    applyAll(market, START_MS, poolEvents(START_MS))
    expect(cellOf(market, 'ETH', 'base')?.cell.status).toBe('unpriced')
    expect(latest(market).stress).toBeNull()
  })

  test('without a price of gas a gap is shown and not judged', () => {
    const market = newMarket()
    for (let sample = 0; sample < 3; sample += 1) {
      const nowMs = START_MS + sample * ARB_STEP_MS
      const events = [...rateEvents(nowMs), ...poolEvents(nowMs, off('ETH', 'bsc', 200))]
      applyAll(
        market,
        nowMs,
        events.filter((event) => event.kind !== 'oracle-price' || event.asset !== 'BNB'),
      )
    }
    expect(cellOf(market, 'ETH', 'bsc')?.gapBps).toBeCloseTo(200, 6)
    expect(cellOf(market, 'ETH', 'bsc')?.bandBps).toBeNaN()
    expect(latest(market).opportunities).toEqual([])
  })

  test.each([
    { price: 0 },
    { price: -1 },
    { price: Number.NaN },
    { price: Number.POSITIVE_INFINITY },
  ])('a price of $price is none', ({ price }) => {
    const market = newMarket()
    applyAll(market, START_MS, [...eventsOf(START_MS), pool('base', 'ETH', START_MS, { price })])
    expect(cellOf(market, 'ETH', 'base')?.cell.status).toBe('unpriced')
    expect(latest(market).stress?.index).toBe(0)
  })
})

describe('what is usual', () => {
  test('a wrapped coin at a constant discount is no opportunity once that is known', () => {
    const market = newMarket()
    const usual = off('BTC', 'avalanche', -30)
    for (let minute = 0; minute < 360; minute += 1)
      tell(market, START_MS + minute * MINUTE_MS, usual)
    expect(latest(market).opportunities, 'six hours are not over').not.toEqual([])
    for (let minute = 360; minute < 370; minute += 1)
      tell(market, START_MS + minute * MINUTE_MS, usual)
    expect(latest(market).opportunities).toEqual([])
    expect(latest(market).dislocations).toEqual([])
    const gap = cellOf(market, 'BTC', 'avalanche')
    expect([gap?.gapBps, gap?.structuralBps, gap?.excessBps].map((bps) => bps?.toFixed(6))).toEqual(
      ['-30.000000', '-30.000000', '0.000000'],
    )
    tell(market, START_MS + 370 * MINUTE_MS, off('BTC', 'avalanche', -70))
    tell(market, START_MS + 370 * MINUTE_MS + ARB_STEP_MS, off('BTC', 'avalanche', -70))
    expect(latest(market).opportunities[0]?.grossBps, 'what is beyond is').toBeCloseTo(40.08, 2)
  })

  test('no more than 100 bps are taken for usual', () => {
    const market = newMarket()
    for (let minute = 0; minute < 370; minute += 1)
      tell(market, START_MS + minute * MINUTE_MS, off('BTC', 'avalanche', -250))
    expect(cellOf(market, 'BTC', 'avalanche')?.structuralBps).toBe(-100)
  })

  test('unusual gas is trouble, and so is nothing else', () => {
    const market = newMarket()
    for (let minute = 0; minute < 370; minute += 1) tell(market, START_MS + minute * MINUTE_MS)
    const plumbing = () => latest(market).stress?.raw[stressNames.indexOf('plumbing')]
    expect(plumbing()).toBe(0)
    const at = START_MS + 370 * MINUTE_MS
    applyAll(market, at, [...eventsOf(at), block('bsc', at, { swapGasNative: 0.0013 })])
    expect(plumbing(), 'a third more').toBe(0)
    const next = at + ARB_STEP_MS
    applyAll(market, next, [...eventsOf(next), block('bsc', next, { swapGasNative: 0.0014 })])
    expect(plumbing(), 'beyond three times 10 %').toBe(1 / 8)
  })
})

describe('a major asset that is 100 bps off on two chains', () => {
  const both: GapBps = (asset, chain) =>
    asset === 'ETH' && (chain === 'base' || chain === 'optimism') ? 101 : 0

  test('for five minutes makes the market stressed, whatever the index', () => {
    const market = newMarket()
    for (let sample = 0; sample < 30; sample += 1)
      tell(market, START_MS + sample * ARB_STEP_MS, both)
    expect(latest(market).stress).toMatchObject({ isMajorOff: false })
    tell(market, START_MS + 30 * ARB_STEP_MS, both)
    const { index, ruledIndex, isMajorOff } = latest(market).stress as Stress
    expect({ index: index < 55, ruledIndex, isMajorOff }).toEqual({
      index: true,
      ruledIndex: 55,
      isMajorOff: true,
    })
    tell(market, START_MS + 31 * ARB_STEP_MS)
    expect(latest(market).stress?.isMajorOff).toBe(false)
  })

  test('a stablecoin is no major asset, and one chain is not two', () => {
    const market = newMarket()
    const gaps: GapBps = (asset, chain) =>
      (asset === 'ETH' && chain === 'base') || (asset === 'USDC' && chain < 'b') ? 120 : 0
    for (let sample = 0; sample < 40; sample += 1)
      tell(market, START_MS + sample * ARB_STEP_MS, gaps)
    expect(latest(market).stress?.isMajorOff).toBe(false)
  })
})

describe('the same market', () => {
  property.prop([fc.integer(), fc.double({ min: 0.5, max: 2, noNaN: true })], { numRuns: 30 })(
    'at other prices is as stressed',
    (seed, factor) => {
      const [one, other] = [newMarket(), newMarket()]
      for (let sample = 0; sample < 3; sample += 1) {
        const nowMs = START_MS + sample * ARB_STEP_MS
        tell(one, nowMs, noisy(seed + sample, 20))
        tell(other, nowMs, noisy(seed + sample, 20), factor)
      }
      const [before, after] = [latest(one), latest(other)]
      expect(after.stress?.index).toBeCloseTo(before.stress?.index ?? -1, 6)
      expect(after.opportunities.map(({ netBps }) => netBps.toFixed(6))).toEqual(
        before.opportunities.map(({ netBps }) => netBps.toFixed(6)),
      )
      expect(after.assets[0]?.referenceUsd).toBeCloseTo(
        (before.assets[0]?.referenceUsd ?? 0) * factor,
        6,
      )
    },
  )

  property.prop([fc.integer(), fc.shuffledSubarray([...chains], { minLength: 8 })], {
    numRuns: 30,
  })('on chains in another order is as stressed', (seed, order) => {
    // Beside freshness, Ethereum's blocks are like all others here.
    const gaps = noisy(seed, 20)
    const renamed: GapBps = (asset, chain) => gaps(asset, order[chains.indexOf(chain)] as Chain)
    const [one, other] = [newMarket(), newMarket()]
    for (const nowMs of [START_MS, START_MS + ARB_STEP_MS]) {
      tell(one, nowMs, gaps)
      tell(other, nowMs, renamed)
    }
    expect(latest(other).stress?.index).toBeCloseTo(latest(one).stress?.index ?? -1, 9)
    expect(latest(other).opportunities).toHaveLength(latest(one).opportunities.length)
  })

  test('twice within ten seconds is one sample', () => {
    const market = newMarket()
    tell(market, START_MS, off('ETH', 'base', 80))
    const before = latest(market)
    tell(market, START_MS + 9_999, off('ETH', 'base', 0))
    expect(latest(market)).toBe(before)
  })
})

describe('a restart', () => {
  test('loses no age of an opportunity and no correlation', () => {
    const gaps = (sample: number): GapBps => {
      const noise = noisy(sample, 5)
      return (asset, chain) => noise(asset, chain) + off('ETH', 'base', 90)(asset, chain)
    }
    const first = newMarket()
    for (let sample = 0; sample < 10; sample += 1)
      tell(first, START_MS + sample * ARB_STEP_MS, gaps(sample))
    const restored = newMarket()
    expect(restored.of(arbMeasure).restore(first.of(arbMeasure).save())).toBe(true)
    for (let sample = 10; sample < 14; sample += 1)
      for (const market of [first, restored])
        tell(market, START_MS + sample * ARB_STEP_MS, gaps(sample))
    const { history: _, ...known } = latest(first)
    expect(latest(restored)).toMatchObject(known)
    expect(latest(restored).opportunities[0]?.ageMs).toBe(13 * ARB_STEP_MS)
  })

  test('within the saved sample is the same', () => {
    const world = randomWorld(12, 9, ARB_STEP_MS)
    const first = newMarket()
    for (const { events, naive } of world) applyAll(first, naive.nowMs, events)
    const restored = newMarket()
    restored.of(arbMeasure).restore(first.of(arbMeasure).save())
    const nowMs = world.at(-1)?.naive.nowMs ?? 0
    applyAll(
      restored,
      nowMs,
      world.flatMap(({ events }) => events),
    )
    const { history: _, ...known } = latest(first)
    expect(latest(restored)).toMatchObject(known)
    expect(restored.of(arbMeasure).save()).toEqual(first.of(arbMeasure).save())
  })

  test.each([
    { saved: [] },
    { saved: [1, 7] },
    { saved: [1, 1, 0, 0, 0, 0] },
    { saved: [1, 1, 26, ...Array(26).fill(Number.NaN), 0, 0, 0] },
  ])('with numbers of another version begins empty: $saved', ({ saved }) => {
    const market = newMarket()
    expect(market.of(arbMeasure).restore(Float64Array.from(saved))).toBe(false)
    tell(market, START_MS)
    expect(latest(market).stress?.index).toBe(0)
  })
})

describe('for others', () => {
  test('the score is there for a minute', () => {
    const market = newMarket()
    tell(market, START_MS, noisy(1, 40))
    const score = latest(market).stress?.ruledIndex ?? Number.NaN
    expect(market.of(arbMeasure).stressScore(START_MS + 60_000)).toBe(score / 100)
    expect(market.of(arbMeasure).stressScore(START_MS + 60_001)).toBeUndefined()
  })

  test('the past of the index is known from the log', () => {
    const market = newMarket()
    const rows = Array.from({ length: 3_000 }, (_, at) => ({
      timeMs: START_MS - (3_000 - at) * MINUTE_MS,
      value: at % 100,
    }))
    const at = { timeExchangeMs: START_MS, timeReceivedMs: START_MS }
    market.apply({ kind: 'measure-history', series: 'arb/index', rows, ...at })
    tell(market, START_MS)
    expect(latest(market).history).toMatchObject({
      change1h: 0 - 40,
      change24h: 0 - 60,
      percentile24h: expect.closeTo(0.5, 1),
      percentile7d: expect.closeTo(0.5, 6),
      median7d: 49.5,
      minutes: 1_440,
    })
  })
})

/** Tracks only the measure and what it reads, because hundreds are made. */
function newMarket(): MarketState {
  return new MarketState(new PulsePool(3), [oracleTrust, arbMeasure])
}

function latest(market: MarketState): ArbMeasurement {
  const { latest: measurement } = market.of(arbMeasure)
  if (measurement === null) throw new Error('nothing was sampled')
  return measurement
}

function cellOf(market: MarketState, asset: ArbAsset, chain: Chain) {
  const measured = latest(market).assets.find((one) => one.asset === asset)
  return measured?.gaps.find(({ cell }) => cell.chain === chain)
}

function applyAll(market: MarketState, nowMs: number, events: readonly ExternalEvent[]): void {
  for (const event of events) market.apply(event)
  market.of(arbMeasure).advance(market, nowMs)
}

function eventsOf(nowMs: number, isAlive: (chain: Chain) => boolean = () => true) {
  const pools = poolEvents(nowMs).filter((event) => 'chain' in event && isAlive(event.chain))
  return [...rateEvents(nowMs), ...pools]
}

/** All chains as of now, with gaps; all prices times a factor. */
function tell(market: MarketState, nowMs: number, gapBps?: GapBps, factor = 1): void {
  const { ETH, BTC, USDC } = chainPricesUsd
  const prices = { ETH: ETH * factor, BTC: BTC * factor, USDC }
  applyAll(market, nowMs, [...rateEvents(nowMs, prices), ...poolEvents(nowMs, gapBps, prices)])
}

function off(asset: ArbAsset, chain: Chain, bps: number): GapBps {
  return (of, on) => (of === asset && on === chain ? bps : 0)
}

/** Every pool off by normal noise of its own. */
function noisy(seed: number, sigmaBps: number): GapBps {
  const chance = chanceOf(seed)
  const noise = new Map(
    arbAssets.flatMap((asset) =>
      chains.map((chain) => [`${asset} ${chain}`, sigmaBps * normal(chance)] as const),
    ),
  )
  return (asset, chain) => noise.get(`${asset} ${chain}`) ?? 0
}

/** One gap of the given width with noise of 0.25 bps, anywhere. */
function planted(seed: number, bps: number) {
  const chance = chanceOf(seed + 1_000)
  const chain = chains[Math.floor(chance() * chains.length)] as Chain
  const asset = chance() < 0.5 ? 'ETH' : 'BTC'
  const sign = chance() < 0.5 ? 1 : -1
  const gaps = (sample: number): GapBps => {
    const noise = noisy(seed * 100 + sample, 0.25)
    return (of, on) => noise(of, on) + (of === asset && on === chain ? sign * bps : 0)
  }
  return { market: newMarket(), gaps, chain }
}

function found(market: MarketState, chain: Chain): boolean {
  return latest(market).opportunities.some(
    ({ buyChain, sellChain }) => buyChain === chain || sellChain === chain,
  )
}

type Told = { readonly events: readonly ExternalEvent[]; readonly naive: NaiveSample }

/** Pools that appear, disappear, dry up, stop and drift, one sample a step. */
function randomWorld(seed: number, count: number, stepMs: number): Told[] {
  const chance = chanceOf(seed)
  const pools = new Map<string, PoolEvent>()
  const drift = new Map<string, number>()
  const silentUntil = new Map<Chain, number>()
  return Array.from({ length: count }, (_, sample) => {
    const nowMs = START_MS + sample * stepMs
    const events: ExternalEvent[] = [...rateEvents(nowMs, chainPricesUsd, NATIVE_USD)]
    for (const chain of chains) {
      if (chance() < 0.03) silentUntil.set(chain, sample + Math.ceil(4 * chance()))
      if (sample < (silentUntil.get(chain) ?? 0)) continue
      events.push(block(chain, nowMs, { swapGasNative: GAS_USD / NATIVE_USD }))
      for (const asset of arbAssets)
        for (const name of ['a', 'b']) {
          const key = `${chain} ${asset} ${name}`
          // They come back to where they were, so that some gaps last and others do not.
          drift.set(key, 0.9 * (drift.get(key) ?? 20 * normal(chance)) + 8 * normal(chance))
          const event = pool(chain, asset, nowMs, {
            pool: key,
            price: chainPricesUsd[asset] * Math.exp((drift.get(key) as number) / 10_000),
            balanceQuote: 10 ** (5 + 2.5 * chance()),
            reserveQuote: 10 ** (6.5 + 3 * chance()),
            feeBps: [1, 5, 30][Math.floor(3 * chance())] as number,
          })
          pools.set(key, event)
          events.push(event)
        }
    }
    const naive: NaiveSample = {
      nowMs,
      pools: [...pools.values()],
      gasUsd: Object.fromEntries(
        chains
          .filter((chain) => (pools.get(`${chain} ETH a`)?.timeExchangeMs ?? 0) >= nowMs - 600_000)
          .map((chain) => [chain, GAS_USD]),
      ),
      stableUsd: { USDC: 1, USDT: 1 },
      exchangesUsd: chainPricesUsd,
    }
    return { events, naive }
  })
}

function measured(world: readonly Told[]): readonly ArbMeasurement[] {
  const market = newMarket()
  return world.map(({ events, naive }) => {
    applyAll(market, naive.nowMs, events)
    return latest(market)
  })
}

function expectSame(
  measurements: readonly ArbMeasurement[],
  naive: readonly (NaiveResult | null)[],
): void {
  for (const [at, own] of measurements.entries()) {
    const other = naive[at]
    expect(own.stress === null, `sample ${at} is known`).toBe(other === null)
    if (other == null || own.stress === null) continue
    for (const { asset, referenceUsd, gaps } of own.assets) {
      expect(referenceUsd, `${asset} ${at}`).toBeCloseTo(other.references[asset], 9)
      for (const { cell, gapBps } of gaps) {
        const gap = other.gapsBps.get(`${asset} ${cell.chain}`)
        if (gap === undefined) expect(gapBps).toBeNaN()
        else expect(gapBps).toBeCloseTo(gap, 6)
      }
    }
    for (const [component, raw] of own.stress.raw.entries())
      expect(raw, `${stressNames[component]} ${at}`).toBeCloseTo(other.raw[component] as number, 6)
    for (const [component, score] of own.stress.scores.entries())
      expect(score, `${stressNames[component]} ${at}`).toBeCloseTo(
        other.scores[component] as number,
        6,
      )
    expect(own.stress.index, `index ${at}`).toBeCloseTo(other.index, 6)
    const named = own.opportunities.map(
      ({ asset, buyChain, sellChain, netBps, ageMs }) =>
        `${asset} ${buyChain} ${sellChain} ${netBps.toFixed(4)} ${ageMs}`,
    )
    expect(named.toSorted(), `opportunities ${at}`).toEqual(
      other.opportunities
        .map(({ name, netBps, ageMs }) => `${name} ${netBps.toFixed(4)} ${ageMs}`)
        .toSorted(),
    )
  }
}

function normal(chance: () => number): number {
  const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - chance())), 2 * Math.PI * chance()]
  return radius * Math.cos(angle)
}

/** Numbers from 0 to below 1: a linear congruential generator (Numerical Recipes), its seed stirred. */
function chanceOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

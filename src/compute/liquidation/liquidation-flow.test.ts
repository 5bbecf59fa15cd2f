import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { naiveLiquidations } from '../../../test/golden/naive-liquidations.ts'
import type { Bar } from '../../domain/bar.ts'
import type { CoinEvent } from '../../domain/event.ts'
import { singleMarginTier } from '../../domain/listing.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { TIER_COUNT } from './leverage-ladder.ts'
import { LiquidationExposure } from './liquidation-exposure.ts'
import type { LiquidationFlow } from './liquidation-flow.ts'
import { liquidationFlow } from './liquidation-flow.ts'
import { at, coinOf, mark, position, reading, START_MS, trade } from './testing/coin.ts'
import { BUCKETS } from './zone-map.ts'

const HOUR = 3_600
const QUARTER_MS = 900_000

describe('liquidation flow', () => {
  let coin: CoinMarket
  let tracker: LiquidationFlow

  beforeEach(() => {
    coin = coinOf(3)
    tracker = coin.of(liquidationFlow)
  })

  const tell = (...events: readonly CoinEvent[]) => {
    for (const event of events) coin.apply(event)
  }

  /** The only prices of a coin of 3x that hold something. */
  const pricesOf = (side: 'long' | 'short') => {
    const { flow } = tracker
    return Array.from({ length: BUCKETS }, (_, bucket) => bucket)
      .filter((bucket) => bucket >= flow.from(side) && bucket < flow.until(side))
      .filter((bucket) => flow.sizeAt(0, bucket) > 0)
      .map((bucket) => flow.priceAt(bucket))
  }

  test('what open interest grows by was opened on both sides, at the average price of the trades', () => {
    tell(
      reading(0, 1_000),
      trade(3, 'buy', 6, 104),
      trade(5, 'sell', 2, 100),
      reading(10, 1_005, 103),
    )
    expect(tracker.flow.total('long')).toBeCloseTo(5, 9)
    expect(tracker.flow.total('short')).toBeCloseTo(5, 9)
    // Entry 103. 3x on a coin of 3x: 103 (1 - 1/3) / (1 - 1/6) and 103 (1 + 1/3) / (1 + 1/6).
    const [long, short] = [pricesOf('long'), pricesOf('short')]
    expect(long).toHaveLength(1)
    expect(Math.abs((long[0] ?? 0) / 82.4 - 1)).toBeLessThan(0.0013)
    expect(Math.abs((short[0] ?? 0) / 117.714 - 1)).toBeLessThan(0.0013)
  })

  test('where open interest stood at first is no flow', () => {
    tell(reading(0, 1_000), reading(10, 1_000))
    expect(tracker.flow.total('long')).toBe(0)
  })

  test('what it falls by is closed pro rata on both sides', () => {
    tell(reading(0, 1_000), reading(1, 1_100), reading(2, 825))
    expect(tracker.flow.total('long')).toBeCloseTo(75, 3)
    expect(tracker.flow.total('short')).toBeCloseTo(75, 3)
  })

  test('after two days half of what was seen is left', () => {
    tell(reading(0, 1_000), reading(1, 1_100))
    tell(reading(48 * HOUR + 1, 1_100))
    expect(tracker.flow.total('long')).toBeCloseTo(50, 9)
  })

  test('an interval without trades was opened at the mark', () => {
    tell(reading(0, 1_000), reading(10, 1_005, 103))
    expect(Math.abs((pricesOf('long')[0] ?? 0) / 82.4 - 1)).toBeLessThan(0.0013)
  })

  test('where some trades were lost neither their price nor their sides count', () => {
    coin = coinOf(50)
    tracker = coin.of(liquidationFlow)
    tell(reading(0, 1_000), trade(1, 'buy', 5, 120))
    tell({ kind: 'trade-gap', coin: 'X', fromMs: START_MS, toMs: START_MS + 2_000, ...at(2) })
    tell(reading(10, 1_005))
    expect(tierSums('long')).toEqual(tierSums('short').map((sum) => expect.closeTo(sum, 9)))
    tell(trade(11, 'buy', 5), reading(20, 1_010))
    expect(tierSums('long')[4], 'the next interval is whole again').toBeGreaterThan(
      (tierSums('short')[4] ?? 0) * 1.5,
    )
  })

  test('the side that started the trades took the higher leverage, and both sides took as much', () => {
    coin = coinOf(50)
    tracker = coin.of(liquidationFlow)
    tell(reading(0, 1_000), trade(1, 'sell', 5), reading(10, 1_005))
    const [long, short] = [tierSums('long'), tierSums('short')]
    expect(long[4], 'no maker took 50x').toBeCloseTo(0, 9)
    expect(short[4]).toBeCloseTo(2 * 0.1 * 5, 9)
    expect(tracker.flow.total('long')).toBeCloseTo(5, 9)
    expect(tracker.flow.total('short')).toBeCloseTo(5, 9)
  })

  test('trades of long ago that the venue repeats belong to no interval', () => {
    tell(reading(0, 1_000), reading(600, 1_000), trade(100, 'buy', 50, 200), reading(610, 1_001))
    expect(Math.abs((pricesOf('long')[0] ?? 0) / 80 - 1)).toBeLessThan(0.0013)
  })

  test('a correction of open interest is no flow', () => {
    tell(reading(0, 1_000), reading(10, 0), reading(20, 1_000), reading(30, 1_600))
    expect(tracker.flow.total('long')).toBe(0)
    tell(reading(40, 1_601))
    expect(tracker.flow.total('long')).toBeCloseTo(1, 9)
  })

  test.each([
    { what: 'low', wrong: 120 },
    { what: 'high', wrong: 10_100 },
  ])('one $what reading of open interest closes nothing', ({ wrong }) => {
    tell(reading(0, 1_000), reading(10, 1_010), reading(20, wrong), reading(30, 1_010))
    expect(tracker.flow.total('long')).toBeCloseTo(10, 2)
  })

  test('a large fall closes with the reading that confirms it', () => {
    tell(reading(0, 1_000), reading(10, 1_010), reading(20, 120), reading(30, 120))
    expect(tracker.flow.total('long')).toBeCloseTo((10 * 120) / 1_010, 2)
    tell(reading(40, 125))
    expect(tracker.flow.total('long')).toBeCloseTo((10 * 120) / 1_010 + 5, 2)
  })

  test('a fall that waits for its confirmation survives a restart', () => {
    tell(reading(0, 1_000), reading(10, 1_010), reading(20, 120))
    const restored = coinOf(3)
    expect(restored.of(liquidationFlow).restore(tracker.save(), restored)).toBe(true)
    restored.apply(reading(30, 120))
    expect(restored.of(liquidationFlow).flow.total('long')).toBeCloseTo(1.188, 2)
  })

  test('a frame that was overtaken is left out', () => {
    tell(reading(0, 1_000), reading(10, 1_010), reading(9, 900))
    expect(tracker.openInterestBase).toBe(1_010)
    expect(tracker.flow.total('long')).toBeCloseTo(10, 6)
  })

  test('a clock that was put back by an hour stops nothing', () => {
    tell(reading(2 * HOUR, 1_000), reading(HOUR, 1_010), reading(HOUR + 5, 1_020))
    expect(tracker.flow.total('long')).toBeCloseTo(20, 2)
  })

  test('the mark liquidates, a trade does not', () => {
    tell(reading(0, 1_000), reading(10, 1_010))
    tell(trade(11, 'sell', 1, 70))
    expect(tracker.flow.total('long')).toBeCloseTo(10, 9)
    tell(mark(12, 79))
    expect(tracker.flow.total('long')).toBe(0)
    expect(tracker.flow.total('short')).toBeCloseTo(10, 9)
    tell(mark(13, 100))
    expect(tracker.flow.total('long'), 'and what is gone does not come back').toBe(0)
  })

  test('candles replace the marks of a time without events', () => {
    tell(reading(0, 1_000), reading(10, 1_010), reading(2 * HOUR, 1_010))
    expect(tracker.isApproximate, 'even if no candles come').toBe(true)
    const traded = [bar(0, 100, 100), bar(15, 101, 78), bar(30, 101, 99), bar(120, 100, 100)]
    tell(history(2 * HOUR + 5, traded))
    expect(tracker.flow.total('long')).toBe(0)
    expect(tracker.flow.total('short')).toBeGreaterThan(9)
    expect(tracker.isApproximate).toBe(true)
    const before = tracker.save()
    tell(history(2 * HOUR + 60, traded))
    expect(tracker.save(), 'once').toEqual(before)
  })

  test('candles replace the marks of a pause also if they arrive before the next reading', () => {
    const traded = [bar(15, 101, 78), bar(30, 101, 99), bar(120, 100, 100)]
    const asked = history(2 * HOUR, traded)
    tell(reading(0, 1_000), reading(10, 1_010), asked, reading(2 * HOUR + 1, 1_010))
    expect(tracker.flow.total('long')).toBe(0)
    expect(tracker.isApproximate).toBe(true)
    const late = coinOf(3)
    for (const event of [reading(0, 1_000), reading(10, 1_010), reading(2 * HOUR + 1, 1_010)])
      late.apply(event)
    late.apply(asked)
    const { flow, profile } = late.of(liquidationFlow)
    expect(tracker.flow.total('short')).toBeCloseTo(flow.total('short'), 9)
    expect(tracker.profile.total('short')).toBeCloseTo(profile.total('short'), 9)
    expect(tracker.profile.total('short')).toBeGreaterThan(0.9)
  })

  test('candles of a recorded time add nothing', () => {
    tell(reading(0, 1_000), history(1, [bar(-30, 100, 100), bar(0, 100, 100)]))
    for (let seconds = 14; seconds < HOUR; seconds += 14) tell(reading(seconds, 1_000 + seconds))
    const before = tracker.save()
    tell(history(HOUR, [bar(0, 130, 60), bar(15, 130, 60), bar(30, 130, 60)]))
    expect(tracker.save()).toEqual(before)
    expect(tracker.isApproximate).toBe(false)
  })

  test('at a cold start candles lay out what was traded before, as far as it is not liquidated since', () => {
    tell(reading(0, 1_000, 100))
    // 120 x 0.8 = 96 lies above the low of 95 since; 100 x 0.8 does not.
    tell(history(2, [bar(-60, 120, 120, 7), bar(-45, 96, 95, 0), bar(-30, 100, 100, 5)]))
    expect(tracker.profile.total('long')).toBeCloseTo(5, 1)
    expect(tracker.profile.total('short')).toBeCloseTo(12, 0)
    expect(tracker.flow.total('long'), 'its opening was not recorded').toBe(0)
  })

  test('candles that come before any reading lay it out as well', () => {
    tell(history(2, [bar(-60, 100, 100, 7), bar(-45, 100, 100, 5)]), reading(3, 1_000, 101))
    expect(tracker.profile.total('long')).toBeCloseTo(12, 1)
  })

  test('what history remembers of open interest counts as seen, with its mark as price', () => {
    const sample = (minutes: number, openInterestBase: number) => ({
      coin: 'X',
      timeMs: START_MS + minutes * 60_000,
      markPrice: 100,
      oraclePrice: 100,
      openInterestBase,
      dayNotional: 1e6,
      fundingRateHourly: 0,
      premium: null,
      spreadBps: null,
      impactSpreadBps: null,
    })
    const samples = [sample(-3, 1_000), sample(-2, 1_010), sample(-1, 1_010)]
    tell({ kind: 'sample-history', coin: 'X', samples, ...at(0) })
    expect(tracker.isApproximate).toBe(false)
    expect(tracker.flow.total('long')).toBeCloseTo(10, 2)
    expect(tracker.firstReadAtMs).toBe(START_MS - 180_000)
    tell(reading(0, 1_020))
    const before = tracker.flow.total('long')
    tell({ kind: 'sample-history', coin: 'X', samples, ...at(1) })
    expect(tracker.flow.total('long'), 'what came since knows better').toBe(before)
    coin = coinOf(3)
    tracker = coin.of(liquidationFlow)
    tell({ kind: 'sample-history', coin: 'X', samples: [sample(-9, 1_000), ...samples], ...at(0) })
    expect(tracker.isApproximate, 'between -9 and -3 minutes there is no mark').toBe(true)
  })

  test('when the venue lowers the maximum, the highest tier left takes over', () => {
    coin = coinOf(50)
    tracker = coin.of(liquidationFlow)
    tell(reading(0, 1_000), reading(1, 1_010))
    coin.listing = { ...coin.listing, maxLeverage: 10, marginTiers: singleMarginTier(10) }
    tell(mark(2, 100))
    expect(tierSums('long').map((sum) => sum > 0)).toEqual([true, true, true, false, false])
    expect(tracker.flow.total('long')).toBeCloseTo(10, 2)
  })

  test('when the venue lowers the maximum below 3x, nothing is left', () => {
    tell(reading(0, 1_000), trade(1, 'buy', 5), reading(10, 1_010))
    coin.listing = { ...coin.listing, maxLeverage: 2, marginTiers: singleMarginTier(2) }
    tell(mark(11, 100))
    expect(tracker.flow.total('long') + tracker.profile.total('long')).toBe(0)
  })

  test('a coin that allows less than 3x has no tier to open', () => {
    coin = coinOf(2)
    tracker = coin.of(liquidationFlow)
    tell(reading(0, 1_000), reading(1, 1_010))
    expect(tracker.flow.total('long')).toBe(0)
    const exposure = LiquidationExposure.of(coin)
    expect(exposure?.totals.long).toMatchObject({ observedBase: 0, flowBase: 0, priorBase: 0 })
  })

  test.each([[[]], [[1, 1]], [[13, 1, ...Array.from({ length: 12 }, () => 0), 0, 0]]])(
    '%j is nothing that was saved',
    (numbers) => {
      expect(tracker.restore(Float64Array.from(numbers), coin)).toBe(false)
    },
  )

  const tierSums = (side: 'long' | 'short') =>
    Array.from({ length: TIER_COUNT }, (_, tier) => {
      let sum = 0
      for (let bucket = tracker.flow.from(side); bucket < tracker.flow.until(side); bucket += 1)
        sum += tracker.flow.sizeAt(tier, bucket)
      return sum
    })
})

type Step =
  | {
      readonly kind: 'reading'
      readonly seconds: number
      readonly grown: number
      readonly move: number
    }
  | { readonly kind: 'mark'; readonly move: number }
  | { readonly kind: 'trade'; readonly side: 'buy' | 'sell'; readonly size: number }
  | {
      readonly kind: 'position'
      readonly account: number
      readonly size: number
      /** Liquidation price from the mark, as a share of it; null for none. */
      readonly away: number | null
      readonly leverage: number
    }
  | { readonly kind: 'gap' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('reading' as const),
    seconds: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 100_000 })),
    grown: fc.double({ min: -0.2, max: 0.25, noNaN: true }),
    move: fc.double({ min: -0.03, max: 0.03, noNaN: true }),
  }),
  fc.record({
    kind: fc.constant('mark' as const),
    move: fc.double({ min: -0.03, max: 0.03, noNaN: true }),
  }),
  fc.record({
    kind: fc.constant('trade' as const),
    side: fc.constantFrom<'buy' | 'sell'>('buy', 'sell'),
    size: fc.double({ min: 0.01, max: 100, noNaN: true }),
  }),
  fc.record({
    kind: fc.constant('position' as const),
    account: fc.integer({ min: 0, max: 9 }),
    size: fc.oneof(
      fc.double({ min: -800, max: 800, noNaN: true }),
      fc.double({ min: -1e9, max: 1e9, noNaN: true }),
    ),
    away: fc.option(
      fc.oneof(
        fc.double({ min: -0.01, max: 0.999, noNaN: true }),
        fc.double({ min: 1, max: 634, noNaN: true }),
      ),
    ),
    leverage: fc.integer({ min: 1, max: 50 }),
  }),
  fc.constant({ kind: 'gap' as const }),
)
const steps = fc.array(step, { maxLength: 80, size: 'max' })
const maxLeverages = fc.constantFrom(3, 5, 10, 20, 40, 50)

/** Mostly near 1,000, now and then a wrong one or a fall. */
const openInterests = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 900, max: 1_100 }) },
    { weight: 1, arbitrary: fc.constantFrom(1, 120, 130, 500, 600, 1_600, 10_000) },
  ),
  { maxLength: 40, size: 'max' },
)

describe('invariants', () => {
  property.prop([openInterests])('wrong readings leave the flow that the twin has', (bases) => {
    const events = [1_000, ...bases].map((base, at) => reading(at * 14, base))
    const coin = coinOf(3)
    for (const event of events) coin.apply(event)
    const { totals, openInterestBase } =
      LiquidationExposure.of(coin) ?? expect.fail('it has readings')
    const naive = naiveLiquidations(events, 3, 100)
    for (const side of ['long', 'short'] as const)
      expect(totals[side].flowBase / openInterestBase).toBeCloseTo(naive[side].shares.flow, 7)
  })

  property.prop([steps, maxLeverages])(
    'no side holds more than the open interest, and together all of it has its place in the account',
    (taken, maxLeverage) => {
      const coin = coinOf(maxLeverage)
      for (const event of eventsOf(taken)) {
        coin.apply(event)
        const exposure = LiquidationExposure.of(coin)
        if (exposure === null) continue
        const { openInterestBase } = exposure
        for (const side of ['long', 'short'] as const) {
          const flowBase = coin.of(liquidationFlow).flow.total(side)
          expect(flowBase).toBeLessThanOrEqual(openInterestBase * (1 + 1e-9))
          const { observedBase, flowBase: seenBase, priorBase, ...off } = exposure.totals[side]
          const parts = [
            observedBase,
            seenBase,
            priorBase,
            off.beyond.sizeBase,
            off.withoutPriceBase,
          ]
          for (const part of parts) expect(part).toBeGreaterThanOrEqual(-openInterestBase * 1e-9)
          const whole = parts.reduce((sum, part) => sum + part, 0)
          expect(Math.abs(whole - openInterestBase)).toBeLessThanOrEqual(openInterestBase * 1e-9)
        }
      }
    },
  )

  property.prop([steps, maxLeverages])(
    'every level is on its side of the mark, and all levels of a side within the open interest',
    (taken, maxLeverage) => {
      const coin = coinOf(maxLeverage)
      for (const event of eventsOf(taken)) coin.apply(event)
      const exposure = LiquidationExposure.of(coin)
      fc.pre(exposure !== null)
      const wrong: number[] = []
      for (const side of ['long', 'short'] as const) {
        let sum = 0
        for (let bucket = exposure.from(side); bucket < exposure.until(side); bucket += 1)
          for (let tier = 0; tier < TIER_COUNT; tier += 1) {
            const key = tier * BUCKETS + bucket
            const sizeBase = exposure.sizesBase[key] as number
            const isBelow = exposure.priceAt(bucket) < exposure.markPrice
            const isRight = isBelow === (side === 'long')
            const isWhole = (exposure.observedBase.get(key) ?? 0) <= sizeBase * (1 + 1e-9)
            if (!(sizeBase >= 0 && (sizeBase === 0 || isRight) && isWhole)) wrong.push(bucket)
            sum += sizeBase
          }
        expect(sum).toBeLessThanOrEqual(exposure.openInterestBase * (1 + 1e-9))
      }
      expect(wrong).toEqual([])
    },
  )

  property.prop([steps, steps, maxLeverages])(
    'the same events give the same numbers, with or without a restart in between',
    (first, second, maxLeverage) => {
      const events = eventsOf([...first, ...second])
      const [live, restarted] = [coinOf(maxLeverage), coinOf(maxLeverage)]
      const cut = eventsOf(first).length
      for (const event of events.slice(0, cut)) live.apply(event)
      const saved = live.of(liquidationFlow).save()
      expect(restarted.of(liquidationFlow).restore(saved, restarted)).toBe(true)
      for (const event of events.slice(cut)) {
        live.apply(event)
        restarted.apply(event)
      }
      expect(restarted.of(liquidationFlow).save()).toEqual(live.of(liquidationFlow).save())
      const replayed = coinOf(maxLeverage)
      for (const event of events) replayed.apply(event)
      expect(replayed.of(liquidationFlow).save()).toEqual(live.of(liquidationFlow).save())
    },
  )

  test('a million events later it is as small as before', () => {
    const coin = coinOf(50)
    const tracker = coin.of(liquidationFlow)
    // A generator of Park and Miller, so that every run sees the same million.
    let state = 7
    const chance = () => {
      state = (state * 48_271) % 2_147_483_647
      return state / 2_147_483_647
    }
    let price = 100
    let openInterest = 1e6
    for (let at = 0; at < 1_000_000; at += 1) {
      price *= 1 + 0.002 * (chance() - 0.5)
      openInterest = Math.max(1, openInterest * (1 + 0.004 * (chance() - 0.5)))
      if (at % 4 === 0) tracker.apply(reading(at / 4, openInterest, price), coin)
      else if (at % 4 === 1) tracker.apply(mark(at / 4, price), coin)
      else tracker.apply(trade(at / 4, chance() < 0.5 ? 'buy' : 'sell', 1, price), coin)
    }
    expect(tracker.save().length, 'after a wild walk of three days').toBeLessThan(3_000)
    const flowBase = tracker.flow.total('long')
    expect(flowBase).toBeGreaterThan(0)
    expect(flowBase).toBeLessThanOrEqual(openInterest)
    expect(tracker.observed.size).toBe(0)
  })
})

function eventsOf(taken: readonly Step[]): CoinEvent[] {
  let [seconds, openInterest, price] = [0, 1_000, 100]
  const events: CoinEvent[] = [reading(0, openInterest, price)]
  for (const next of taken) {
    if (next.kind === 'reading') {
      seconds += next.seconds
      openInterest *= 1 + next.grown
      price *= 1 + next.move
      events.push(reading(seconds, openInterest, price))
    } else if (next.kind === 'mark') {
      price *= 1 + next.move
      events.push(mark(seconds, price))
    } else if (next.kind === 'trade') events.push(trade(seconds, next.side, next.size, price))
    else if (next.kind === 'position') {
      const { account, size, away, leverage } = next
      const told = away === null ? 0 : price * (size > 0 ? 1 - away : 1 + away)
      const liquidationPrice = told > 0 ? told : null
      events.push(position(`0x${account}`, size, { liquidationPrice, leverage, ...at(seconds) }))
    } else {
      const [fromMs, toMs] = [START_MS, START_MS + seconds * 1_000]
      events.push({ kind: 'trade-gap', coin: 'X', fromMs, toMs, ...at(seconds) })
    }
  }
  return events
}

/** A 15m bar that opens this many minutes after the start. */
function bar(minutes: number, high: number, low: number, volumeBase = 1): Bar {
  const openTimeMs = START_MS + minutes * 60_000
  return { openTimeMs, open: low, high, low, close: low, volumeBase }
}

function history(seconds: number, bars: readonly Bar[]): CoinEvent {
  const whole = bars.filter(({ openTimeMs }) => openTimeMs % QUARTER_MS === 0)
  return { kind: 'history', coin: 'X', timeframe: '15m', bars: whole, ...at(seconds) }
}

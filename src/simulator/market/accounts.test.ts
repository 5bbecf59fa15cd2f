import { beforeAll, describe, expect, test } from 'vitest'
import { Accounts } from './accounts.ts'
import { HOLDERS, SLOTS, slotsOf, TRADERS, traderOf } from './holders.ts'
import type { Context, Instrument, Market } from './market.ts'
import { bits } from './noise.ts'
import { lotsOf } from './precision.ts'
import { seededMarket } from './seeded-market.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7, 33)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const TICK_MS = 3_000
const LATER_MS = START_MS + 20 * MINUTE_MS

describe('who holds the open interest of the model', () => {
  let market: Market
  let accounts: Accounts
  let coins: readonly Instrument[]

  beforeAll(() => {
    market = seededMarket({ seed: 5, startMs: START_MS })
    accounts = new Accounts(market, START_MS)
    coins = market.universe()
  })

  test('longs and shorts are each the open interest of the minute, to the lot, of every coin', () => {
    const own = new Accounts(market, START_MS)
    for (const atMs of [START_MS, LATER_MS]) {
      const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS
      for (const { coin, sizeDecimals } of coins) {
        const told = market.context(coin, minuteMs)?.openInterestBase ?? Number.NaN
        const lots = [1, -1].map((side) =>
          own
            .holdersOf(coin, atMs)
            .filter(({ sizeBase }) => sizeBase * side > 0)
            .reduce((sum, { sizeBase }) => sum + lotsOf(side * sizeBase, sizeDecimals), 0),
        )
        expect(lots, coin).toEqual([lotsOf(told, sizeDecimals), lotsOf(told, sizeDecimals)])
      }
    }
  })

  test('no account comes twice in a coin, and none has more leverage than the coin allows', () => {
    for (const instrument of coins) {
      const slots = slotsOf(instrument)
      expect(new Set(slots.map(({ account }) => account)).size).toBe(SLOTS)
      expect(new Set(slots.map(({ side }) => side)).size, 'both sides').toBe(2)
      for (const { leverage, account } of slots) {
        expect(leverage).toBeGreaterThanOrEqual(1)
        expect(leverage).toBeLessThanOrEqual(instrument.maxLeverage)
        expect(account).toBeLessThan(HOLDERS)
      }
    }
  })

  test('no account is beyond its liquidation price; some have none, as on the venue', () => {
    // Every fourth account, large and small.
    const found = Array.from({ length: HOLDERS / 4 }, (_, i) =>
      accounts.account(4 * i, LATER_MS),
    ).flatMap(({ positions }) => positions)
    const isBeyond = ({ sizeBase, liquidationPrice, markPrice }: (typeof found)[number]) =>
      liquidationPrice !== null && sizeBase * (markPrice - liquidationPrice) <= 0
    expect(found.length).toBeGreaterThan(1_000)
    expect(found.filter(isBeyond)).toEqual([])
    const share = (isOne: (position: (typeof found)[number]) => boolean) =>
      found.filter(isOne).length / found.length
    expect(share(({ isIsolated }) => !isIsolated)).toBeGreaterThan(0.2)
    expect(share(({ isIsolated }) => isIsolated)).toBeGreaterThan(0.4)
    expect(share(({ liquidationPrice }) => liquidationPrice === null)).toBeGreaterThan(0.1)
    expect(share(({ liquidationPrice }) => liquidationPrice === null)).toBeLessThan(0.6)
  })

  test('positions change with time: some grow, some shrink, some go and some come', () => {
    const own = new Accounts(market, START_MS)
    const sizes = (atMs: number) =>
      new Map(own.holdersOf('ETH', atMs).map(({ account, sizeBase }) => [account, sizeBase]))
    const seen = Array.from({ length: 12 }, (_, hour) => sizes(START_MS + hour * HOUR_MS))
    expect(new Set(seen.map((held) => held.size)).size, 'not always as many').toBeGreaterThan(1)
    const [first, last] = [seen[0], seen.at(-1)]
    const changes = [...(first ?? [])].map(([account, size]) =>
      Math.sign(Math.abs(last?.get(account) ?? 0) - Math.abs(size)),
    )
    expect(changes).toContain(1)
    expect(changes).toContain(-1)
  })

  test('an account does not depend on the time and order of requests', () => {
    const other = new Accounts(seededMarket({ seed: 5, startMs: START_MS }), START_MS)
    const one = new Accounts(market, START_MS)
    const at = (minutes: number) => START_MS + minutes * MINUTE_MS + 777
    const late = other.account(7, at(45))
    expect(other.account(7, at(10)), 'an earlier instant, after a later one').toEqual(
      one.account(7, at(10)),
    )
    for (let minutes = 11; minutes < 45; minutes += 3) one.account(7, at(minutes))
    expect(one.account(7, at(45))).toEqual(late)
    expect(late.positions.length).toBeGreaterThan(10)
  })

  test('a delisted coin has no holders', () => {
    const own = seededMarket({ seed: 6, startMs: START_MS })
    const others = new Accounts(own, START_MS)
    expect(others.holdersOf('GMX', START_MS).length).toBeGreaterThan(10)
    own.delist('GMX', START_MS + MINUTE_MS)
    expect(others.holdersOf('GMX', START_MS + 3 * MINUTE_MS)).toEqual([])
    expect(others.holdersOf('MATIC', START_MS), 'delisted long ago').toEqual([])
    expect(others.holdersOf('NOPE', START_MS)).toEqual([])
  })

  test('large holders of a coin trade it the most, and some who trade hold nothing', () => {
    const trades = Array.from({ length: 20_000 }, (_, i) => traderOf('BTC', bits(1, i)))
    const counts = new Map<number, number>()
    for (const trader of trades) counts.set(trader, (counts.get(trader) ?? 0) + 1)
    const instrument = coins[0]
    if (instrument === undefined) throw new Error('BTC is listed')
    const [largest, , , , , , , , , , smaller] = slotsOf(instrument)
    expect(counts.get(largest?.account ?? -1)).toBeGreaterThan(
      3 * (counts.get(smaller?.account ?? -1) ?? 0),
    )
    const passing = trades.filter((trader) => trader >= HOLDERS).length
    expect(passing / trades.length).toBeCloseTo(0.2, 1)
    for (const trader of trades) expect(trader).toBeLessThan(TRADERS)
  })
})

describe('liquidation in the model', () => {
  /** One coin of 40x whose mark follows a script, with as much open interest at all times. */
  const marketWith = (markAt: (atMs: number) => number): Market => {
    const base = seededMarket({ seed: 5, startMs: START_MS })
    const oneCoin: Partial<Market> = {
      context(_, atMs) {
        const context = base.context('BTC', atMs) as Context
        return { ...context, markPrice: markAt(atMs), openInterestBase: 1_000 }
      },
      candles(_coin, _interval, range, atMs) {
        const first = Math.floor(range.fromMs / MINUTE_MS)
        const last = Math.floor(Math.min(range.untilMs - 1, atMs) / MINUTE_MS)
        return Array.from({ length: last - first + 1 }, (_row, i) => {
          const openTimeMs = (first + i) * MINUTE_MS
          const prices = Array.from({ length: 20 }, (_tick, tick) =>
            markAt(Math.min(atMs, openTimeMs + tick * TICK_MS)),
          )
          const [open = 0] = prices
          const high = Math.max(...prices)
          const low = Math.min(...prices)
          return { openTimeMs, open, high, low, close: open, volumeBase: 1, trades: 1 }
        })
      },
    }
    const lastTrades = () => []
    return { ...oneCoin, lastTrades, instrument: () => base.instrument('BTC') } as Market
  }
  const minuteMs = Math.floor(START_MS / MINUTE_MS) * MINUTE_MS
  const FALL_MS = minuteMs + 5 * MINUTE_MS + 21 * 1_000

  test('a mark that falls for three seconds liquidates longs permanently; shorts lose only what deleveraging closes', () => {
    const market = marketWith((atMs) =>
      atMs >= FALL_MS && atMs < FALL_MS + TICK_MS ? 94_000 : 100_000,
    )
    const accounts = new Accounts(market, START_MS)
    const before = accounts.holdersOf('BTC', FALL_MS - 1)
    const after = accounts.holdersOf('BTC', FALL_MS + TICK_MS + 1_000)
    const sizeOf = (held: typeof before, account: number) =>
      held.find((one) => one.account === account)?.sizeBase ?? 0
    const longs = before.filter(({ sizeBase }) => sizeBase > 0)
    const gone = longs.filter(
      ({ account, entryPrice }) =>
        after.find((one) => one.account === account)?.entryPrice !== entryPrice,
    )
    expect(gone.length, 'liquidated, or took over what was').toBeGreaterThan(0)
    const sizeDecimals = market.instrument('BTC')?.sizeDecimals ?? 0
    const closed = accounts
      .enforcedTrades('BTC', FALL_MS - 1, FALL_MS + TICK_MS + 1_000)
      .filter(({ enforcement }) => enforcement === 'deleveraging')
    const closedOf = (account: number) =>
      closed
        .filter(({ maker }) => maker === account)
        .reduce((sum, { lots }) => sum + lots / 10 ** sizeDecimals, 0)
    for (const short of before.filter(({ sizeBase }) => sizeBase < 0))
      expect(sizeOf(after, short.account)).toBeCloseTo(
        short.sizeBase + closedOf(short.account),
        sizeDecimals,
      )
    const all = closed.reduce((sum, { lots }) => sum + lots / 10 ** sizeDecimals, 0)
    expect(all, 'some were bankrupt').toBeGreaterThan(0)
    const total = after.reduce((sum, { sizeBase }) => sum + Math.max(0, sizeBase), 0)
    expect(total).toBeCloseTo(1_000 - all, 6)
  })

  test('no account is liquidated without a change of the mark', () => {
    const accounts = new Accounts(
      marketWith(() => 100_000),
      START_MS,
    )
    const entries = (atMs: number) =>
      accounts.holdersOf('BTC', atMs).map(({ entryPrice }) => entryPrice)
    expect(entries(minuteMs + MINUTE_MS - 1)).toEqual(entries(minuteMs))
  })

  test('what the bars rule out is what every mark would have said', () => {
    const wave = (atMs: number) => 100_000 * (1 + 0.08 * Math.sin((atMs - minuteMs) / 200_000))
    const quick = marketWith(wave)
    // Without bars every single mark is looked at.
    const slow = { ...quick, candles: () => [] } as Market
    const untilMs = minuteMs + HOUR_MS
    const found = new Accounts(quick, START_MS).holdersOf('BTC', untilMs)
    expect(found).toEqual(new Accounts(slow, START_MS).holdersOf('BTC', untilMs))
    expect(found.length).toBeGreaterThan(2)
  })
})

import { beforeEach, describe, expect, test } from 'vitest'
import { singleMarginTier } from '../../../domain/listing.ts'
import type { Universe } from '../wire/universe.ts'
import { SubscriptionPlan } from './subscription-plan.ts'

/** What the subscriptions of one address are enough for. */
const ROOM = new SubscriptionPlan(4).coinsMax
const MAIN = 100
/** Coins of another dex, each less traded than the one before. */
const OTHERS = ROOM - MAIN
const LEAST = `xyz:B${OTHERS - 1}`

const universeOf = (coins: readonly string[]): Universe =>
  coins.map((coin) => ({
    coin,
    sizeDecimals: 1,
    maxLeverage: 3,
    marginTiers: singleMarginTier(3),
    isDelisted: false,
  }))
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)

describe('a plan that is full', () => {
  let plan: SubscriptionPlan

  beforeEach(() => {
    plan = new SubscriptionPlan(4)
    for (const [index, coin] of named('xyz:B', ROOM).entries())
      plan.note([{ kind: 'context', coin, dayNotional: 1e6 - index } as never])
  })

  test('has room for a new coin of the venue’s own dex, and ends the least traded of the others', () => {
    const [main, others] = [named('A', MAIN), named('xyz:B', OTHERS)]
    plan.setUniverse(universeOf([...main, ...others]))
    expect(plan.followed).toHaveLength(ROOM)
    plan.setUniverse(universeOf([...main, 'NEW', ...others]))
    expect(plan.followed).toHaveLength(ROOM)
    expect(plan.follows('NEW')).toBe(true)
    expect(plan.follows(LEAST), 'the least traded').toBe(false)
    expect(plan.follows(`xyz:B${OTHERS - 2}`)).toBe(true)
  })

  test('does not keep aside whoever it ended, once there is room again', () => {
    const [main, others] = [named('A', MAIN), named('xyz:B', OTHERS)]
    plan.setUniverse(universeOf([...main, ...others]))
    plan.setAside([LEAST])
    plan.setUniverse(universeOf([...main, 'NEW', ...others]))
    plan.setUniverse(universeOf([...main, ...others]))
    const subscribed = [0, 1, 2, 3].flatMap((socket) => plan.coinsOf(socket))
    expect(subscribed).toContain(LEAST)
  })

  test('has none for another of the others', () => {
    const coins = [...named('A', MAIN), ...named('xyz:B', OTHERS)]
    plan.setUniverse(universeOf(coins))
    plan.setUniverse(universeOf([...coins, 'xyz:NEW']))
    expect(plan.follows('xyz:NEW')).toBe(false)
    expect(plan.followed).toHaveLength(ROOM)
  })

  describe('and of which others are traded more', () => {
    const coins = [...named('A', MAIN), ...named('xyz:B', OTHERS)]
    const least = 1e6 - (OTHERS - 1)
    const volume = (coin: string, dayNotional: number) =>
      plan.note([{ kind: 'context', coin, dayNotional } as never])

    beforeEach(() => {
      plan.setUniverse(universeOf([...coins, 'abc:MORE', 'abc:LESS']))
    })

    test('says how many are left out', () => {
      expect(plan.leftOutCount).toBe(2)
    })

    test('gives one that is clearly more traded the room of the least traded', () => {
      volume('abc:MORE', 3 * least)
      volume('abc:LESS', 1.5 * least)
      const { version } = plan
      plan.rank()
      expect(plan.version).toBeGreaterThan(version)
      expect(plan.follows('abc:MORE')).toBe(true)
      expect(plan.follows(LEAST)).toBe(false)
      expect(plan.follows('abc:LESS'), 'about as much').toBe(false)
      expect([plan.followed.length, plan.leftOutCount]).toEqual([ROOM, 2])
      const subscribed = [0, 1, 2, 3].flatMap((socket) => plan.coinsOf(socket))
      expect(subscribed).toContain('abc:MORE')
    })

    test('gives nobody the room of a coin of the venue’s own dex', () => {
      plan.setUniverse(universeOf([...named('A', ROOM), 'abc:MORE']))
      volume('abc:MORE', 1e12)
      plan.rank()
      expect(plan.follows('abc:MORE')).toBe(false)
    })
  })

  test('follows the most traded coins of the main dex if its share has no room for all', () => {
    const half = new SubscriptionPlan(4, undefined, 500)
    const coins = named('A', 230)
    half.setUniverse(universeOf(coins))
    const room = half.followed.length
    expect(room).toBe(half.coinsMax)
    expect(half.follows('A229')).toBe(false)
    for (const [index, coin] of coins.entries())
      half.note([{ kind: 'context', coin, dayNotional: 10 ** (index / 20) } as never])
    half.rank()
    expect(half.followed).toHaveLength(room)
    expect(half.follows('A229'), 'the most traded').toBe(true)
    expect(half.follows('A0'), 'the least traded').toBe(false)
    const subscriptions = [0, 1, 2, 3].flatMap((socket) => half.subscriptions(socket))
    expect(subscriptions.length).toBeLessThanOrEqual(490)
  })

  test('follows no more than it has subscriptions for', () => {
    plan.setUniverse(universeOf(named('A', ROOM + 20)))
    const subscriptions = [0, 1, 2, 3].flatMap((socket) => plan.subscriptions(socket))
    expect(subscriptions.length).toBeLessThanOrEqual(990)
    expect(plan.followed).toHaveLength(ROOM)
  })
})

import { beforeEach, describe, expect, test } from 'vitest'
import { singleMarginTier } from '../../../domain/listing.ts'
import type { Universe } from '../wire/universe.ts'
import { Roster } from './subscription-plan.ts'

/** What the subscriptions of one address are enough for. */
const ROOM = 322

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

describe('a roster that is full', () => {
  let roster: Roster

  beforeEach(() => {
    roster = new Roster(4)
    for (const [index, coin] of named('xyz:B', ROOM).entries())
      roster.note([{ kind: 'context', coin, dayNotionalUsd: 1e6 - index } as never])
  })

  test('has room for a new coin of the venue’s own dex, and ends the least traded of the others', () => {
    const [main, others] = [named('A', 100), named('xyz:B', ROOM - 100)]
    roster.setUniverse(universeOf([...main, ...others]))
    expect(roster.followed).toHaveLength(ROOM)
    roster.setUniverse(universeOf([...main, 'NEW', ...others]))
    expect(roster.followed).toHaveLength(ROOM)
    expect(roster.follows('NEW')).toBe(true)
    expect(roster.follows('xyz:B221'), 'the least traded').toBe(false)
    expect(roster.follows('xyz:B220')).toBe(true)
  })

  test('does not keep aside whoever it ended, once there is room again', () => {
    const [main, others] = [named('A', 100), named('xyz:B', ROOM - 100)]
    roster.setUniverse(universeOf([...main, ...others]))
    roster.setAside(['xyz:B221'])
    roster.setUniverse(universeOf([...main, 'NEW', ...others]))
    roster.setUniverse(universeOf([...main, ...others]))
    const subscribed = [0, 1, 2, 3].flatMap((socket) => roster.coinsOf(socket))
    expect(subscribed).toContain('xyz:B221')
  })

  test('has none for another of the others', () => {
    const coins = [...named('A', 100), ...named('xyz:B', ROOM - 100)]
    roster.setUniverse(universeOf(coins))
    roster.setUniverse(universeOf([...coins, 'xyz:NEW']))
    expect(roster.follows('xyz:NEW')).toBe(false)
    expect(roster.followed).toHaveLength(ROOM)
  })

  describe('and of which others are traded more', () => {
    const coins = [...named('A', 100), ...named('xyz:B', ROOM - 100)]
    const least = 1e6 - 221
    const volume = (coin: string, dayNotionalUsd: number) =>
      roster.note([{ kind: 'context', coin, dayNotionalUsd } as never])

    beforeEach(() => {
      roster.setUniverse(universeOf([...coins, 'abc:MORE', 'abc:LESS']))
    })

    test('says how many are left out', () => {
      expect(roster.leftOutCount).toBe(2)
    })

    test('gives one that is clearly more traded the room of the least traded', () => {
      volume('abc:MORE', 3 * least)
      volume('abc:LESS', 1.5 * least)
      const { version } = roster
      roster.rank()
      expect(roster.version).toBeGreaterThan(version)
      expect(roster.follows('abc:MORE')).toBe(true)
      expect(roster.follows('xyz:B221')).toBe(false)
      expect(roster.follows('abc:LESS'), 'about as much').toBe(false)
      expect([roster.followed.length, roster.leftOutCount]).toEqual([ROOM, 2])
      const subscribed = [0, 1, 2, 3].flatMap((socket) => roster.coinsOf(socket))
      expect(subscribed).toContain('abc:MORE')
    })

    test('gives nobody the room of a coin of the venue’s own dex', () => {
      roster.setUniverse(universeOf([...named('A', ROOM), 'abc:MORE']))
      volume('abc:MORE', 1e12)
      roster.rank()
      expect(roster.follows('abc:MORE')).toBe(false)
    })
  })

  test('follows no more than it has subscriptions for', () => {
    roster.setUniverse(universeOf(named('A', ROOM + 20)))
    const subscriptions = [0, 1, 2, 3].flatMap((socket) => roster.subscriptions(socket))
    expect(subscriptions.length).toBeLessThanOrEqual(990)
    expect(roster.followed).toHaveLength(ROOM)
  })
})

import { describe, expect, test } from 'vitest'
import type { DexFigures } from './dex-choice.ts'
import { chosenDexes, DEX_SHARE_KEPT, DEX_SHARE_MIN } from './dex-choice.ts'

const plenty = { bySubscriptions: 144, byWeight: 1_322, byListings: 512 }
const nobody: ReadonlySet<string> = new Set()

function figures(given: Partial<DexFigures> = {}): DexFigures {
  return {
    openInterest: 0,
    dayNotional: 0,
    liveCoins: 10,
    listedCoins: 12,
    usdPerUnit: 1,
    ...given,
  }
}

const main = figures({ openInterest: 9e9, dayNotional: 9e9, liveCoins: 178 })

function verdicts(
  dexes: Readonly<Record<string, DexFigures | null>>,
  { followed = nobody, room = plenty } = {},
): Record<string, string | null> {
  const all = chosenDexes(main, new Map(Object.entries(dexes)), followed, room)
  return Object.fromEntries(all.map(({ name, reason }) => [name, reason]))
}

describe('which dexes are worth following', () => {
  test.each([
    ['open interest', { openInterest: 1e9, dayNotional: 1e6 }],
    ['volume', { openInterest: 1e6, dayNotional: 1e9 }],
  ])('a tenth of %s is enough', (_what, given) => {
    const [verdict] = chosenDexes(main, new Map([['xyz', figures(given)]]), nobody, plenty)
    expect(verdict?.reason).toBeNull()
    expect(verdict?.share).toBeCloseTo(0.1, 3)
  })

  test.each([
    ['at the minimum', DEX_SHARE_MIN, nobody, null],
    ['just below it', 0.99 * DEX_SHARE_MIN, nobody, 'share_below_minimum'],
    ['just below it, and followed', 0.99 * DEX_SHARE_MIN, new Set(['xyz']), null],
    [
      'below half of it, and followed',
      0.99 * DEX_SHARE_KEPT,
      new Set(['xyz']),
      'share_below_minimum',
    ],
  ])('a share %s', (_what, share, followed, reason) => {
    const openInterest = (9e9 * share) / (1 - share)
    expect(verdicts({ xyz: figures({ openInterest }) }, { followed })).toEqual({ xyz: reason })
  })

  test('shares are in USD, whatever the collateral', () => {
    const openInterest = (9e9 * 0.011) / (1 - 0.011)
    expect(verdicts({ xyz: figures({ openInterest, usdPerUnit: 0.8 }) })).toEqual({
      xyz: 'share_below_minimum',
    })
  })

  test('without a price of its collateral a dex has no share, and is in no sum', () => {
    const dexes = new Map([
      ['odd', figures({ openInterest: 1e12, usdPerUnit: Number.NaN })],
      ['xyz', figures({ openInterest: 1e9 })],
    ])
    expect(chosenDexes(main, dexes, nobody, plenty)).toEqual([
      { name: 'xyz', reason: null, share: 0.1 },
      { name: 'odd', reason: 'collateral_unpriced', share: null },
    ])
  })

  test('one that never answered is not followed, and one that is followed stays', () => {
    expect(verdicts({ xyz: null })).toEqual({ xyz: 'no_reply' })
    expect(verdicts({ xyz: null }, { followed: new Set(['xyz']) })).toEqual({ xyz: null })
  })

  test('nothing to trade is nothing to follow', () => {
    expect(verdicts({ xyz: figures({ openInterest: 1e9, liveCoins: 0 }) })).toEqual({
      xyz: 'no_live_coins',
    })
  })

  test('the largest come first, as long as there is room for any coin of one', () => {
    const dexes = {
      small: figures({ openInterest: 2e8, liveCoins: 30 }),
      large: figures({ openInterest: 3e9, liveCoins: 100 }),
      middle: figures({ openInterest: 9e8, liveCoins: 60 }),
    }
    expect(verdicts(dexes)).toEqual({ large: null, middle: null, small: 'subscription_budget' })
    const byWeight = { ...plenty, byWeight: 99 }
    expect(verdicts(dexes, { room: byWeight })).toEqual({
      large: null,
      middle: 'weight_budget',
      small: 'weight_budget',
    })
  })

  test('a list that the engine has no room for is passed over, and smaller ones are not', () => {
    const dexes = {
      large: figures({ openInterest: 3e9, listedCoins: 600 }),
      small: figures({ openInterest: 2e8 }),
    }
    expect(verdicts(dexes)).toEqual({ large: 'listing_budget', small: null })
  })
})

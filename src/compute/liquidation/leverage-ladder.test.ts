import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Listing } from '../../domain/listing.ts'
import { singleMarginTier } from '../../domain/listing.ts'
import { decodeMeta } from '../../streams/hyperliquid/wire/universe.ts'
import { leverageLadder, tierOf } from './leverage-ladder.ts'

const VENUE_META = join(
  import.meta.dirname,
  '../../../../shared/data/hl-api-fixtures/meta-and-asset-ctxs-2026-05.json',
)

describe('the leverage ladder', () => {
  test.each<[maxLeverage: number, shares: readonly number[]]>([
    [3, [1, 0, 0, 0, 0]],
    [5, [0.15, 0.85, 0, 0, 0]],
    [10, [0.15, 0.25, 0.6, 0, 0]],
    [20, [0.15, 0.25, 0.6, 0, 0]],
    [25, [0.15, 0.25, 0.3, 0.3, 0]],
    [40, [0.15, 0.25, 0.3, 0.3, 0]],
    [50, [0.15, 0.25, 0.3, 0.2, 0.1]],
    [2, [0, 0, 0, 0, 0]],
  ])('on a coin of %dx gives what is not permitted to the highest tier that is', (max, shares) => {
    const found = leverageLadder(listing(max)).map(({ share }) => share)
    for (const [at, share] of shares.entries()) expect(found[at]).toBeCloseTo(share, 12)
  })

  property.prop([fc.integer({ min: 1, max: 100 }), fc.double({ min: -1, max: 1, noNaN: true })])(
    'no tilt creates or loses exposure, or makes a share negative',
    (maxLeverage, tilt) => {
      const ladder = leverageLadder(listing(maxLeverage))
      const tilted = ladder.map(({ share, preference }) => share * (1 + tilt * preference))
      for (const share of tilted) expect(share).toBeGreaterThanOrEqual(0)
      const sum = (shares: readonly number[]) => shares.reduce((total, share) => total + share, 0)
      expect(sum(tilted)).toBeCloseTo(sum(ladder.map(({ share }) => share)), 12)
    },
  )

  test('the aggressor leans to the higher tiers', () => {
    const preferences = leverageLadder(listing(50)).map(({ preference }) => preference)
    expect(preferences).toEqual(preferences.toSorted((one, other) => one - other))
    expect(Math.max(...preferences.map(Math.abs))).toBe(1)
  })

  test("prices by the coin's own margin, and above its maximum as if it were allowed", () => {
    const ladder = leverageLadder(listing(10))
    // 10x on a coin of 10x: (1 - 1/10) / (1 - 1/20); 25x, which it does not allow: r = 1/50.
    expect(ladder[2]?.longFactor).toBeCloseTo(0.9 / 0.95, 12)
    expect(ladder[2]?.shortFactor).toBeCloseTo(1.1 / 1.05, 12)
    expect(ladder[3]).toMatchObject({ isPermitted: false, share: 0 })
    expect(ladder[3]?.longFactor).toBeCloseTo(0.96 / 0.98, 12)
    expect(ladder[3]?.shortFactor).toBeCloseTo(1.04 / 1.02, 12)
  })

  test('a typical position has the margin of the first tier of its table', () => {
    const marginTiers = [
      { lowerBoundUsd: 0, maxLeverage: 40 },
      { lowerBoundUsd: 150_000_000, maxLeverage: 20 },
    ]
    const [lowest] = leverageLadder({ ...listing(40), marginTiers })
    expect(lowest?.longFactor).toBeCloseTo((1 - 1 / 3) / (1 - 1 / 80), 12)
  })

  test.skipIf(!existsSync(VENUE_META))(
    'on every coin that the venue lists, more leverage is liquidated nearer (needs ../shared/data)',
    () => {
      const [meta] = JSON.parse(readFileSync(VENUE_META, 'utf8')) as [object]
      const reply = decodeMeta(JSON.stringify(meta))
      if (reply.kind !== 'meta') throw new Error('the venue sent it')
      expect(reply.drops).toEqual([])
      const tiered = reply.universe.filter((row) => (row?.marginTiers.length ?? 0) > 1)
      expect(tiered.map((row) => row?.coin)).toContain('BTC')
      for (const row of reply.universe) {
        const ladder = row === null ? [] : leverageLadder(row).filter((tier) => tier.isPermitted)
        const longs = ladder.map(({ longFactor }) => longFactor)
        const shorts = ladder.map(({ shortFactor }) => shortFactor)
        expect(ladder.length, row?.coin).toBeGreaterThan(0)
        expect(longs).toEqual(longs.toSorted((one, other) => one - other))
        expect(shorts).toEqual(shorts.toSorted((one, other) => other - one))
        expect(Math.max(...longs)).toBeLessThan(1)
        expect(Math.min(...shorts)).toBeGreaterThan(1)
      }
    },
  )

  test.each<[maxLeverage: number, leverage: number, tier: number]>([
    [50, 1, -1],
    [3, 2, -1],
    [50, 3, 0],
    [50, 7, 1],
    [50, 8, 2],
    [50, 40, 4],
    [40, 40, 3],
    [20, 20, 2],
    [3, 3, 0],
    [2, 2, -1],
  ])('on a coin of %dx a position of %dx belongs to tier %d', (maxLeverage, leverage, tier) => {
    expect(tierOf(leverage, leverageLadder(listing(maxLeverage)))).toBe(tier)
  })
})

function listing(maxLeverage: number): Listing {
  const marginTiers = singleMarginTier(maxLeverage)
  return { coin: 'X', sizeDecimals: 2, maxLeverage, marginTiers, isDelisted: false }
}

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CascadeComponents } from './cascade.ts'
import {
  cascadeLevel,
  cascadeLevelOf,
  cascadeRisk,
  cascadeScore,
  noteCascadeLevel,
} from './cascade.ts'
import type { Heatmap, SideMap } from './heatmap.ts'
import { coinOf, reading } from './testing/coin.ts'

const share = fc.double({ min: 0, max: 1, noNaN: true })
const components: fc.Arbitrary<CascadeComponents> = fc.record({
  proximity: share,
  size: share,
  leverageSkew: share,
  volatility: share,
})

describe('cascade risk', () => {
  property.prop([
    components,
    fc.constantFrom<keyof CascadeComponents>('proximity', 'size', 'leverageSkew', 'volatility'),
    share,
  ])('the score rises with each component', (given, which, more) => {
    const raised = { ...given, [which]: given[which] + (1 - given[which]) * more }
    expect(cascadeScore(raised)).toBeGreaterThanOrEqual(cascadeScore(given))
  })

  property.prop([components])('the score is between 0 and 1', (given) => {
    expect(cascadeScore(given)).toBeGreaterThanOrEqual(0)
    expect(cascadeScore(given)).toBeLessThanOrEqual(1 + 1e-12)
  })

  test.each([
    [0, 'LOW'],
    [0.349, 'LOW'],
    [0.35, 'MODERATE'],
    [0.62, 'MODERATE'],
    [0.65, 'HIGH'],
    [0.85, 'EXTREME'],
    [1, 'EXTREME'],
  ])('a score of %d is %s', (score, level) => {
    expect(cascadeLevel(score)).toBe(level)
  })

  test('a worked example by hand', () => {
    const map = heatmap({ longUsd: 300, shortUsd: 100, distancePct: 2.5 })
    const { components: found, score, level } = cascadeRisk(map, 1_000, 1.5)
    expect(found.proximity).toBeCloseTo(Math.exp(-0.5), 9)
    expect(found.size).toBeCloseTo(1 - Math.exp(-1.5), 9)
    expect(found.leverageSkew).toBeCloseTo(0.5, 9)
    expect(found.volatility).toBeCloseTo(1 - Math.exp(-1), 9)
    // 0.35 x 0.6065 + 0.3 x 0.7769 + 0.15 x 0.5 + 0.2 x 0.6321
    expect(score).toBe(0.647)
    expect(level).toBe('MODERATE')
  })

  test('nothing near, nothing that moves and no open interest is no risk', () => {
    const map = heatmap({ longUsd: 0, shortUsd: 0, distancePct: 1_000 })
    expect(cascadeRisk(map, 0, 0)).toMatchObject({ score: 0, level: 'LOW' })
  })

  property.prop([
    fc.double({ min: 0, max: 1e9, noNaN: true }),
    fc.double({ min: 0, max: 1e9, noNaN: true }),
    fc.double({ min: 0, max: 100, noNaN: true }),
    fc.double({ min: 0, max: 100, noNaN: true }),
  ])('every component lies between 0 and 1', (longUsd, shortUsd, distancePct, atrPct) => {
    const { components: found } = cascadeRisk(
      heatmap({ longUsd, shortUsd, distancePct }),
      1e9,
      atrPct,
    )
    for (const value of Object.values(found)) {
      expect(value).toBeGreaterThanOrEqual(0)
      expect(value).toBeLessThanOrEqual(1)
    }
  })

  test('an empty map has nothing that is near', () => {
    const map = heatmap({ longUsd: 0, shortUsd: 0, distancePct: 0.1 })
    expect(cascadeRisk(map, 1e9, 1).components).toMatchObject({ proximity: 0, size: 0 })
  })

  test('a coin without candles has no level', () => {
    const coin = coinOf(10)
    coin.apply(reading(0, 1_000))
    expect(cascadeLevelOf(coin)).toBeNull()
  })

  test('a coin has the level that was answered last, until another is answered', () => {
    const coin = coinOf(10)
    noteCascadeLevel(coin, 'EXTREME')
    expect(cascadeLevelOf(coin)).toBe('EXTREME')
    noteCascadeLevel(coin, null)
    expect(cascadeLevelOf(coin), 'there was no answer').toBeNull()
  })
})

function heatmap(given: { longUsd: number; shortUsd: number; distancePct: number }): Heatmap {
  const side = (nearUsd: number): SideMap => ({
    notionalUsd: nearUsd,
    observedUsd: 0,
    zones: [],
    clusters: [],
    belowTiers: { price: null, notionalUsd: 0 },
    beyond: {
      notionalUsd: 0,
      observedUsd: 0,
      belowTiersUsd: 0,
      positions: 0,
      nearestMultiple: null,
      medianMultiple: null,
    },
    withoutPriceUsd: 0,
    withinUsd: [0, 0, nearUsd],
  })
  return {
    long: side(given.longUsd),
    short: side(given.shortUsd),
    nearestCluster: {
      side: 'long',
      price: 100,
      distancePct: given.distancePct,
      notionalUsd: given.longUsd,
    },
  }
}

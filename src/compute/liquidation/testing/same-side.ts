import { expect } from 'vitest'
import type { NaiveSide } from '../../../../test/golden/naive-liquidations.ts'
import type { SideMap } from '../heatmap.ts'

/** Every figure of one side against the naive twin; notional as shares of all that the side holds. */
export function expectSameSide(found: SideMap, naive: NaiveSide): void {
  const wholeUsd = naive.usd + naive.beyond.usd + naive.withoutPriceUsd
  const same = (usd: number | undefined, expected: number, what: string) =>
    expect((usd ?? Number.NaN) / wholeUsd, what).toBeCloseTo(expected / wholeUsd, 7)
  const samePrice = (price: number | null | undefined, expected: number | null, what: string) => {
    if (expected === null) expect(price, what).toBeNull()
    else expect((price ?? Number.NaN) / expected, what).toBeCloseTo(1, 7)
  }
  same(found.notionalUsd, naive.usd, 'on the map')
  for (const [at, { leverage, price, usd, observedUsd, beyondUsd }] of naive.zones.entries()) {
    const zone = found.zones[at]
    expect(zone?.leverage).toBe(leverage)
    samePrice(zone?.price, price, `${leverage}x`)
    same(zone?.notionalUsd, usd, `${leverage}x`)
    same(zone?.observedUsd, observedUsd, `${leverage}x, observed`)
    same(zone?.beyondUsd, beyondUsd, `${leverage}x, beyond`)
  }
  same(found.belowTiers.notionalUsd, naive.belowTiers.usd, 'below 3x')
  samePrice(found.belowTiers.price, naive.belowTiers.price, 'below 3x')
  same(found.beyond.notionalUsd, naive.beyond.usd, 'beyond')
  same(found.beyond.observedUsd, naive.beyond.observedUsd, 'beyond, observed')
  expect(found.beyond.positions).toBe(naive.beyond.positions)
  samePrice(found.beyond.nearestMultiple, naive.beyond.nearestMultiple, 'nearest beyond')
  samePrice(found.beyond.medianMultiple, naive.beyond.medianMultiple, 'median beyond')
  same(found.withoutPriceUsd, naive.withoutPriceUsd, 'without a price')
  for (const [at, usd] of naive.withinUsd.entries()) same(found.withinUsd[at], usd, 'within')
  expect(found.clusters.length).toBe(naive.clusters.length)
  for (const [at, { price, usd }] of naive.clusters.entries()) {
    samePrice(found.clusters[at]?.price, price, 'cluster')
    same(found.clusters[at]?.notionalUsd, usd, 'cluster')
  }
}

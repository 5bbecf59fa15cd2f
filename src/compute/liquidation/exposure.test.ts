import { beforeEach, describe, expect, test } from 'vitest'
import type { CoinEvent } from '../../domain/event.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { Exposure } from './exposure.ts'
import { heatmapOf } from './heatmap.ts'
import { at, coinOf, mark, position, reading } from './testing/coin.ts'

describe('exposure', () => {
  let coin: CoinMarket

  beforeEach(() => {
    coin = coinOf(10)
  })

  const tell = (...events: readonly CoinEvent[]) => {
    for (const event of events) coin.apply(event)
  }

  const exposureOf = () => {
    const exposure = Exposure.of(coin)
    if (exposure === null) throw new Error('there was a reading')
    return exposure
  }

  test('there is none before a reading', () => {
    tell(mark(0, 100))
    expect(Exposure.of(coin)).toBeNull()
  })

  test('without any history all of it stands where positions opened now would be liquidated', () => {
    tell(reading(0, 1_000))
    const exposure = exposureOf()
    expect(exposure.totals.long).toEqual({ observedBase: 0, flowBase: 0, priorBase: 1_000 })
    const { long } = heatmapOf(exposure, 100)
    // 10x on a coin of 10x: 0.9 / 0.95; it holds 60 %.
    expect((long.zones[2]?.price ?? 0) / (90 / 0.95)).toBeCloseTo(1, 2)
    expect(long.zones[2]?.notionalUsd).toBeCloseTo(600 * (long.zones[2]?.price ?? 0), 6)
    expect(long.zones[3]).toMatchObject({ isPermitted: false, notionalUsd: 0, leverage: 25 })
    expect(long.zones[3]?.price).toBeCloseTo(96 / 0.98, 9)
  })

  test('known positions take the place of as much that is estimated on their side', () => {
    tell(reading(0, 1_000), reading(1, 1_100), position('0xa', 220, { liquidationPrice: 50 }))
    const { totals } = exposureOf()
    expect(totals.long.observedBase).toBe(220)
    expect(totals.long.flowBase).toBeCloseTo(80, 3)
    expect(totals.long.priorBase).toBeCloseTo(800, 3)
    expect(totals.short.flowBase).toBeCloseTo(100, 3)
    const { long, short } = heatmapOf(exposureOf(), 100)
    expect(long.observedUsd).toBeCloseTo(220 * 50, -2)
    expect(short.observedUsd).toBe(0)
  })

  test('a position that no price liquidates is known and nowhere on the map', () => {
    tell(reading(0, 1_000), position('0xa', -400, { liquidationPrice: null }))
    const exposure = exposureOf()
    expect(exposure.totals.short).toEqual({ observedBase: 400, flowBase: 0, priorBase: 600 })
    const { short } = heatmapOf(exposure, 100)
    expect(short.observedUsd).toBe(0)
    expect(short.zones.reduce((sum, zone) => sum + zone.notionalUsd / zone.price, 0)).toBeCloseTo(
      600,
      0,
    )
  })

  test('known positions of more than there can be are scaled down to what there can be', () => {
    tell(reading(0, 1_000), position('0xa', 900), position('0xb', 600))
    expect(exposureOf().totals.long).toEqual({ observedBase: 1_000, flowBase: 0, priorBase: 0 })
  })

  test('an account has one position, its newest', () => {
    tell(reading(0, 1_000), position('0xa', 300), position('0xa', -100), position('0xb', 50))
    expect(exposureOf().totals.long.observedBase).toBe(50)
    expect(exposureOf().totals.short.observedBase).toBe(100)
    tell(position('0xa', 0))
    expect(exposureOf().totals.short.observedBase).toBe(0)
  })

  test('a position is forgotten when the mark reaches its price, or when nobody confirms it', () => {
    tell(reading(0, 1_000), position('0xa', 300, { liquidationPrice: 92 }), mark(1, 92.1))
    expect(exposureOf().totals.long.observedBase).toBe(300)
    tell(mark(2, 92))
    expect(exposureOf().totals.long.observedBase).toBe(0)
    tell(mark(3, 100), position('0xb', 300, at(3)), reading(1_803, 1_000))
    expect(exposureOf().totals.long.observedBase).toBe(300)
    tell(reading(1_804, 1_000))
    expect(exposureOf().totals.long.observedBase).toBe(0)
  })

  test('knows no more than 256 accounts, and forgets the one that was told longest ago', () => {
    tell(reading(0, 1_000))
    for (let account = 0; account < 256; account += 1) tell(position(`0x${account}`, 1))
    tell(position('0x0', 1), position('0xnew', 1))
    expect(coin.trackers.liquidations.observed.size).toBe(256)
    tell(position('0x1', 0))
    expect(coin.trackers.liquidations.observed.size, 'it was forgotten already').toBe(256)
    tell(position('0x0', 0))
    expect(coin.trackers.liquidations.observed.size).toBe(255)
  })

  test('a cluster is what lies in one band of distance, nearest first', () => {
    tell(reading(0, 1_000))
    tell(
      position('0xa', 500, { liquidationPrice: 99.2 }),
      position('0xb', 500, { liquidationPrice: 60 }),
    )
    const { long, nearestCluster } = heatmapOf(exposureOf(), 100)
    expect(long.clusters.map(({ price }) => Math.round(price))).toEqual([99, 60])
    expect(long.clusters[0]?.notionalUsd).toBeCloseTo(500 * 99.2, -2)
    expect(long.withinUsd[0]).toBeCloseTo(500 * 99.2, -2)
    expect(nearestCluster.side).toBe('long')
  })

  test('what is less than a twentieth of its side is not the nearest cluster', () => {
    tell(reading(0, 1_000), position('0xa', 40, { liquidationPrice: 99.5 }))
    const { nearestCluster } = heatmapOf(exposureOf(), 100)
    // Shorts of 10x: 110 / 105.
    expect(nearestCluster.side).toBe('short')
    expect(nearestCluster.distancePct).toBeCloseTo(4.76, 0)
  })

  test('a coin without open interest still says where positions would be liquidated', () => {
    tell(reading(0, 0))
    const { long, short, nearestCluster } = heatmapOf(exposureOf(), 100)
    expect(long.notionalUsd + short.notionalUsd).toBe(0)
    expect(long.clusters).toEqual([])
    expect(nearestCluster).toMatchObject({ side: 'short' })
    expect(nearestCluster.distancePct).toBeCloseTo(4.76, 2)
  })
})

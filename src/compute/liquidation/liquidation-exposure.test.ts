import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CoinEvent } from '../../domain/event.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { heatmapOf } from './heatmap.ts'
import { LiquidationExposure } from './liquidation-exposure.ts'
import { liquidationFlow } from './liquidation-flow.ts'
import { at, coinOf, mark, position, reading } from './testing/coin.ts'

/** Replies of the venue about one of its own accounts. */
const VENUE_STATE = join(
  import.meta.dirname,
  '../../../../shared/data/hl-api-fixtures/hyperliquid-math/2026-07-19-mainnet-m3.json',
)

describe('exposure', () => {
  let coin: CoinMarket

  beforeEach(() => {
    coin = coinOf(10)
  })

  const tell = (...events: readonly CoinEvent[]) => {
    for (const event of events) coin.apply(event)
  }

  const exposureOf = () => {
    const exposure = LiquidationExposure.of(coin)
    if (exposure === null) throw new Error('there was a reading')
    return exposure
  }

  test('there is none before a reading', () => {
    tell(mark(0, 100))
    expect(LiquidationExposure.of(coin)).toBeNull()
  })

  test('without any history all of it stands where positions opened now would be liquidated', () => {
    tell(reading(0, 1_000))
    const exposure = exposureOf()
    expect(exposure.totals.long).toMatchObject({ observedBase: 0, flowBase: 0, priorBase: 1_000 })
    const { long } = heatmapOf(exposure, 100)
    // 10x on a coin of 10x: 0.9 / 0.95; it holds 60 %.
    expect((long.zones[2]?.price ?? 0) / (90 / 0.95)).toBeCloseTo(1, 2)
    expect(long.zones[2]?.notionalUsd, 'at the mark').toBeCloseTo(600 * 100, 6)
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
    expect(long.observedUsd).toBeCloseTo(220 * 100, 6)
    expect(short.observedUsd).toBe(0)
  })

  test('a position that no price liquidates is known and nowhere on the map', () => {
    tell(reading(0, 1_000), position('0xa', -400, { liquidationPrice: null }))
    const exposure = exposureOf()
    expect(exposure.totals.short).toMatchObject({ observedBase: 0, flowBase: 0, priorBase: 600 })
    const { short } = heatmapOf(exposure, 100)
    expect(short.withoutPriceUsd).toBeCloseTo(40_000, 6)
    expect(short.observedUsd).toBe(0)
    expect(short.notionalUsd).toBeCloseTo(60_000, 6)
  })

  test('known positions of more than there can be are scaled down to what there can be', () => {
    tell(reading(0, 1_000), position('0xa', 900), position('0xb', 600))
    const { long } = exposureOf().totals
    expect(long).toMatchObject({ flowBase: 0, priorBase: 0 })
    expect(long.observedBase).toBeCloseTo(1_000, 9)
  })

  test('no position exceeds the open interest, whatever its reply', () => {
    tell(reading(0, 1_000), position('0xa', 1e15), position('0xb', 500, { liquidationPrice: 60 }))
    const { long } = heatmapOf(exposureOf(), 100)
    expect(long.observedUsd).toBeCloseTo(100_000, 6)
    expect(long.clusters.at(-1)?.notionalUsd, 'the other one is still seen').toBeCloseTo(33_333, -1)
  })

  test('a position that the mark has reached by now is no longer known', () => {
    tell(reading(0, 1_000, 92), position('0xa', 300, { liquidationPrice: 92 }))
    expect(exposureOf().totals.long).toMatchObject({ observedBase: 0, priorBase: 1_000 })
  })

  test('a position a hair from the mark is on its side of the map', () => {
    tell(reading(0, 1_000, 100))
    tell(
      position('0xa', 1_000, { liquidationPrice: 99.999 }),
      position('0xb', -1_000, { liquidationPrice: 100.001 }),
    )
    const { long, short } = heatmapOf(exposureOf(), 100)
    for (const { clusters } of [long, short])
      expect(clusters).toMatchObject([{ notionalUsd: expect.closeTo(100_000, 6) }])
    expect(long.clusters[0]?.price).toBeLessThan(100)
    expect(short.clusters[0]?.price).toBeGreaterThan(100)
  })

  test.each<[side: string, sign: 1 | -1, multiples: readonly number[], beyond: readonly number[]]>([
    ['longs', 1, [0.98, 0.7, 0.5, 0.46, 0.44, 0.1, 0.002], [0.44, 0.1, 0.002]],
    ['shorts', -1, [1.02, 1.4, 2, 2.18, 2.21, 3, 40, 600], [2.21, 3, 40, 600]],
  ])(
    '%s are on the map from 0.45 to 2.2 times the mark, and beyond it at their own prices',
    (side, sign, multiples, beyond) => {
      tell(reading(0, 1_000))
      for (const multiple of multiples)
        tell(position(`0x${multiple}`, sign * 100, { liquidationPrice: 100 * multiple }))
      const map = heatmapOf(exposureOf(), 100)[side === 'longs' ? 'long' : 'short']
      const onMap = multiples.length - beyond.length
      expect(map.observedUsd).toBeCloseTo(onMap * 10_000, 6)
      expect(map.beyond).toEqual({
        notionalUsd: expect.closeTo(beyond.length * 10_000, 6),
        observedUsd: expect.closeTo(beyond.length * 10_000, 6),
        belowTiersUsd: 0,
        positions: beyond.length,
        nearestMultiple: expect.closeTo(beyond[0] ?? 0, 9),
        medianMultiple: expect.closeTo(beyond[Math.ceil(beyond.length / 2) - 1] ?? 0, 9),
      })
      for (const { price } of [...map.zones, ...map.clusters])
        expect(price / 100, 'there is no price without positions').toBeLessThan(
          sign > 0 ? 0.99 : 2.19,
        )
      const wholeUsd = map.notionalUsd + map.beyond.notionalUsd + map.withoutPriceUsd
      expect(wholeUsd, 'and the side holds the open interest').toBeCloseTo(100_000, 6)
    },
  )

  test.skipIf(!existsSync(VENUE_STATE)).each(['BTC', 'ETH', 'DYDX'])(
    'a real position in %s counts with the value that the venue gives it (needs ../shared/data)',
    (name) => {
      const { perpUniverse, assetContexts, positions } = venueState()
      const listed = perpUniverse.find((one) => one.name === name)
      const markPrice = Number(assetContexts.find((one) => one.name === name)?.markPx)
      const real = positions.find((one) => one.coin === name)
      if (listed === undefined || real === undefined) throw new Error(`the file holds ${name}`)
      coin = coinOf(listed.maxLeverage)
      const liquidationPrice = real.liquidationPx === null ? null : Number(real.liquidationPx)
      const { value: leverage } = real.leverage
      tell(reading(0, 1e7, markPrice))
      tell(position('0xa', Number(real.szi), { liquidationPrice, leverage }))
      const { long, short } = heatmapOf(exposureOf(), markPrice)
      const side = Number(real.szi) > 0 ? long : short
      const valueUsd = Number(real.positionValue)
      expect(side.observedUsd, 'none of them is on the map').toBe(0)
      expect(side.withoutPriceUsd / valueUsd).toBeCloseTo(liquidationPrice === null ? 1 : 0, 9)
      expect(side.beyond.observedUsd / valueUsd).toBeCloseTo(liquidationPrice === null ? 0 : 1, 9)
      // A DYDX short of an account worth 3 million.
      if (name === 'DYDX') expect(side.beyond.nearestMultiple).toBeCloseTo(242.64, 2)
    },
  )

  test('positions of 1x and 2x are in no tier', () => {
    tell(reading(0, 1_000))
    tell(
      position('0xa', -500, { leverage: 1, liquidationPrice: 190 }),
      position('0xb', -500, { leverage: 2, liquidationPrice: 140 }),
      position('0xc', 1_000, { leverage: 1, liquidationPrice: 4 }),
    )
    const { long, short } = heatmapOf(exposureOf(), 100)
    for (const { zones } of [long, short])
      expect(zones.map(({ notionalUsd, beyondUsd }) => notionalUsd + beyondUsd)).toEqual([
        0, 0, 0, 0, 0,
      ])
    expect(short.belowTiers.notionalUsd).toBeCloseTo(100_000, 6)
    expect(Math.abs((short.belowTiers.price ?? 0) / 140 - 1)).toBeLessThan(0.0013)
    expect(long.belowTiers).toEqual({ price: null, notionalUsd: 0 })
    expect(long.beyond.belowTiersUsd).toBeCloseTo(100_000, 6)
    expect(short.clusters.length, 'they are on the map').toBe(1)
  })

  test('a tier beyond the map has the price of a position opened now, and its notional beyond', () => {
    tell(reading(0, 1_000), position('0xa', -1_000, { leverage: 3, liquidationPrice: 900 }))
    const { short, nearestCluster } = heatmapOf(exposureOf(), 100)
    // 3x on a coin of 10x: 133.3 / 1.05.
    expect(short.zones[0]).toMatchObject({ notionalUsd: 0, beyondUsd: expect.closeTo(100_000, 6) })
    expect(short.zones[0]?.price).toBeCloseTo(133.333 / 1.05, 2)
    expect(nearestCluster.side, 'positions beyond the map are no cluster').toBe('long')
  })

  test('an estimate that leaves the map as the mark moves is beyond it, and returns', () => {
    // Shorts of a coin of 3x opened at 100 are liquidated at 114.3.
    coin = coinOf(3)
    tell(reading(0, 1_000, 100), reading(1, 1_400, 100), mark(2, 50))
    expect(exposureOf().totals.short.beyond.sizeBase).toBeCloseTo(400, 2)
    expect(heatmapOf(exposureOf(), 50).short.beyond.nearestMultiple).toBeCloseTo(2.286, 2)
    tell(mark(3, 100))
    expect(exposureOf().totals.short.beyond.sizeBase).toBe(0)
    expect(exposureOf().totals.short.flowBase).toBeCloseTo(400, 2)
  })

  test('an account has one position, its newest', () => {
    tell(reading(0, 1_000), position('0xa', 300), position('0xa', -100), position('0xb', 50))
    expect(exposureOf().totals.long.observedBase).toBe(50)
    expect(exposureOf().totals.short.observedBase).toBe(100)
    tell(position('0xa', 0))
    expect(exposureOf().totals.short.observedBase).toBe(0)
  })

  test('a position is removed when the mark reaches its price, or when it is not confirmed', () => {
    tell(reading(0, 1_000), position('0xa', 300, { liquidationPrice: 92 }), mark(1, 92.1))
    expect(exposureOf().totals.long.observedBase).toBe(300)
    tell(mark(2, 92))
    expect(exposureOf().totals.long.observedBase).toBe(0)
    tell(mark(3, 100), position('0xb', 300, at(3)), reading(1_803, 1_000))
    expect(exposureOf().totals.long.observedBase).toBe(300)
    tell(reading(1_804, 1_000))
    expect(exposureOf().totals.long.observedBase).toBe(0)
  })

  test('keeps at most 256 accounts and removes the oldest reply', () => {
    tell(reading(0, 1_000))
    for (let account = 0; account < 256; account += 1) tell(position(`0x${account}`, 1))
    tell(position('0x0', 1), position('0xnew', 1))
    expect(coin.of(liquidationFlow).observed.size).toBe(256)
    tell(position('0x1', 0))
    expect(coin.of(liquidationFlow).observed.size, 'it was forgotten already').toBe(256)
    tell(position('0x0', 0))
    expect(coin.of(liquidationFlow).observed.size).toBe(255)
  })

  test('a cluster is one band of distance, nearest first', () => {
    tell(reading(0, 1_000))
    tell(
      position('0xa', 500, { liquidationPrice: 99.2 }),
      position('0xb', 500, { liquidationPrice: 60 }),
    )
    const { long, nearestCluster } = heatmapOf(exposureOf(), 100)
    expect(long.clusters.map(({ price }) => Math.round(price))).toEqual([99, 60])
    expect(long.clusters[0]?.notionalUsd).toBeCloseTo(500 * 100, 6)
    expect(long.withinUsd[0]).toBeCloseTo(500 * 100, 6)
    expect(nearestCluster.side).toBe('long')
  })

  test('the price of a cluster is one that positions have, also where its band is wide', () => {
    tell(
      reading(0, 1_000),
      position('0xa', -550, { liquidationPrice: 132 }),
      position('0xb', -450, { liquidationPrice: 210 }),
    )
    const { clusters } = heatmapOf(exposureOf(), 100).short
    expect(clusters).toMatchObject([{ notionalUsd: expect.closeTo(100_000, 6) }])
    expect(Math.abs((clusters[0]?.price ?? 0) / 132 - 1)).toBeLessThan(0.0013)
  })

  test('what is less than a twentieth of its side is not the nearest cluster', () => {
    tell(reading(0, 1_000), position('0xa', 40, { liquidationPrice: 99.5 }))
    const { nearestCluster } = heatmapOf(exposureOf(), 100)
    // Shorts of 10x: 110 / 105.
    expect(nearestCluster.side).toBe('short')
    expect(nearestCluster.distancePct).toBeCloseTo(4.76, 0)
  })

  test('a coin without open interest has the prices of positions opened now', () => {
    tell(reading(0, 0))
    const { long, short, nearestCluster } = heatmapOf(exposureOf(), 100)
    expect(long.notionalUsd + short.notionalUsd).toBe(0)
    expect(long.clusters).toEqual([])
    expect(nearestCluster).toMatchObject({ side: 'short', notionalUsd: 0 })
    expect(nearestCluster.distancePct).toBeCloseTo(4.76, 2)
  })
})

function venueState(): VenueState {
  const { selection } = JSON.parse(readFileSync(VENUE_STATE, 'utf8')) as { selection: VenueState }
  return selection
}

type VenueState = {
  readonly perpUniverse: readonly { readonly name: string; readonly maxLeverage: number }[]
  readonly assetContexts: readonly { readonly name: string; readonly markPx: string }[]
  readonly positions: readonly {
    readonly coin: string
    readonly szi: string
    readonly positionValue: string
    readonly liquidationPx: string | null
    readonly leverage: { readonly value: number }
  }[]
}

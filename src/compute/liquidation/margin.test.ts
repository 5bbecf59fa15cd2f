import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { singleMarginTier } from '../../domain/listing.ts'
import type { Bracket } from './margin.ts'
import { freshLiquidationPrice, liquidationPrice, maintenanceBrackets } from './margin.ts'
import { maintenanceMarginUsd } from './testing/maintenance-margin.ts'

const EXAMPLES = join(
  import.meta.dirname,
  '../../../../shared/data/hl-api-fixtures/hyperliquid-math/WORKED-EXAMPLES.json',
)

const BTC = [
  { lowerBoundUsd: 0, maxLeverage: 40 },
  { lowerBoundUsd: 150_000_000, maxLeverage: 20 },
]

const tiers = fc
  .uniqueArray(fc.constantFrom(3, 5, 10, 15, 20, 25, 40, 50), { minLength: 1, maxLength: 4 })
  .chain((leverages) =>
    fc
      .uniqueArray(fc.integer({ min: 1, max: 1_000_000 }), {
        minLength: leverages.length,
        maxLength: leverages.length,
      })
      .map((bounds) => {
        const ascending = bounds.toSorted((a, b) => a - b)
        return leverages
          .toSorted((a, b) => b - a)
          .map((maxLeverage, at) => ({
            lowerBoundUsd: at === 0 ? 0 : (ascending[at] as number),
            maxLeverage,
          }))
      }),
  )
const sizeBase = fc
  .tuple(fc.constantFrom(-1, 1), fc.double({ min: 0.01, max: 10_000, noNaN: true }))
  .map(([sign, size]) => sign * size)
const price = fc.double({ min: 0.01, max: 100_000, noNaN: true })

describe('maintenance margin', () => {
  test('of the largest bitcoin positions has the deduction of the second tier', () => {
    const brackets = maintenanceBrackets(BTC)
    expect(brackets[1]?.deductionUsd).toBeCloseTo(150e6 * (1 / 40 - 1 / 80), 6)
    // 200 million: 150 at 1.25 % and 50 at 2.5 %.
    expect(maintenanceMarginUsd(2_000, 100_000, brackets)).toBeCloseTo(1_875_000 + 1_250_000, 6)
  })

  property.prop([tiers, sizeBase, price])(
    'is the sum over the slices of notional, each at the rate of its tier',
    (table, size, at) => {
      const notional = Math.abs(size) * at
      const slices = table.map(({ lowerBoundUsd, maxLeverage }, tier) => {
        const end = table[tier + 1]?.lowerBoundUsd ?? Number.POSITIVE_INFINITY
        return Math.max(0, Math.min(notional, end) - lowerBoundUsd) / (2 * maxLeverage)
      })
      const sliced = slices.reduce((sum, slice) => sum + slice, 0)
      const margin = maintenanceMarginUsd(size, at, maintenanceBrackets(table))
      expect(margin / sliced).toBeCloseTo(1, 9)
    },
  )
})

describe('liquidation price', () => {
  property.prop([tiers, sizeBase, price, fc.double({ min: 0.001, max: 1.2, noNaN: true })])(
    'is where account value has fallen to the maintenance margin',
    (table, size, at, marginShare) => {
      const brackets = maintenanceBrackets(table)
      const accountValueUsd = Math.abs(size) * at * marginShare
      const otherMaintenanceUsd = accountValueUsd / 7
      const found = liquidationPrice(
        { sizeBase: size, price: at, accountValueUsd, otherMaintenanceUsd },
        brackets,
      )
      fc.pre(found !== null)
      const valueUsd = accountValueUsd + size * (found - at)
      const requiredUsd = otherMaintenanceUsd + maintenanceMarginUsd(size, found, brackets)
      expect(Math.abs(valueUsd - requiredUsd) / (Math.abs(size) * at)).toBeLessThan(1e-9)
    },
  )

  property.prop([tiers, sizeBase, price, fc.double({ min: 0.001, max: 1.2, noNaN: true })])(
    'is the root of the one tier whose notional it falls into',
    (table, size, at, marginShare) => {
      const brackets = maintenanceBrackets(table)
      const accountValueUsd = Math.abs(size) * at * marginShare
      const position = { sizeBase: size, price: at, accountValueUsd, otherMaintenanceUsd: 0 }
      const found = liquidationPrice(position, brackets)
      fc.pre(found !== null)
      const notional = Math.abs(size) * found
      const nearBound = brackets.some(
        ({ lowerBoundUsd }) => Math.abs(notional / lowerBoundUsd - 1) < 1e-9,
      )
      fc.pre(!nearBound)
      const tier = brackets.findLast(({ lowerBoundUsd }) => notional >= lowerBoundUsd) as Bracket
      const root =
        (-tier.deductionUsd - accountValueUsd + size * at) / (size - Math.abs(size) * tier.rate)
      expect(found / root).toBeCloseTo(1, 9)
    },
  )

  test.each<[maxLeverage: number, leverage: number, longPct: number, shortPct: number]>([
    [3, 3, -20, 14.29],
    [5, 3, -25.93, 21.21],
    [5, 5, -11.11, 9.09],
    [10, 3, -29.82, 26.98],
    [10, 5, -15.79, 14.29],
    [10, 10, -5.26, 4.76],
    [20, 3, -31.62, 30.08],
    [20, 5, -17.95, 17.07],
    [20, 10, -7.69, 7.32],
    [20, 20, -2.56, 2.44],
    [25, 3, -31.97, 30.72],
    [25, 5, -18.37, 17.65],
    [25, 10, -8.16, 7.84],
    [25, 20, -3.06, 2.94],
    [25, 25, -2.04, 1.96],
    [40, 3, -32.49, 31.69],
    [40, 5, -18.99, 18.52],
    [40, 10, -8.86, 8.64],
    [40, 20, -3.8, 3.7],
    [40, 25, -2.78, 2.72],
    [40, 40, -1.27, 1.23],
  ])(
    'on a coin of %dx, a position of %dx is liquidated %d %% below or %d %% above its entry',
    (maxLeverage, leverage, longPct, shortPct) => {
      const brackets = maintenanceBrackets(singleMarginTier(maxLeverage))
      const at = (size: number) =>
        (freshLiquidationPrice({ sizeBase: size, entryPrice: 100, leverage }, brackets) ?? 0) - 100
      expect(at(1)).toBeCloseTo(longPct, 1.99)
      expect(at(-1)).toBeCloseTo(shortPct, 1.99)
    },
  )

  test("agrees with the venue's own figure for the position in its documentation", () => {
    // ETH at 20x isolated: position value 100.02765, margin used 4.967826, maximum 50x.
    const found = liquidationPrice(
      {
        sizeBase: 0.0335,
        price: 100.02765 / 0.0335,
        accountValueUsd: 4.967826,
        otherMaintenanceUsd: 0,
      },
      maintenanceBrackets(singleMarginTier(50)),
    )
    expect(found).toBeCloseTo(2866.26936529, 4)
  })

  test('a position that its margin covers whole has none', () => {
    const position = { sizeBase: 1, price: 100, accountValueUsd: 101, otherMaintenanceUsd: 0 }
    expect(liquidationPrice(position, maintenanceBrackets(singleMarginTier(10)))).toBeNull()
  })

  test.skipIf(!existsSync(EXAMPLES))(
    'agrees with the worked example of an external library (needs ../shared/data)',
    () => {
      const examples = JSON.parse(readFileSync(EXAMPLES, 'utf8')) as WorkedExample[]
      const example = examples.find(
        ({ function: name }) => name === 'calculatePerpLiquidationPrice',
      )
      const [given] = example?.input.positions ?? []
      if (example === undefined || given === undefined) throw new Error('the file holds one')
      const brackets = maintenanceBrackets(
        given.marginTiers.map(({ lowerBound, maxLeverage }) => ({
          lowerBoundUsd: Number(lowerBound),
          maxLeverage: Number(maxLeverage),
        })),
      )
      const position = {
        sizeBase: Number(given.signedSize),
        price: Number(given.markPrice),
        accountValueUsd: Number(given.marginMode.isolatedMarginValue),
        otherMaintenanceUsd: 0,
      }
      const { data } = example.expectedValue
      const found = liquidationPrice(position, brackets) ?? 0
      expect(found).toBeCloseTo(Number(data.liquidationPrice), 10)
      const margin = maintenanceMarginUsd(position.sizeBase, found, brackets)
      expect(margin).toBeCloseTo(Number(data.targetMaintenanceMargin), 10)
    },
  )
})

type WorkedExample = {
  readonly function: string
  readonly input: {
    readonly positions?: readonly {
      readonly signedSize: string
      readonly markPrice: string
      readonly marginMode: { readonly isolatedMarginValue: string }
      readonly marginTiers: readonly { lowerBound: string; maxLeverage: string }[]
    }[]
  }
  readonly expectedValue: {
    readonly data: { liquidationPrice: string; targetMaintenanceMargin: string }
  }
}

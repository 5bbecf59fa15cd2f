import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { maintenanceTiers, maintenanceUsd, modelLiquidationPrice } from './margin.ts'

const examples = join(
  import.meta.dirname,
  '../../../../shared/data/hl-api-fixtures/hyperliquid-math/WORKED-EXAMPLES.json',
)
const BTC_TABLE = 56

describe('maintenance margin', () => {
  test('is half of the initial margin at the highest leverage', () => {
    expect(maintenanceUsd(maintenanceTiers(10), 1_000)).toBe(50)
    expect(maintenanceUsd(maintenanceTiers(3), 600)).toBeCloseTo(100, 12)
  })

  test('rises without a step where a tier begins, and faster from there on', () => {
    const tiers = maintenanceTiers(BTC_TABLE)
    const at = (usd: number) => maintenanceUsd(tiers, usd)
    expect(at(150e6)).toBeCloseTo(150e6 / 80, 6)
    expect(at(150e6 + 40) - at(150e6)).toBeCloseTo(1, 6)
    expect(at(150e6) - at(150e6 - 80)).toBeCloseTo(1, 6)
  })
})

describe('the liquidation price', () => {
  test('of a fresh isolated position is where its equity is the maintenance margin', () => {
    // Entry 100, 5x, at most 10x: 100 * (1 - 1/5) / (1 - 1/20), and its mirror image.
    expect(modelLiquidationPrice(maintenanceTiers(10), 1, 20 - 100)).toBeCloseTo(
      84.21052631578947,
      12,
    )
    expect(modelLiquidationPrice(maintenanceTiers(10), -1, 20 + 100)).toBeCloseTo(
      114.28571428571428,
      12,
    )
  })

  test('of an isolated position of the documentation is the venue’s own figure', () => {
    // At most 50x. Its rawUsd is rounded to a millionth, which is so much of the price.
    expect(modelLiquidationPrice(maintenanceTiers(50), 0.0335, -95.059824)).toBeCloseTo(
      2866.26936529,
      4,
    )
  })

  test('is none of a long that was paid in full', () => {
    expect(modelLiquidationPrice(maintenanceTiers(3), 2, 0)).toBeNull()
    expect(modelLiquidationPrice(maintenanceTiers(3), 2, 500)).toBeNull()
  })

  test('leaves less room to an account that has other positions', () => {
    const tiers = maintenanceTiers(10)
    const alone = modelLiquidationPrice(tiers, 1, -80) ?? Number.NaN
    expect(modelLiquidationPrice(tiers, 1, -80, 5)).toBeGreaterThan(alone)
  })

  property.prop([
    fc.constantFrom(3, 5, 40, 51, 53, BTC_TABLE),
    fc.constantFrom(1, -1),
    fc.double({ min: 1e-3, max: 1e5, noNaN: true }),
    fc.double({ min: 0.01, max: 1e5, noNaN: true }),
    fc.double({ min: 0.02, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 0.01, noNaN: true }),
  ])(
    'is where equity and maintenance meet, and nowhere between it and the entry',
    (table, side, size, entry, margin, other) => {
      const tiers = maintenanceTiers(table)
      const notionalUsd = size * entry
      const otherUsd = other * notionalUsd
      const rawUsd = margin * notionalUsd - side * notionalUsd
      const surplus = (price: number) =>
        rawUsd + side * size * price - maintenanceUsd(tiers, size * price) - otherUsd
      fc.pre(surplus(entry) > 1e-9 * notionalUsd)
      const price = modelLiquidationPrice(tiers, side * size, rawUsd, otherUsd)
      if (price === null) {
        expect(side).toBe(1)
        for (const share of [0.75, 0.5, 0.25, 0.01])
          expect(surplus(share * entry)).toBeGreaterThan(0)
        return
      }
      expect(Math.abs(surplus(price))).toBeLessThan(1e-9 * size * (price + entry))
      expect(side * (entry - price)).toBeGreaterThan(0)
      for (const share of [0.1, 0.5, 0.9])
        expect(surplus(entry + share * (price - entry))).toBeGreaterThan(0)
    },
  )

  test.skipIf(!existsSync(examples))('is that of the worked example (needs ../shared/data)', () => {
    type Example = {
      readonly function: string
      readonly expectedValue: { readonly data: { readonly liquidationPrice: string } }
    }
    const all = JSON.parse(readFileSync(examples, 'utf8')) as readonly Example[]
    const example = all.find((one) => one.function === 'calculatePerpLiquidationPrice')
    // One unit at 100 with 20 of isolated margin, at most 10x.
    expect(modelLiquidationPrice(maintenanceTiers(10), 1, 20 - 100)).toBeCloseTo(
      Number(example?.expectedValue.data.liquidationPrice),
      12,
    )
  })
})

import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import * as engine from '../src/compute/liquidation/margin.ts'
import { maintenanceMarginUsd } from '../src/compute/liquidation/testing/maintenance-margin.ts'
import { singleMarginTier } from '../src/domain/listing.ts'
import { marginTables } from '../src/simulator/market/catalog.ts'
import * as venue from '../src/simulator/market/margin.ts'

/** The venue's margin formulas, implemented independently by the simulator and by the engine. */
describe('margin by the simulated venue and by the engine', () => {
  const tables = [...marginTables.map(({ id }) => id), 3, 5, 10, 20]

  test.prop([
    fc.constantFrom(...tables),
    fc.double({ min: 1e-6, max: 1e10, noNaN: true }),
    fc.double({ min: 1e-3, max: 1e5, noNaN: true }),
  ])('maintenance is the same in every tier of every table', (table, notionalUsd, price) => {
    const expected = venue.maintenanceUsd(venue.maintenanceTiers(table), notionalUsd)
    const found = maintenanceMarginUsd(notionalUsd / price, price, bracketsOf(table))
    expect(Math.abs(found - expected)).toBeLessThan(1e-9 * notionalUsd)
  })

  test.prop([
    fc.constantFrom(...tables),
    fc.constantFrom(1, -1),
    fc.double({ min: 10, max: 1e10, noNaN: true }),
    fc.double({ min: 1e-3, max: 1e5, noNaN: true }),
    fc.double({ min: 0.001, max: 3, noNaN: true }),
    fc.double({ min: 0, max: 0.5, noNaN: true }),
  ])(
    'the price that liquidates a position is the same, or there is none for both',
    (table, side, notionalUsd, price, value, other) => {
      const tiers = venue.maintenanceTiers(table)
      const otherMaintenanceUsd = other * notionalUsd
      const accountValueUsd = value * notionalUsd
      // Only for an account that is not liquidated already.
      fc.pre(accountValueUsd > venue.maintenanceUsd(tiers, notionalUsd) + otherMaintenanceUsd)
      const sizeBase = (side * notionalUsd) / price
      const rawUsd = accountValueUsd - sizeBase * price
      const expected = venue.modelLiquidationPrice(tiers, sizeBase, rawUsd, otherMaintenanceUsd)
      const found = engine.liquidationPrice(
        { sizeBase, price, accountValueUsd, otherMaintenanceUsd },
        bracketsOf(table),
      )
      if (expected === null || found === null) expect([found ?? 0, expected ?? 0]).toEqual([0, 0])
      else expect(Math.abs(found / expected - 1)).toBeLessThan(1e-6)
    },
  )

  function bracketsOf(id: number): readonly engine.Bracket[] {
    const table = marginTables.find((one) => one.id === id)
    return engine.maintenanceBrackets(table?.tiers ?? singleMarginTier(id))
  }
})

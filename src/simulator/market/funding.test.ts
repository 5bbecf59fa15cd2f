import { readFileSync } from 'node:fs'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  builderDexFunding,
  builderPremiumOf,
  hourlyFundingRate,
  premiumForRate,
  premiumOf,
} from './funding.ts'

const fixtures = new URL('../../../../shared/data/hl-api-fixtures/', import.meta.url)

function readFixture(name: string): string | undefined {
  try {
    return readFileSync(new URL(name, fixtures), 'utf8')
  } catch {
    // Absent outside the workshop: the test that needs it says so in its name.
    return undefined
  }
}

describe('funding', () => {
  test.each([
    [0, 0.0000125],
    [0.0005, 0.0000125],
    [-0.0004, 0.0000125],
    [0.001, 0.0000625],
    [-0.001, -0.0000625],
    [1, 0.04],
  ])('an average premium of %f makes the hourly rate %f', (premium, rate) => {
    expect(hourlyFundingRate(premium)).toBeCloseTo(rate, 12)
  })

  property.prop([fc.double({ min: -0.01, max: 0.01, noNaN: true }), fc.double({ noNaN: true })])(
    'the premium given for a settled rate makes that rate',
    (premium, modelled) => {
      const rate = hourlyFundingRate(premium)
      expect(hourlyFundingRate(premiumForRate(rate, modelled))).toBeCloseTo(rate, 12)
    },
  )

  const text = readFixture('meta-and-asset-ctxs-2026-05.json')
  test.skipIf(text === undefined)(
    'the premium of every live coin of a real frame is reproduced (needs ../shared/data)',
    () => {
      const [, contexts] = JSON.parse(text ?? '')
      let rows = 0
      for (const { premium, impactPxs, oraclePx } of contexts) {
        if (premium === null) continue
        rows++
        const [bid, ask] = impactPxs.map(Number)
        expect(premiumOf(bid, ask, Number(oraclePx))).toBeCloseTo(Number(premium), 6)
      }
      expect(rows).toBeGreaterThan(170)
    },
  )

  test.each([
    [0, 0.5, 0.00000625],
    [0.0003, 1, 0.0000125],
    [0.001, 1, 0.0000875],
    [0.001, 0, 0],
    [-0.001, 2, -0.000175],
  ])(
    "an average premium of %f on a builder's dex with the multiplier %f makes the rate %f",
    (premium, multiplier, rate) => {
      expect(hourlyFundingRate(premium, builderDexFunding(multiplier))).toBeCloseTo(rate, 12)
    },
  )

  const frame = readFixture('nautilus/ws_all_dexs_asset_ctxs.json')
  test.skipIf(frame === undefined)(
    "the premium on builders' dexes of a real frame is reproduced (needs ../shared/data)",
    () => {
      const { data } = JSON.parse(frame ?? '')
      const contexts = data.ctxs.flatMap(([dex, rows]: [string, object[]]) =>
        dex === '' ? [] : rows,
      )
      let rows = 0
      for (const { premium, impactPxs, oraclePx } of contexts) {
        if (premium === null) continue
        rows++
        const [bid, ask] = impactPxs.map(Number)
        expect(builderPremiumOf(bid, ask, Number(oraclePx))).toBeCloseTo(Number(premium), 6)
      }
      expect(rows).toBeGreaterThan(150)
    },
  )
})

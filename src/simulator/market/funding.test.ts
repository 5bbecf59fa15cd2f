import { readFileSync } from 'node:fs'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { hourlyFundingRate, premiumForRate, premiumOf } from './funding.ts'

const fixture = new URL(
  '../../../../shared/data/hl-api-fixtures/meta-and-asset-ctxs-2026-05.json',
  import.meta.url,
)

function readFixture(): string | undefined {
  try {
    return readFileSync(fixture, 'utf8')
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

  test.prop([fc.double({ min: -0.01, max: 0.01, noNaN: true }), fc.double({ noNaN: true })])(
    'the premium given for a settled rate makes that rate',
    (premium, modelled) => {
      const rate = hourlyFundingRate(premium)
      expect(hourlyFundingRate(premiumForRate(rate, modelled))).toBeCloseTo(rate, 12)
    },
  )

  const text = readFixture()
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
})

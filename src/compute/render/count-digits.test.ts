import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deviationsOf, percentOf } from './count-digits.ts'

describe('digits by the number of readings', () => {
  test.each([
    { value: 51.0667, n: 375, shown: 51 },
    { value: 51.0667, n: 20, shown: 51 },
    { value: 99.4999, n: 720, shown: 99 },
    { value: 51.0667, n: 1_440, shown: 51.1 },
    { value: 51.0667, n: 10_080, shown: 51.07 },
    { value: -12.5, n: 8, shown: -13 },
    { value: (100 * 719.5) / 720, n: 720, shown: 99 },
    { value: 50 / 720, n: 720, shown: 1 },
    { value: 99.96, n: 1_440, shown: 99.9 },
    { value: 0.04, n: 1_440, shown: 0.1 },
    { value: 100, n: 720, shown: 100 },
    { value: 0, n: 720, shown: 0 },
  ])('$value percent of $n readings shows $shown', ({ value, n, shown }) => {
    expect(percentOf(value, n)).toBe(shown)
  })

  test.each([
    { value: 2.34567, n: 20, shown: 2.3 },
    { value: -2.34567, n: 168, shown: -2.35 },
    { value: 2.34567, n: 720, shown: 2.35 },
    { value: -0.001, n: 720, shown: 0 },
  ])('$value deviations of $n readings show $shown', ({ value, n, shown }) => {
    expect(deviationsOf(value, n)).toBe(shown)
  })

  property.prop([
    fc.double({ min: 0, max: 100, noNaN: true }),
    fc.integer({ min: 1, max: 100_000 }),
  ])('the last digit is no finer than a step, and no further off than it', (value, n) => {
    const shown = percentOf(value, n)
    const decimals = `${shown}`.split('.')[1]?.length ?? 0
    if (decimals > 0) expect(10 ** -decimals).toBeGreaterThanOrEqual(100 / n - 1e-12)
    const step = 10 ** -Math.max(0, Math.floor(Math.log10(n)) - 2)
    const isNearEnd = value < step || value > 100 - step
    expect(Math.abs(shown - value)).toBeLessThanOrEqual((isNearEnd ? 1 : 0.5) * step + 1e-9)
    expect([shown === 0, shown === 100]).toEqual([value === 0, value === 100])
  })
})

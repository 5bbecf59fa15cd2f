import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import { backOffMs } from './back-off.ts'

const limits = { minMs: 1_000, maxMs: 30_000 }
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test.prop([fc.integer({ min: 1, max: 2_000 }), chance])(
  'is between its bounds',
  (failures, draw) => {
    const delayMs = backOffMs(limits, failures, draw)
    expect(delayMs).toBeGreaterThanOrEqual(limits.minMs)
    expect(delayMs).toBeLessThanOrEqual(limits.maxMs)
  },
)

test('doubles its ceiling with every failure, up to the maximum', () => {
  const ceilings = [1, 2, 3, 4, 5, 6, 7].map((failures) => backOffMs(limits, failures, 1))
  expect(ceilings).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

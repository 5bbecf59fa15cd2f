import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { completenessWarnings, coveragePct } from './completeness.ts'

const share = fc.record({ have: fc.nat(1_000), need: fc.nat(1_000) })

describe('completeness', () => {
  test.each([
    { given: {}, expected: [] },
    { given: { history: { have: 60, need: 60 } }, expected: [] },
    { given: { history: { have: 59, need: 60 } }, expected: ['short_history'] },
    { given: { records: { have: 23, need: 24 } }, expected: ['partial_data'] },
    { given: { records: { have: 24, need: 24 } }, expected: [] },
    { given: { members: { have: 80, need: 100 } }, expected: [] },
    { given: { members: { have: 79, need: 100 } }, expected: ['low_coverage'] },
    { given: { members: { have: 0, need: 0 } }, expected: [] },
  ])('$given warns of $expected', ({ given, expected }) => {
    expect(completenessWarnings(given)).toEqual(expected)
  })

  property.prop([share])(
    'coverage is between 0 and 100, and 100 where everything is available',
    (given) => {
      const pct = coveragePct(given)
      expect(pct).toBeGreaterThanOrEqual(0)
      expect(pct).toBeLessThanOrEqual(100)
      expect(pct === 100).toBe(given.have >= given.need)
    },
  )
})

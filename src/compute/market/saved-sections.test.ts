import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { joinSections, splitSections } from './saved-sections.ts'

describe('sections', () => {
  property.prop([fc.array(fc.array(fc.double()))])('come apart as they were joined', (sections) => {
    expect(splitSections(joinSections(sections))?.map((section) => [...section])).toEqual(sections)
  })

  test.each([[[2, 1]], [[-1]], [[0.5]], [[Number.NaN, 1]]])(
    '%j is nothing that was joined',
    (numbers) => {
      expect(splitSections(Float64Array.from(numbers))).toBeNull()
    },
  )
})

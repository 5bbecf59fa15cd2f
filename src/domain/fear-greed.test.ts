import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fearGreedClass, fearGreedClasses } from './fear-greed.ts'

const history = resolve(import.meta.dirname, '../../../shared/data/fear-greed-history/fng.csv')
const isAbsent = !existsSync(history)

describe('the class of a value of the index', () => {
  test.each([
    [0, 'EXTREME_FEAR'],
    [25, 'EXTREME_FEAR'],
    [25.4, 'EXTREME_FEAR'],
    [25.5, 'FEAR'],
    [26, 'FEAR'],
    [46, 'FEAR'],
    [47, 'NEUTRAL'],
    [54, 'NEUTRAL'],
    [55, 'GREED'],
    [75, 'GREED'],
    [76, 'EXTREME_GREED'],
    [100, 'EXTREME_GREED'],
  ])('%d is %s', (value, expected) => {
    expect(fearGreedClass(value)).toBe(expected)
  })

  test.skipIf(isAbsent)(
    'is what alternative.me said on each of 3,121 days (needs ../shared/data)',
    () => {
      const rows = readFileSync(history, 'utf8').trim().split('\n').slice(1)
      expect(rows).toHaveLength(3_121)
      const seen = new Set<string>()
      for (const row of rows) {
        const [date = '', , value = '', classification = ''] = row.trim().split(',')
        const expected = classification.toUpperCase().replace(' ', '_')
        seen.add(expected)
        expect(fearGreedClass(Number(value)), date).toBe(expected)
      }
      expect(seen).toEqual(new Set(fearGreedClasses))
    },
  )
})

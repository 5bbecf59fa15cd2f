import { expect, test } from 'vitest'
import { sparkPath } from './spark-path.ts'

test.each([
  ['the lowest value at the bottom', [1, 3, 2], 'M0,10L10,0L20,5'],
  ['equal values at the bottom', [5, 5], 'M0,10L20,10'],
  ['nothing for one value', [5], ''],
  ['nothing for none', [], ''],
])('a spark path has %s', (_what, values, path) => {
  expect(sparkPath(values, 20, 10)).toBe(path)
})

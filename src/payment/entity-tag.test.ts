import { expect, test } from 'vitest'
import { isNamedBy } from './entity-tag.ts'

test.each([
  ['"1-all"', true],
  ['W/"1-all"', true],
  ['"0-all", "1-all"', true],
  [' W/"0" ,"1-all" ', true],
  ['*', true],
  ['"2-all"', false],
  ['1-all', false],
  ['"1-al', false],
  ['', false],
  [undefined, false],
])('If-None-Match: %s names "1-all": %s', (header, named) => {
  expect(isNamedBy(header, '"1-all"')).toBe(named)
})

test('a tag that is weak is named by its strong form', () => {
  expect(isNamedBy('"1"', 'W/"1"')).toBe(true)
})

import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { jsonFault } from './json-fault.ts'

test.each([
  ['{"price":1,"price":2}', 'price'],
  ['{"a":{"b":[{"c":1,"d":"x","c" : 1}]}}', 'c'],
  ['{"coin":"BTC","c\\u006fin":"ETH"}', 'coin'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"":1,"":2}', ''],
  ['{"a\\"":1,"a\\"":2}', 'a"'],
])('%s repeats a name', (text, name) =>
  expect(jsonFault(text)).toBe(`names ${JSON.stringify(name)} twice`),
)

test.each([
  ['[1e999]', 'has the number 1e999, which is not finite'],
  ['{"a":{"b":-1E+309}}', 'has the number -1E+309, which is not finite'],
  [`{"a":1${'0'.repeat(400)}}`, `has the number 1${'0'.repeat(39)}, which is not finite`],
  [`${'['.repeat(101)}${']'.repeat(101)}`, 'is nested more than 100 levels deep'],
])('%.30s is not taken', (text, fault) => expect(jsonFault(text)).toBe(fault))

test.each([
  '{"a":{"a":[{"a":1},{"a":"a"}]},"b":"a"}',
  '{"a":"{\\"b\\":1,\\"b\\":2}"}',
  '["a","a"]',
  '[-0,1.0,1e308,5e-324,1e-999,0.10000000000000001]',
  '{"a":"1e999"}',
  `${'['.repeat(100)}${']'.repeat(100)}`,
  '{"a":1,"a":',
  'no JSON',
])('%.30s has no fault', (text) => expect(jsonFault(text)).toBeNull())

property.prop([fc.json()])('what JSON.stringify writes has none', (text) => {
  expect(jsonFault(JSON.stringify(JSON.parse(text), null, 1))).toBeNull()
})

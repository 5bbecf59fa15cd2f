import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { repeatedName } from './repeated-name.ts'

test.each([
  ['{"price":1,"price":2}', 'price'],
  ['{"a":{"b":[{"c":1,"d":"x","c" : 1}]}}', 'c'],
  ['{"coin":"BTC","c\\u006fin":"ETH"}', 'coin'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"":1,"":2}', ''],
  ['{"a\\"":1,"a\\"":2}', 'a"'],
])('%s repeats a name', (text, name) => expect(repeatedName(text)).toBe(name))

test.each([
  '{"a":{"a":[{"a":1},{"a":"a"}]},"b":"a"}',
  '{"a":"{\\"b\\":1,\\"b\\":2}"}',
  '["a","a"]',
  '{"a":1,"a":',
  'no JSON',
])('%s repeats none', (text) => expect(repeatedName(text)).toBeNull())

property.prop([fc.json()])('what JSON.stringify writes repeats none', (text) => {
  expect(repeatedName(JSON.stringify(JSON.parse(text), null, 1))).toBeNull()
})

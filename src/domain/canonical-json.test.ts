import { fc, test } from '@fast-check/vitest'
import { canonicalize } from '@x402/extensions/offer-receipt'
import { expect } from 'vitest'
import { canonicalJson } from './canonical-json.ts'

test('the example of RFC 8785, section 3.2.2', () => {
  const example = JSON.parse(String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`)
  expect(canonicalJson(example)).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
})

test.prop([fc.json()])('is that of the library of x402', (text) => {
  const value: unknown = JSON.parse(text)
  expect(canonicalJson(value)).toBe(canonicalize(value))
})

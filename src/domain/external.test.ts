import { expect, test } from 'vitest'
import { assetOf } from './external.ts'

test.each([
  ['BTC', 'BTC', 1],
  ['kPEPE', 'PEPE', 1_000],
  ['kBONK', 'BONK', 1_000],
  ['UBTC', 'BTC', 1],
  // A name of its own, not a thousand of something.
  ['KAS', 'KAS', 1],
])('%s is made of %s times %d', (coin, asset, scale) => {
  expect(assetOf(coin)).toEqual({ asset, scale })
})

test('a coin of a builder dex has no external counterpart', () => {
  expect(assetOf('xyz:XYZ100')).toBeNull()
})

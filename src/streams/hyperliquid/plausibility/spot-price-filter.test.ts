import { expect, test } from 'vitest'
import { SpotPriceFilter } from './spot-price-filter.ts'

test('a price that moves by more than a quarter is null until the next reply confirms it', () => {
  const filter = new SpotPriceFilter()
  const accept = (usdcPrice: number) =>
    filter.accept([{ token: 2, name: 'USDE', usdcPrice, dayNotionalUsd: 2e6 }])[0]?.usdcPrice
  expect([1, 0.99, 0.6, 0.61, 6, 0.6, 0.6].map(accept)).toEqual([
    1,
    0.99,
    null,
    0.61,
    null,
    null,
    0.6,
  ])
})

import { expect, test } from 'vitest'
import { url, usdcNumber } from './values.ts'

test('an amount of a budget is 0.000001 to 1e9 USDC', () => {
  expect(['0.000001', '0.05', '1000000000'].map(usdcNumber)).toEqual([0.000_001, 0.05, 1e9])
  for (const text of ['0', '-1', '0.0000001', '1000000001', '1e30', 'Infinity', 'much'])
    expect(() => usdcNumber(text), text).toThrow()
})

test('a URL to which paths are appended has no fragment', () => {
  expect(url('https://api.example.com/base/')).toBe('https://api.example.com/base')
  expect(() => url('https://api.example.com/#top')).toThrow(/without a fragment/)
})

import { expect, test } from 'vitest'
import type { LotBar } from './lot-bar.ts'
import { flatBar, mergeBars } from './lot-bar.ts'

const traded = (open: number, high: number, low: number, close: number): LotBar => ({
  open,
  high,
  low,
  close,
  lots: 10,
  trades: 4,
})

test('parts without trades say nothing of a bar in which others were traded', () => {
  const [first, second] = [traded(105, 109, 104, 108), traded(108, 108, 106, 107)]
  const expected = { open: 105, high: 109, low: 104, close: 107, lots: 20, trades: 8 }
  expect(mergeBars([flatBar(100), first, flatBar(108), second, flatBar(107)])).toEqual(expected)
})

test('a bar without any trade stands where the price stood', () => {
  expect(mergeBars([flatBar(100), flatBar(100)])).toEqual(flatBar(100))
  expect(mergeBars([])).toBeUndefined()
})

import { expect, test } from 'vitest'
import { sectorMatrix } from './matrix-order.ts'

const coins = ['DOGE', 'BTC', 'ETH', 'kPEPE', 'SOL']
/** Each value names its row and column. */
const values = coins.map((_, row) => coins.map((_, column) => row * 10 + column))

test('coins of a sector are neighbours, those without one are first', () => {
  const ordered = sectorMatrix({ coins, values })
  expect(ordered.coins).toEqual(['BTC', 'ETH', 'SOL', 'DOGE', 'kPEPE'])
  expect(ordered.groups).toEqual([
    { sector: null, size: 1 },
    { sector: 'L1', size: 2 },
    { sector: 'Meme', size: 2 },
  ])
})

test('a value stays with its pair', () => {
  const ordered = sectorMatrix({ coins, values })
  const of = (row: string, column: string) =>
    ordered.values[ordered.coins.indexOf(row)]?.[ordered.coins.indexOf(column)]
  expect([of('DOGE', 'ETH'), of('ETH', 'DOGE'), of('SOL', 'SOL')]).toEqual([2, 20, 44])
})

test('an unknown pair stays unknown', () => {
  expect(sectorMatrix({ coins: ['ETH', 'BTC'], values: [[1, null]] }).values).toEqual([
    [null, null],
    [null, 1],
  ])
})

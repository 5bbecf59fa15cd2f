import { describe, expect, test } from 'vitest'
import { nextSort, ordered, readSort, sortText } from './table-order.ts'

describe('sort in the address', () => {
  test.each(['volume', '-volume', 'cex-gap'])('%s is read as it is written', (text) => {
    expect(sortText(readSort(text))).toBe(text)
  })

  test.each([null, '', '-'])('%j is no sort', (text) => {
    expect(readSort(text)).toBeNull()
  })

  test('presses on a header of numbers: largest first, smallest first, order of the answer', () => {
    const first = nextSort({ column: 'price', isDescending: false }, 'volume', false)
    const second = nextSort(first, 'volume', false)
    expect([first, second, nextSort(second, 'volume', false)].map(sortText)).toEqual([
      '-volume',
      'volume',
      null,
    ])
  })

  test('presses on a header of texts: A first, Z first, order of the answer', () => {
    const first = nextSort(null, 'coin', true)
    const second = nextSort(first, 'coin', true)
    expect([first, second, nextSort(second, 'coin', true)].map(sortText)).toEqual([
      'coin',
      '-coin',
      null,
    ])
  })
})

describe('order of rows', () => {
  const rows = [
    { coin: 'kPEPE', volume: 5 },
    { coin: 'BTC', volume: null },
    { coin: 'ETH', volume: -3 },
    { coin: '2Z', volume: 5 },
  ] as const
  const coinsBy = (value: (row: (typeof rows)[number]) => string | number | null, falls: boolean) =>
    ordered(rows, value, falls).map(({ coin }) => coin)

  test('is by number, unknown last in both directions, equal rows as before', () => {
    expect(coinsBy(({ volume }) => volume, true)).toEqual(['kPEPE', '2Z', 'ETH', 'BTC'])
    expect(coinsBy(({ volume }) => volume, false)).toEqual(['ETH', 'kPEPE', '2Z', 'BTC'])
  })

  test('is by letters without regard to case', () => {
    expect(coinsBy(({ coin }) => coin, false)).toEqual(['2Z', 'BTC', 'ETH', 'kPEPE'])
  })

  test('leaves the rows of the answer as they are', () => {
    const before = [...rows]
    coinsBy(({ volume }) => volume, true)
    expect(rows).toEqual(before)
  })
})

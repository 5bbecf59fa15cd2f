import { describe, expect, test } from 'vitest'
import { cellAfterKey, cellWithin, heatLimit, heatOf } from './heat-scale.ts'

describe('heat of a value', () => {
  test.each([
    [5, 0.5],
    [-10, -1],
    [-40, -1],
    [40, 1],
  ])('up to 10: %d is %d', (value, heat) => {
    expect(heatOf(10, value)).toBe(heat)
  })

  test('is 0 where all values are', () => {
    expect(heatOf(0, 0)).toBe(0)
  })
})

test('the limit leaves outliers of both signs out', () => {
  const values = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? at : -at))
  expect(heatLimit([...values, null, -1e9])).toBe(98)
  expect(heatLimit([null])).toBe(0)
})

test('a chosen cell is none on a map that has become smaller', () => {
  const cell = { row: 2, column: 3 }
  expect(cellWithin(cell, { rows: 3, columns: 4 })).toBe(cell)
  expect(cellWithin(cell, { rows: 2, columns: 4 })).toBeNull()
  expect(cellWithin(cell, { rows: 3, columns: 3 })).toBeNull()
})

describe('keys', () => {
  const size = { rows: 3, columns: 4 }
  test.each([
    ['ArrowRight', { row: 1, column: 2 }],
    ['ArrowLeft', { row: 1, column: 0 }],
    ['ArrowUp', { row: 0, column: 1 }],
    ['ArrowDown', { row: 2, column: 1 }],
    ['Home', { row: 1, column: 0 }],
    ['End', { row: 1, column: 3 }],
  ])('%s moves', (key, cell) => {
    expect(cellAfterKey(key, { row: 1, column: 1 }, size)).toEqual(cell)
  })

  test('stay within the map', () => {
    expect(cellAfterKey('ArrowDown', { row: 2, column: 3 }, size)).toEqual({ row: 2, column: 3 })
    expect(cellAfterKey('ArrowLeft', { row: 0, column: 0 }, size)).toEqual({ row: 0, column: 0 })
  })

  test('of another meaning are left to the page', () => {
    expect(cellAfterKey('Tab', { row: 0, column: 0 }, size)).toBeNull()
  })
})

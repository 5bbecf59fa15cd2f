import { describe, expect, test } from 'vitest'
import { returnsIn, returnTable } from './return-table.ts'

const END_HOUR = 490_003

describe('table of returns', () => {
  const table = returnTable(Float64Array.of(1, 2, 4, 2, 10, Number.NaN, 10, 20), 3, END_HOUR)

  test('has the log return of two neighbouring closes, and none where one is unknown', () => {
    const { LN2 } = Math
    const unknown = Number.NaN
    expect([...table.values]).toEqual([LN2, LN2, -LN2, unknown, unknown, LN2])
  })

  test.each([
    { row: 0, ageHours: 0, hours: 3, first: 0, count: 3 },
    { row: 0, ageHours: 1, hours: 2, first: 0, count: 2 },
    { row: 1, ageHours: 0, hours: 1, first: 5, count: 1 },
  ])('row $row: $hours hours that ended $ageHours h earlier', ({ row, ageHours, hours, ...at }) => {
    const window = { endHour: END_HOUR - ageHours, hours }
    expect([...returnsIn(table, row, window)]).toEqual([
      ...table.values.slice(at.first, at.first + at.count),
    ])
  })
})

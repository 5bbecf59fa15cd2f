import { describe, expect, test } from 'vitest'
import { copyRow, LiveReturnTable } from './return-table.ts'
import { START_HOUR, tableOf } from './testing/returns.ts'

describe('table of returns', () => {
  test('a shared table does not change with later writes', () => {
    const table = tableOf([[0.01, 0.02]], 8)
    const shared = table.share()
    const before = [...shared.values]
    table.set(0, START_HOUR, 0.5)
    table.addRow()
    expect([...shared.values]).toEqual(before)
    expect(shared.rows).toBe(1)
    expect(table.at(0, START_HOUR)).toBe(0.5)
  })

  test('is shared without a copy, and copied for the first change alone', () => {
    const table = tableOf([[0.01, 0.02]], 8)
    expect(table.share().values.buffer).toBeInstanceOf(SharedArrayBuffer)
    expect(table.share().values).toBe(table.values)
    table.set(0, START_HOUR, 0.5)
    const own = table.values
    table.set(0, START_HOUR + 1, 0.6)
    expect(table.values).toBe(own)
  })

  test('writing an equal value changes nothing and copies nothing', () => {
    const table = tableOf([[0.01, Number.NaN]], 8)
    const { values } = table.share()
    expect(table.set(0, START_HOUR, 0.01)).toBe(false)
    expect(table.set(0, START_HOUR + 1, Number.NaN)).toBe(false)
    expect(table.values).toBe(values)
  })

  test.each([0, 1, 5, 7])('copies a window oldest first, %i hours round the ring', (shift) => {
    const table = new LiveReturnTable(2, 8)
    table.addRow()
    table.addRow()
    const endHour = START_HOUR + shift
    for (let age = 0; age < 6; age += 1) table.set(1, endHour - age, 6 - age)
    const target = new Float64Array(6)
    copyRow(table, 1, { endHour, hours: 6 }, target)
    expect([...target]).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('the last row takes the number of a removed one', () => {
    const table = tableOf([[0.01], [0.02], [0.03]], 4)
    table.removeRow(0)
    expect(table.rows).toBe(2)
    expect(table.at(0, START_HOUR)).toBe(0.03)
    expect(table.at(1, START_HOUR)).toBe(0.02)
  })

  test('a new row is empty', () => {
    const table = tableOf([[0.01], [0.02]], 4)
    table.removeRow(1)
    expect(table.at(table.addRow(), START_HOUR)).toBeNaN()
  })

  test('is empty after clear', () => {
    const table = tableOf([[0.01], [0.02]], 4)
    table.clear()
    expect(table.at(0, START_HOUR)).toBeNaN()
    expect(table.at(1, START_HOUR)).toBeNaN()
  })
})

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LiveReturnTable } from './return-table.ts'
import { AGREEMENT, RollingCorrelation } from './rolling-correlation.ts'
import {
  coins,
  difference,
  fromReturns,
  logReturn,
  readAll,
  START_HOUR,
  summedOver,
  tableOf,
} from './testing/returns.ts'

const HOURS = 12
const RING = 20
const ROWS_MAX = 9

describe('rolling correlations', () => {
  property.prop([coins({ min: 1, max: 9 }, { min: 13, max: 19 }, 0)])(
    'equal those from the returns after every hour, without gaps',
    (rows) => {
      const { table, rolling, until } = begun(rows)
      while (rolling.endHour < until) {
        rolling.roll()
        expect(difference(held(rolling, table), expectedOf(rolling, table))).toBeLessThan(AGREEMENT)
      }
    },
  )

  property.prop([coins({ min: 1, max: 9 }, { min: 13, max: 19 }, 15)])(
    'equal those from the returns after every hour, each pair over its common hours',
    (rows) => {
      const { table, rolling, until } = begun(rows)
      while (rolling.endHour < until) {
        rolling.roll()
        expect(difference(held(rolling, table), expectedOf(rolling, table))).toBeLessThan(AGREEMENT)
      }
    },
  )

  property.prop([
    coins({ min: 2, max: 5 }, { min: 14, max: 14 }, 10),
    fc.array(step(), { maxLength: 60 }),
  ])(
    'equal those from the returns after any listing, delisting, gap, correction and hour',
    (rows, steps) => {
      const { table, rolling } = begun(rows, ROWS_MAX)
      for (const each of steps) {
        takeStep(table, rolling, each)
        expect(difference(held(rolling, table), expectedOf(rolling, table))).toBeLessThan(AGREEMENT)
      }
      for (let row = 0; row < table.rows; row += 1) rolling.sum(row)
      const values = readAll(rolling, table.rows)
      const expected = expectedOf(rolling, table)
      for (const [at, r] of values.entries()) {
        // What is summed a moment ago is left to others only where its digits are lost.
        if (!Number.isNaN(r)) expect(Math.abs(r - (expected[at] as number))).toBeLessThan(AGREEMENT)
      }
    },
  )

  property.prop([coins({ min: 2, max: 9 }, { min: 19, max: 19 }, 10)])(
    'give one pair as they give all',
    (rows) => {
      const { table, rolling } = begun(rows)
      for (let hour = 0; hour < 6; hour += 1) rolling.roll()
      const all = readAll(rolling, table.rows)
      for (let a = 0; a < table.rows; a += 1)
        for (let b = 0; b < table.rows; b += 1) {
          const r = rolling.correlation(a, b)
          expect(difference([r], [all[a * table.rows + b] as number])).toBeLessThan(1e-12)
          if (!Number.isNaN(r)) expect(Math.abs(r)).toBeLessThanOrEqual(1)
        }
    },
  )

  test('have all pairs of summed rows that move and know the window', () => {
    const rows = [0, 1, 2, 3, 4].map((row) => wave(row, 19))
    const { table, rolling } = begun(rows)
    for (let hour = 0; hour < 6; hour += 1) rolling.roll()
    expect(readAll(rolling, table.rows).every((r) => Number.isFinite(r))).toBe(true)
  })

  test('have nothing of a row that is not summed, and leave the others theirs', () => {
    const rows = [0, 1, 2].map((row) => wave(row, 14))
    const { rolling } = begun(rows)
    rolling.invalidate(1)
    expect(rolling.isSummed(1)).toBe(false)
    expect(rolling.correlation(0, 1)).toBeNaN()
    expect(rolling.correlation(0, 2)).not.toBeNaN()
  })

  test('forget a row whose movement has left the window, until it is summed', () => {
    const spike = [0.5, ...wave(1, 13).map((value) => value * 1e-4)]
    const { table, rolling } = begun([wave(0, 14), spike])
    expect(rolling.isSummed(1)).toBe(true)
    rolling.roll()
    expect(rolling.isSummed(1)).toBe(false)
    rolling.sum(1)
    expect(difference(readAll(rolling, 2), expectedOf(rolling, table))).toBeLessThan(1e-12)
  })

  test('know nothing of a coin that stopped moving', () => {
    const stopped = [0.01, -0.02, ...Array.from({ length: 14 }, () => 0)]
    const { rolling } = begun([wave(0, 16), stopped])
    for (let hour = 0; hour < 3; hour += 1) {
      rolling.roll()
      if (!rolling.isSummed(1)) rolling.sum(1)
    }
    expect(rolling.correlation(0, 1)).toBeNaN()
    expect(rolling.correlation(1, 1)).toBeNaN()
  })

  test('recomputation without change counts no disagreement', () => {
    const { table, rolling } = begun([0, 1, 2, 3].map((row) => wave(row, 19)))
    for (let hour = 0; hour < 6; hour += 1) rolling.roll()
    for (let row = 0; row < table.rows; row += 1) expect(rolling.sum(row)).toBe(0)
  })

  test('recomputation counts the correlations that it corrects', () => {
    const { table, rolling } = begun([0, 1, 2, 3].map((row) => wave(row, 14)))
    // A change that nobody told of, as a defect would be.
    table.set(2, START_HOUR + 5, 0.3)
    expect(rolling.sum(2)).toBe(3)
    expect(difference(readAll(rolling, 4), expectedOf(rolling, table))).toBeLessThan(1e-12)
  })

  test('stay exact over ten thousand hours with falls and gaps, summed as the tracker does', () => {
    const rows = 8
    const table = tableOf(
      Array.from({ length: rows }, (_, row) => wave(row, RING)),
      RING,
    )
    const rolling = summedOver(table, START_HOUR + RING - 1, HOURS)
    for (let hour = 0; hour < 10_000; hour += 1) {
      const enters = rolling.endHour + 1
      for (let row = 0; row < rows; row += 1) {
        const isGap = (hour * 31 + row * 17) % 41 === 0
        const isFall = (hour + row * 100) % 997 === 0
        const usual = 0.004 * Math.sin(hour * (row + 1) * 0.7) + 0.002 * Math.cos(hour * 1.3)
        table.set(row, enters, isGap ? Number.NaN : isFall ? -2 : usual)
      }
      rolling.roll()
      for (let row = 0; row < rows; row += 1) if (!rolling.isSummed(row)) rolling.sum(row)
      if (hour % 24 === 0) rolling.sum((hour / 24) % rows)
      if (hour % 101 !== 0) continue
      expect(difference(held(rolling, table), expectedOf(rolling, table))).toBeLessThan(AGREEMENT)
    }
  })

  test('a table that ends with the window is refused: what leaves would be gone', () => {
    const table = tableOf([wave(0, HOURS)], HOURS)
    expect(() => new RollingCorrelation(table, HOURS, 2)).toThrow(/still in the table/)
  })
})

type Step =
  | { readonly kind: 'hour'; readonly returns: readonly number[] }
  | {
      readonly kind: 'correction'
      readonly row: number
      readonly age: number
      readonly value: number
    }
  | { readonly kind: 'listing'; readonly returns: readonly number[] }
  | { readonly kind: 'delisting'; readonly row: number }
  | { readonly kind: 'sum'; readonly row: number }

function step(): fc.Arbitrary<Step> {
  const cell = fc.oneof(
    { weight: 9, arbitrary: logReturn },
    { weight: 1, arbitrary: fc.constant(Number.NaN) },
  )
  const cells = (count: number) =>
    fc.array(cell, { minLength: count, maxLength: count, size: 'max' })
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('hour' as const), returns: cells(ROWS_MAX) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('correction' as const),
        row: fc.nat(ROWS_MAX),
        age: fc.nat(HOURS - 1),
        value: cell,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('listing' as const), returns: cells(HOURS) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('delisting' as const), row: fc.nat(ROWS_MAX) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('sum' as const), row: fc.nat(ROWS_MAX) }),
    },
  )
}

/** As the tracker does it. */
function takeStep(table: LiveReturnTable, rolling: RollingCorrelation, each: Step): void {
  const row = 'row' in each && table.rows > 0 ? each.row % table.rows : 0
  if (each.kind === 'hour') {
    for (let to = 0; to < table.rows; to += 1)
      table.set(to, rolling.endHour + 1, each.returns[to] as number)
    rolling.roll()
  } else if (each.kind === 'listing') {
    if (table.rows === ROWS_MAX) return
    const added = table.addRow()
    rolling.invalidate(added)
    for (const [age, value] of each.returns.entries())
      table.set(added, rolling.endHour - age, value)
  } else if (table.rows > 0 && each.kind === 'correction') {
    if (table.set(row, rolling.endHour - each.age, each.value)) rolling.invalidate(row)
  } else if (table.rows > 0 && each.kind === 'delisting') {
    table.removeRow(row)
    rolling.invalidate(row)
  } else if (table.rows > 0) {
    rolling.sum(row)
  }
}

/** Sums over the first window of these rows. */
function begun(rows: readonly (readonly number[])[], rowsMax = rows.length) {
  const padding = Array.from({ length: rowsMax - rows.length }, () => [] as number[])
  const table = tableOf([...rows, ...padding], RING)
  for (let row = rowsMax; row > rows.length; row -= 1) table.removeRow(row - 1)
  const rolling = summedOver(table, START_HOUR + HOURS - 1, HOURS)
  return { table, rolling, until: START_HOUR + (rows[0]?.length ?? 0) - 1 }
}

/** Correlations of the sums; pairs that they do not have come from the returns. */
function held(rolling: RollingCorrelation, table: LiveReturnTable): Float64Array {
  const expected = expectedOf(rolling, table)
  return readAll(rolling, table.rows).map((r, at) =>
    Number.isNaN(r) ? (expected[at] as number) : r,
  )
}

function expectedOf(rolling: RollingCorrelation, table: LiveReturnTable): Float64Array {
  const window = { endHour: rolling.endHour, hours: HOURS }
  return fromReturns(table, window, 2)
}

function wave(row: number, hours: number): number[] {
  return Array.from({ length: hours }, (_, at) => 0.01 * Math.sin(at * (row + 1) + row))
}

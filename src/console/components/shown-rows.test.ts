import fc from 'fast-check'
import { expect, test } from 'vitest'
import { areEnough, shownRows, WHOLE_ROWS_MAX } from './shown-rows.ts'

const rowPx = 26
const heightPx = 520

test('a short table is drawn whole', () => {
  const { from, to } = shownRows(WHOLE_ROWS_MAX, { rowPx, heightPx, scrolledPx: 400 })
  expect([from, to]).toEqual([0, WHOLE_ROWS_MAX])
})

test('every row in sight is drawn, one more on both sides, and never many', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 61, max: 2_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (count, share) => {
        const scrolledPx = share * (count * rowPx - heightPx)
        const { from, to } = shownRows(count, { rowPx, heightPx, scrolledPx })
        const [first, last] = [scrolledPx / rowPx, (scrolledPx + heightPx) / rowPx]
        expect(from).toBeLessThanOrEqual(Math.max(0, first - 1))
        expect(to).toBeGreaterThanOrEqual(Math.min(count, last + 1))
        expect(to).toBeLessThanOrEqual(count)
        expect(to - from).toBeLessThanOrEqual(WHOLE_ROWS_MAX)
      },
    ),
  )
})

test('a table that was scrolled and has fewer rows now shows its last ones', () => {
  const { from, to } = shownRows(70, { rowPx, heightPx, scrolledPx: 5_000 })
  expect([from, to]).toEqual([50, 70])
})

test('rows that are drawn are enough for a window that moves by some rows, and not for one far away', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 61, max: 2_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: -5, max: 5, noNaN: true }),
      fc.integer({ min: 0, max: 3_000 }),
      (count, share, movedRows, heightPx) => {
        const endPx = Math.max(0, count * rowPx - heightPx)
        const scrolledPx = share * endPx
        const drawn = shownRows(count, { rowPx, heightPx, scrolledPx })
        const movedPx = Math.min(endPx, Math.max(0, scrolledPx + movedRows * rowPx))
        expect(areEnough(drawn, count, { rowPx, heightPx, scrolledPx: movedPx })).toBe(true)
      },
    ),
  )
  const drawn = shownRows(200, { rowPx, heightPx, scrolledPx: 0 })
  expect(areEnough(drawn, 200, { rowPx, heightPx, scrolledPx: 20 * rowPx })).toBe(false)
})

import { describe, expect, test } from 'vitest'
import { EventGrid } from './event-grid.ts'

const STEP_MS = 60_000
const START_MS = Date.UTC(2026, 0, 1)
const timeAt = (steps: number) => START_MS + steps * STEP_MS

describe('event grid', () => {
  test('reports each instant once, at the first time that is not before it', () => {
    const grid = new EventGrid(STEP_MS)
    const passed = [0.5, 0.9, 1, 1.5, 1.99, 2.01].map((steps) => grid.passed(timeAt(steps)))
    expect(passed).toEqual([Number.NaN, Number.NaN, timeAt(1), Number.NaN, Number.NaN, timeAt(2)])
  })

  test('reports the last of several instants that were skipped', () => {
    const grid = new EventGrid(STEP_MS)
    grid.passed(timeAt(0))
    expect(grid.passed(timeAt(7.3))).toBe(timeAt(7))
    expect(grid.passed(timeAt(7.9))).toBeNaN()
    expect(grid.passed(timeAt(8))).toBe(timeAt(8))
  })

  test('is not moved by times that come a little out of order', () => {
    const grid = new EventGrid(STEP_MS)
    grid.passed(timeAt(4.9))
    expect(grid.passed(timeAt(5.1))).toBe(timeAt(5))
    expect(grid.passed(timeAt(4.2))).toBeNaN()
    expect(grid.passed(timeAt(5.2))).toBeNaN()
  })

  test('follows a clock that was put back', () => {
    const grid = new EventGrid(STEP_MS)
    grid.passed(timeAt(100))
    expect(grid.passed(timeAt(40.5))).toBeNaN()
    expect(grid.passed(timeAt(41))).toBe(timeAt(41))
  })

  test('precedes the whole steps by its lead', () => {
    const grid = new EventGrid(STEP_MS, 10_000)
    grid.passed(timeAt(0.5))
    expect(grid.passed(timeAt(1) - 10_001)).toBeNaN()
    expect(grid.passed(timeAt(1) - 10_000)).toBe(timeAt(1) - 10_000)
    expect(grid.passed(timeAt(1))).toBeNaN()
  })
})

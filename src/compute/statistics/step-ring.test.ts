import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { percentileOf } from './series-statistics.ts'
import { StepRing } from './step-ring.ts'

const STEP_MS = 1_000
const LENGTH = 10

describe('step ring', () => {
  property.prop([fc.array(fc.record({ step: fc.nat(40), value: fc.double({ noNaN: true }) }))])(
    'holds the last row of each of the newest steps, in any order of arrival',
    (rows) => {
      const ring = new StepRing(STEP_MS, LENGTH, 1)
      const known = new Map<number, number>()
      let newest = -1
      for (const { step, value } of rows) {
        ring.set(step, [value])
        if (step > newest - LENGTH) known.set(step, value)
        newest = Math.max(newest, step)
      }
      for (let step = newest - LENGTH + 1; step <= newest; step += 1) {
        expect(ring.has(step)).toBe(known.has(step))
        expect(ring.at(step, 0)).toBe(known.get(step) ?? Number.NaN)
        expect(ring.row(step)).toEqual([known.get(step) ?? Number.NaN])
      }
      expect(ring.newestStep).toBe(newest)
      const window = [...known].filter(([step]) => step > newest - LENGTH)
      const steps = window.map(([step]) => step).sort((one, other) => one - other)
      expect(ring.steps()).toEqual(steps)
      expect(ring.steps(20, 25)).toEqual(steps.filter((step) => step >= 20 && step <= 25))
      const ascending = window.sort(([one], [other]) => one - other).map(([, value]) => value)
      expect([...ring.values(0, newest - LENGTH + 1, newest)]).toEqual(ascending)
    },
  )

  property.prop([
    fc.array(fc.record({ step: fc.nat(40), value: fc.nat(20) })),
    fc.nat(45),
    fc.nat(15),
    fc.nat(20),
  ])('ranks a value among those of some steps', (rows, fromStep, steps, value) => {
    const ring = new StepRing(STEP_MS, LENGTH, 2)
    for (const row of rows) ring.set(row.step, [-1, row.value])
    const ascending = ring.values(1, fromStep, fromStep + steps).toSorted()
    expect(ring.percentile(1, fromStep, fromStep + steps, value)).toBe(
      percentileOf(ascending, value),
    )
  })

  property.prop([
    fc.uniqueArray(fc.integer({ min: 100, max: 109 })),
    fc.integer({ min: 98_000, max: 112_000 }),
    fc.nat(6_000),
  ])('finds the nearest row, the earlier of two as near', (steps, timeMs, offMsMax) => {
    const ring = new StepRing(STEP_MS, LENGTH, 1)
    for (const step of steps) ring.set(step, [step])
    const off = (step: number) => Math.abs(step * STEP_MS - timeMs)
    const nearest = steps
      .filter((step) => off(step) <= offMsMax)
      .sort((one, other) => off(one) - off(other) || one - other)[0]
    expect(ring.nearest(timeMs, offMsMax)).toBe(nearest ?? Number.NaN)
  })

  property.prop([
    fc.array(fc.record({ step: fc.nat(30), row: fc.tuple(fc.nat(1_000), fc.nat(1_000)) })),
  ])('adds to the row of a step, or begins it', (rows) => {
    const ring = new StepRing(STEP_MS, LENGTH, 2)
    const sums = new Map<number, readonly [number, number]>()
    let newest = -1
    for (const { step, row } of rows) {
      ring.add(step, row)
      if (step <= newest - LENGTH) continue
      const [one, other] = sums.get(step) ?? [0, 0]
      sums.set(step, [one + row[0], other + row[1]])
      newest = Math.max(newest, step)
    }
    for (let step = Math.max(0, newest - LENGTH + 1); step <= newest; step += 1) {
      const row = ring.has(step) ? [ring.at(step, 0), ring.at(step, 1)] : undefined
      expect(row).toEqual(sums.get(step))
    }
  })

  test('of two as near it takes the earlier', () => {
    const ring = new StepRing(STEP_MS, LENGTH, 1)
    for (const step of [100, 101]) ring.set(step, [0])
    expect(ring.nearest(100_500, 500)).toBe(100)
    expect(ring.nearest(100_501, 500)).toBe(101)
  })

  test('keeps seven digits of a number where it is made for that', () => {
    const ring = new StepRing(STEP_MS, LENGTH, 2, Float32Array)
    ring.set(7, [1 / 3, 5])
    expect([ring.at(7, 0), ring.at(7, 1)]).toEqual([Math.fround(1 / 3), 5])
  })

  test('has no row at a step that is none', () => {
    const ring = new StepRing(STEP_MS, LENGTH, 1)
    ring.set(-1, [5])
    ring.set(0, [5])
    for (const step of [-1, Number.NaN, 0.5, 1]) {
      expect(ring.has(step)).toBe(false)
      expect(ring.at(step, 0)).toBeNaN()
    }
    expect(ring.nearest(Number.NaN, 1_000)).toBeNaN()
  })
})

import { describe, expect, test } from 'vitest'
import { HOLD_MS, OpenSpans } from './arb-spans.ts'

const STEP_MS = 10_000

describe('since when something holds', () => {
  test('is confirmed in its second sample, and a repeated sample does not count', () => {
    const spans = new OpenSpans(1)
    spans.observe(0, true, STEP_MS)
    spans.observe(0, true, STEP_MS)
    expect(spans.isConfirmed(0, STEP_MS)).toBe(false)
    spans.observe(0, true, 2 * STEP_MS)
    expect(spans.isConfirmed(0, 2 * STEP_MS)).toBe(true)
    expect(spans.ageMs(0, 2 * STEP_MS)).toBe(STEP_MS)
  })

  test('ends immediately when it does not hold', () => {
    const spans = new OpenSpans(1)
    spans.observe(0, true, 0)
    spans.observe(0, false, STEP_MS)
    spans.observe(0, true, 2 * STEP_MS)
    expect(spans.ageMs(0, 2 * STEP_MS)).toBe(0)
    expect(spans.isConfirmed(0, 2 * STEP_MS)).toBe(false)
  })

  test.each([
    { gapMs: HOLD_MS, ageMs: HOLD_MS },
    { gapMs: HOLD_MS + STEP_MS, ageMs: 0 },
  ])('after $gapMs ms of unknown samples it is $ageMs ms old', ({ gapMs, ageMs }) => {
    const spans = new OpenSpans(1)
    spans.observe(0, true, 0)
    for (let ms = STEP_MS; ms < gapMs; ms += STEP_MS) {
      spans.observe(0, null, ms)
      expect(spans.isConfirmed(0, ms), 'nor is it open in between').toBe(false)
    }
    spans.observe(0, true, gapMs)
    expect(spans.ageMs(0, gapMs)).toBe(ageMs)
  })

  test('a clock that is set back restarts it', () => {
    const spans = new OpenSpans(1)
    spans.observe(0, true, 10 * STEP_MS)
    spans.observe(0, true, 2 * STEP_MS)
    expect(spans.ageMs(0, 2 * STEP_MS)).toBe(0)
  })

  test('what is saved is what is open', () => {
    const spans = new OpenSpans(3)
    spans.observe(1, true, 0)
    spans.observe(1, true, STEP_MS)
    expect(spans.save()).toEqual([1, 2, 0, STEP_MS])
    const other = new OpenSpans(3)
    expect(other.restore(spans.save())).toBe(true)
    expect(other.isConfirmed(1, STEP_MS)).toBe(true)
  })

  test.each([
    { saved: [1, 2, 0] },
    { saved: [3, 2, 0, 0] },
    { saved: [-1, 2, 0, 0] },
    { saved: [0, 0, 0, 0] },
    { saved: [0, 2, 5, 4] },
    { saved: [0, 2, Number.NaN, 4] },
  ])('$saved is not what was saved', ({ saved }) => {
    expect(new OpenSpans(3).restore(saved)).toBe(false)
  })
})

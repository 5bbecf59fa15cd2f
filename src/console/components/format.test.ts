import { expect, test } from 'vitest'
import { clockTime, instant, NOTHING, sharePercent, signed, timeLabel } from './format.ts'

test('a share is 0 % or 100 % only for none and all', () => {
  expect([0, 0.2, 49.6, 99.7, 100, null].map(sharePercent)).toEqual([
    ...['0 %', '1 %', '50 %', '99 %', '100 %', NOTHING],
  ])
})

test('a value that is shown as zero has no sign', () => {
  expect([0.001, 0, -0.001, 0.006, -0.006].map((value) => signed(value))).toEqual([
    ...['0.00', '0.00', '0.00', '+0.01', '-0.01'],
  ])
})

test('a time with its year has the form of one without', () => {
  const atMs = Date.UTC(2026, 10, 27, 16)
  expect(instant(atMs)).toBe(clockTime(atMs).replace(',', ' 2026,'))
})

test('an axis of a few seconds labels each second once', () => {
  const labels = [0, 200, 400, 1_000, 1_200].map((ms) => timeLabel(ms, 200))
  expect(labels.map((label) => label !== '')).toEqual([true, false, false, true, false])
})

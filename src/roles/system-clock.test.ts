import { afterEach, expect, test, vi } from 'vitest'
import { systemClock } from './system-clock.ts'

afterEach(() => vi.unstubAllGlobals())

test('a period is no longer for being late, and what was missed is not made up for', () => {
  let nowMs = 0
  let due = () => {}
  const delaysMs: number[] = []
  vi.stubGlobal('performance', { now: () => nowMs })
  vi.stubGlobal('setTimeout', (task: () => void, delayMs: number) => {
    due = task
    delaysMs.push(delayMs)
  })
  systemClock.every(10, () => {})
  for (const lateMs of [10, 23, 30, 75, 75, 85]) {
    nowMs = lateMs
    due()
  }
  expect(delaysMs).toEqual([10, 10, 7, 10, 0, 10, 10])
})

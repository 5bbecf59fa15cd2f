import { afterEach, describe, expect, test, vi } from 'vitest'
import { scaledClock, systemClock } from './system-clock.ts'

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

describe('a wait of more than a timer takes', () => {
  const DAY_MS = 86_400_000
  const TIMEOUT_MS_MAX = 2 ** 31 - 1

  afterEach(() => vi.useRealTimers())

  test('lasts its time, however slow the clock', () => {
    vi.useFakeTimers()
    const done: number[] = []
    scaledClock(0, 0.03).after(DAY_MS, () => done.push(Date.now()))
    const startedMs = Date.now()
    vi.advanceTimersByTime(DAY_MS / 0.03 - 1)
    expect(done).toEqual([])
    vi.advanceTimersByTime(2)
    expect(done).toHaveLength(1)
    expect((done[0] ?? 0) - startedMs).toBeGreaterThan(TIMEOUT_MS_MAX)
  })

  test('can be stopped in the midst of it', () => {
    vi.useFakeTimers()
    const stop = systemClock.after(2 * TIMEOUT_MS_MAX, () => expect.unreachable())
    vi.advanceTimersByTime(1.5 * TIMEOUT_MS_MAX)
    stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is as long where it is repeated', () => {
    let due = () => {}
    const delaysMs: number[] = []
    vi.stubGlobal('setTimeout', (task: () => void, delayMs: number) => {
      due = task
      delaysMs.push(delayMs)
    })
    let runs = 0
    systemClock.every(TIMEOUT_MS_MAX + 5, () => runs++)
    due()
    expect([runs, ...delaysMs]).toEqual([0, TIMEOUT_MS_MAX, 5])
    due()
    expect(runs).toBe(1)
  })
})

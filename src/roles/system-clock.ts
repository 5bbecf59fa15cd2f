import type { Clock } from '../domain/clock.ts'

/** The one real clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs)
    return () => clearInterval(timer)
  },
}

/** A clock that shows `startMs` now and runs `speed` times as fast as the real one. */
export function scaledClock(startMs: number, speed: number): Clock {
  const realStartMs = Date.now()
  return {
    nowMs: () => Math.floor(startMs + (Date.now() - realStartMs) * speed),
    after: (delayMs, task) => systemClock.after(delayMs / speed, task),
    every: (periodMs, task) => systemClock.every(periodMs / speed, task),
  }
}

import { uptime } from 'node:os'
import type { Clock } from '../domain/clock.ts'
import type { ClockAnchor } from '../domain/steady-clock.ts'
import { SteadyClock } from '../domain/steady-clock.ts'

/** The machine's clock on the wall, for what others judge by theirs: payments, above all. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every(periodMs, task) {
    // Unlike `setInterval` it does not begin anew from where it was late: short periods would be longer under load.
    let dueMs = performance.now() + periodMs
    const run = () => {
      const nowMs = performance.now()
      dueMs = Math.max(dueMs + periodMs, nowMs)
      timer = setTimeout(run, dueMs - nowMs)
      task()
    }
    let timer = setTimeout(run, periodMs)
    return () => clearTimeout(timer)
  },
}

/**
 * For whatever has an age or a deadline. Threads of one process share it by its anchor: the monotonic
 * clock is the same for all of them.
 */
export function steadySystemClock(anchor?: ClockAnchor): SteadyClock {
  // A thread's own fast clock, moved to the one that all threads share.
  const sharedMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  const sources = {
    wallMs: () => Date.now(),
    monotonicMs: () => sharedMs + performance.now(),
    uptimeMs: () => uptime() * 1_000,
  }
  return new SteadyClock(sources, systemClock, anchor)
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

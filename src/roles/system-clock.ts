import { uptime } from 'node:os'
import type { Clock } from '../domain/clock.ts'
import type { ClockAnchor } from '../domain/steady-clock.ts'
import { SteadyClock } from '../domain/steady-clock.ts'

/** A timer of more would fire at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** The machine's clock on the wall, for what others judge by theirs: payments, above all. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after: startTimer,
  every(periodMs, task) {
    // Unlike `setInterval` it does not begin anew from where it was late: short periods would be longer under load.
    let dueMs = performance.now() + periodMs
    const run = () => {
      const nowMs = performance.now()
      dueMs = Math.max(dueMs + periodMs, nowMs)
      stop = startTimer(dueMs - nowMs, run)
      task()
    }
    let stop = startTimer(periodMs, run)
    return () => stop()
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

/** A timer of any length: a slow clock waits for weeks. @returns what stops it. */
function startTimer(delayMs: number, task: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const wait = (leftMs: number) => {
    const stepMs = Math.min(leftMs, TIMEOUT_MS_MAX)
    timer = setTimeout(stepMs === leftMs ? task : () => wait(leftMs - stepMs), stepMs)
  }
  wait(delayMs)
  return () => clearTimeout(timer)
}

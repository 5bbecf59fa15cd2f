import { uptime } from 'node:os'
import type { Clock } from '../domain/clock.ts'
import type { ClockAnchor } from '../domain/steady-clock.ts'
import { SteadyClock } from '../domain/steady-clock.ts'

/** A timer of more would fire at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** The wall clock, for times that others compare with theirs, such as those of payments. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after: startTimer,
  every(periodMs, task) {
    // Unlike with `setInterval`, a late run does not delay the following ones.
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

/** Time that nothing sets, milliseconds. It has no zero that means anything. */
export function monotonicMs(): number {
  return performance.now()
}

/**
 * For ages and deadlines. Threads of one process share it through its anchor, because they have the same monotonic
 * clock.
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

/** A clock that starts at `startMs` and runs `speed` times as fast as the real one. */
export function scaledClock(startMs: number, speed: number): Clock {
  const realStartMs = Date.now()
  return {
    nowMs: () => Math.floor(startMs + (Date.now() - realStartMs) * speed),
    after: (delayMs, task) => systemClock.after(delayMs / speed, task),
    every: (periodMs, task) => systemClock.every(periodMs / speed, task),
  }
}

/** A timer of any length, because a slow clock waits for weeks. @returns cancels it */
function startTimer(delayMs: number, task: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const wait = (leftMs: number) => {
    const stepMs = Math.min(leftMs, TIMEOUT_MS_MAX)
    timer = setTimeout(stepMs === leftMs ? task : () => wait(leftMs - stepMs), stepMs)
  }
  wait(delayMs)
  return () => clearTimeout(timer)
}

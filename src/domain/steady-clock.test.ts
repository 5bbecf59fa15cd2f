import { fc, test } from '@fast-check/vitest'
import { beforeEach, describe, expect } from 'vitest'
import { SteadyClock } from './steady-clock.ts'

const START_MS = Date.UTC(2026, 0, 1)
const noTimers = { after: () => () => {}, every: () => () => {} }

/** A machine whose time is moved by hand. */
class Sources {
  wall = START_MS
  monotonic = 5_000
  uptime = 9_000

  readonly wallMs = () => this.wall
  readonly monotonicMs = () => this.monotonic
  readonly uptimeMs = () => this.uptime

  run(ms: number): void {
    this.wall += ms
    this.monotonic += ms
    this.uptime += ms
  }

  suspend(ms: number): void {
    this.wall += ms
    this.uptime += ms
  }
}

describe('the steady clock', () => {
  let sources: Sources
  let clock: SteadyClock

  beforeEach(() => {
    sources = new Sources()
    clock = new SteadyClock(sources, noTimers)
  })

  test('shows the time of an undisturbed wall clock', () => {
    for (let second = 0; second < 10_000; second += 1) {
      expect(clock.nowMs()).toBe(sources.wall)
      sources.run(1_000)
    }
    expect(clock.offMs()).toBe(0)
  })

  test.prop([
    fc.integer({ min: -1e9, max: 1e9 }),
    fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 50 }),
  ])('measures durations within 0.5 %, regardless of the wall clock', (stepMs, waitsMs) => {
    const machine = new Sources()
    const steady = new SteadyClock(machine, noTimers)
    const fromMs = steady.nowMs()
    machine.wall += stepMs
    let passedMs = 0
    for (const waitMs of waitsMs) {
      const beforeMs = steady.nowMs()
      machine.run(waitMs)
      passedMs += waitMs
      expect(steady.nowMs()).toBeGreaterThanOrEqual(beforeMs)
    }
    expect(Math.abs(steady.nowMs() - fromMs - passedMs)).toBeLessThanOrEqual(0.005 * passedMs + 1)
  })

  test('says by how much the wall clock is off, until that is made up for', () => {
    sources.wall -= 2_000
    expect(clock.offMs()).toBe(-2_000)
    sources.run(200_000)
    expect(clock.offMs()).toBeCloseTo(-1_000, 6)
    sources.run(300_000)
    expect(clock.offMs()).toBe(0)
    expect(clock.nowMs()).toBe(sources.wall)
  })

  test('what the two drift apart never adds up', () => {
    for (let hour = 0; hour < 24 * 365; hour += 1) {
      sources.run(3_600_000)
      sources.wall += 100
      expect(Math.abs(clock.nowMs() - sources.wall)).toBeLessThanOrEqual(1)
    }
  })

  test('the time of a suspension has passed, though the monotonic clock stood still', () => {
    sources.run(1_000)
    const beforeMs = clock.nowMs()
    sources.suspend(7_199_999)
    sources.run(1)
    expect(clock.nowMs() - beforeMs).toBe(7_200_000)
    sources.suspend(59_999)
    sources.run(1)
    expect(clock.nowMs() - beforeMs).toBe(7_260_000)
    expect(clock.offMs()).toBe(0)
  })

  test('distinguishes a step during a suspension from it', () => {
    clock.nowMs()
    sources.suspend(59_999)
    sources.run(1)
    sources.wall -= 300_000
    expect(Math.abs(clock.nowMs() - START_MS - 60_000)).toBeLessThanOrEqual(1)
    expect(clock.offMs()).toBeCloseTo(-300_000, 1)
  })

  test('a step that hides a suspension is found out a moment later', () => {
    clock.nowMs()
    sources.suspend(60_000)
    sources.wall -= 60_000
    sources.run(100)
    expect(Math.abs(clock.nowMs() - START_MS - 60_100)).toBeLessThanOrEqual(1)
  })

  test('one that continues another shows the same, also what that has not noticed yet', () => {
    sources.wall += 30_000
    sources.run(10_000)
    clock.nowMs()
    const anchor = clock.anchor()
    sources.suspend(20_000)
    const other = new SteadyClock(sources, noTimers, anchor)
    for (let second = 0; second < 100; second += 1) {
      expect(other.nowMs()).toBe(clock.nowMs())
      sources.run(1_000)
      if (second === 50) sources.wall -= 7_000
    }
    expect(other.offMs()).toBe(clock.offMs())
  })

  test('jumps on request', () => {
    sources.wall -= 600_000
    clock.followAtOnce()
    expect(clock.nowMs()).toBe(START_MS - 600_000)
    sources.run(5_000)
    expect(clock.nowMs()).toBe(START_MS - 595_000)
    expect(clock.offMs()).toBe(0)
  })
})

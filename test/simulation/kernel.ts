import assert from 'node:assert/strict'
import type { Clock } from '../../src/domain/clock.ts'

/** A scheduled event of virtual time. Cancelled by removing its task. */
export type Happening = {
  readonly timeMs: number
  readonly sequence: number
  /** Machine that runs the task; a sleeping machine defers it. null: no machine of ours. */
  readonly host: Host | null
  task: (() => void) | null
}

export type Host = { dispatch(happening: Happening): void }

/**
 * Virtual time: events in the order of their instants, and of their scheduling at equal instants. Its
 * time is the true time; the clocks of machines can be wrong.
 */
export class Kernel {
  readonly #heap = new Heap()
  #nowMs: number
  #sequence = 0

  constructor(startMs: number) {
    this.#nowMs = startMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Pending events, including cancelled ones until their instant. */
  get waiting(): number {
    return this.#heap.size
  }

  /** True time, for everything outside our machines. */
  readonly clock: Clock = {
    nowMs: () => this.#nowMs,
    ...timersOf((delayMs, task) => {
      const happening = this.at(this.#nowMs + Math.ceil(delayMs), null, task)
      return () => {
        happening.task = null
      }
    }),
  }

  at(timeMs: number, host: Host | null, task: () => void): Happening {
    assert(timeMs >= this.#nowMs, 'nothing can be planned for the past')
    this.#sequence += 1
    const happening = { timeMs, sequence: this.#sequence, host, task }
    this.#heap.push(happening)
    return happening
  }

  /** Runs all events up to and including an instant. */
  runUntil(untilMs: number): void {
    while (this.runNext(untilMs));
    this.#nowMs = untilMs
  }

  /** Runs the next event that is due at an instant. @returns false if there is none */
  runNext(untilMs: number): boolean {
    const next = this.#heap.first
    if (next === undefined || next.timeMs > untilMs) return false
    this.#heap.pop()
    if (next.task === null) return true
    this.#nowMs = next.timeMs
    if (next.host === null) next.task()
    else next.host.dispatch(next)
    return true
  }
}

export function timersOf(after: Clock['after']): Pick<Clock, 'after' | 'every'> {
  return {
    after,
    every: (periodMs, task) => {
      const repeated = () => {
        stop = after(periodMs, repeated)
        task()
      }
      let stop = after(periodMs, repeated)
      return () => stop()
    },
  }
}

/** A binary heap, earliest first. */
class Heap {
  readonly #items: Happening[] = []

  get size(): number {
    return this.#items.length
  }

  get first(): Happening | undefined {
    return this.#items[0]
  }

  push(item: Happening): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = items[above] as Happening
      if (isEarlier(parent, item)) break
      items[at] = parent
      at = above
    }
    items[at] = item
  }

  pop(): void {
    const items = this.#items
    const last = items.pop()
    if (last === undefined || items.length === 0) return
    const { length } = items
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= length) break
      const right = items[below + 1]
      if (right !== undefined && isEarlier(right, items[below] as Happening)) below += 1
      const child = items[below] as Happening
      if (isEarlier(last, child)) break
      items[at] = child
      at = below
    }
    items[at] = last
  }
}

function isEarlier(one: Happening, other: Happening): boolean {
  return one.timeMs < other.timeMs || (one.timeMs === other.timeMs && one.sequence < other.sequence)
}

import type { Clock } from '../../../src/domain/clock.ts'
import type { Kernel } from '../kernel.ts'
import { timersOf } from '../kernel.ts'

/** A process of the simulated link. A frozen one runs its tasks when it is resumed, a killed one never. */
export class LinkProcess {
  readonly clock: Clock
  #isAlive = true
  #deferred: (() => void)[] | null = null

  constructor(kernel: Kernel) {
    this.clock = {
      nowMs: () => kernel.nowMs,
      ...timersOf((delayMs, task) => kernel.clock.after(delayMs, () => this.deliver(task))),
    }
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  get isFrozen(): boolean {
    return this.#deferred !== null
  }

  deliver(task: () => void): void {
    if (!this.#isAlive) return
    if (this.#deferred === null) task()
    else this.#deferred.push(task)
  }

  freeze(): void {
    this.#deferred ??= []
  }

  resume(): void {
    const deferred = this.#deferred ?? []
    this.#deferred = null
    for (const task of deferred) this.deliver(task)
  }

  kill(): void {
    this.#isAlive = false
    this.#deferred = null
  }
}

/** Runs a task in a later turn of the event loop. */
export type Defer = (task: () => void) => void

type Start = () => void

/**
 * Starts one task per turn of the event loop, the callers in rotation, so that a burst of one caller does not delay the
 * others. Bounds the open tasks of a caller.
 */
export class FairQueue {
  readonly #perCallerMax: number
  readonly #defer: Defer
  /** By caller, in rotation order; no set is empty. */
  readonly #waiting = new Map<string, Set<Start>>()
  /** Queued and running tasks of each caller. */
  readonly #open = new Map<string, number>()
  #isStarting = false

  constructor(perCallerMax: number, defer: Defer) {
    this.#perCallerMax = perCallerMax
    this.#defer = defer
  }

  /**
   * @param start called once, unless the caller disconnects before
   * @returns a function to call once, when the task ends or the caller disconnects; null if the caller is at its maximum
   */
  enter(caller: string, start: Start): (() => void) | null {
    const open = this.#open.get(caller) ?? 0
    if (open >= this.#perCallerMax) return null
    this.#open.set(caller, open + 1)
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, new Set([start]))
    else own.add(start)
    if (!this.#isStarting) this.#startNext()
    return () => this.#leave(caller, start)
  }

  #startNext(): void {
    const [next] = this.#waiting
    this.#isStarting = next !== undefined
    if (next === undefined) return
    const [caller, own] = next
    const [start] = own
    // Behind all other callers.
    this.#waiting.delete(caller)
    if (start !== undefined) own.delete(start)
    if (own.size > 0) this.#waiting.set(caller, own)
    // First, so that a task that throws does not stop the queue.
    this.#defer(() => this.#startNext())
    start?.()
  }

  #leave(caller: string, start: Start): void {
    const own = this.#waiting.get(caller)
    own?.delete(start)
    if (own?.size === 0) this.#waiting.delete(caller)
    const open = (this.#open.get(caller) ?? 0) - 1
    if (open > 0) this.#open.set(caller, open)
    else this.#open.delete(caller)
  }
}

/** One coin whose history has to be asked. A coin that was subscribed anew gets a new one. */
export type BackfillTask = {
  readonly coin: string
  readonly dueMs: number
  /** Failed attempts so far. */
  readonly failures: number
}

/**
 * The coins whose history is still to be asked, at most one task each. A coin enters when the venue
 * has acknowledged its candles, so that no bar can fall between the history and the live stream, and
 * it leaves when its socket is lost: it will be acknowledged again.
 */
export class Backfill {
  readonly #tasks = new Map<string, BackfillTask>()

  add(coin: string, nowMs: number): void {
    this.#tasks.set(coin, { coin, dueMs: nowMs, failures: 0 })
  }

  remove(coin: string): void {
    this.#tasks.delete(coin)
  }

  /** The most traded of the coins that are due. It stays until it is `done`. */
  next(nowMs: number, dayNotionalUsd: (coin: string) => number): BackfillTask | undefined {
    let next: BackfillTask | undefined
    for (const task of this.#tasks.values()) {
      if (task.dueMs > nowMs) continue
      if (next === undefined || dayNotionalUsd(task.coin) > dayNotionalUsd(next.coin)) next = task
    }
    return next
  }

  /** A task that was replaced or removed meanwhile changes nothing, here and below. */
  done(task: BackfillTask): void {
    if (this.#tasks.get(task.coin) === task) this.#tasks.delete(task.coin)
  }

  postpone(task: BackfillTask, dueMs: number): void {
    if (this.#tasks.get(task.coin) === task)
      this.#tasks.set(task.coin, { coin: task.coin, dueMs, failures: task.failures + 1 })
  }
}

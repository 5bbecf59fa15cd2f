/** Then a coin that warms up has its turn. */
const GAPS_IN_A_ROW_MAX = 3

/** One coin whose history has to be asked. A coin that was subscribed anew gets a new one. */
export type BackfillTask = {
  readonly coin: string
  readonly dueMs: number
  /** Attempts so far: they failed, or the engine still lacked something after them. */
  readonly attempts: number
}

/**
 * The coins whose history is still to be asked, at most one task each. A coin gets a task when the
 * venue has acknowledged its candles, so that no bar can fall between the history and the live stream,
 * and whenever a sweep finds that the engine lacks something. Both end when its socket is lost: it
 * will be acknowledged again.
 */
export class BackfillQueue {
  readonly #acknowledged = new Set<string>()
  readonly #tasks = new Map<string, BackfillTask>()
  /** Were whole once: what they lack now is a gap. */
  readonly #warm = new Set<string>()
  #gapsInARow = 0

  /** In the order of their acknowledgement. */
  get acknowledged(): readonly string[] {
    return [...this.#acknowledged]
  }

  /** Followed, and not waiting for history. */
  isWhole(coin: string): boolean {
    return this.#acknowledged.has(coin) && !this.#tasks.has(coin)
  }

  acknowledge(coin: string, nowMs: number): void {
    this.#acknowledged.add(coin)
    this.#tasks.set(coin, { coin, dueMs: nowMs, attempts: 0 })
  }

  /** What it missed has to be asked, though no acknowledgement will tell. */
  renew(coin: string, nowMs: number): void {
    if (this.#acknowledged.has(coin)) this.acknowledge(coin, nowMs)
  }

  remove(coin: string): void {
    this.#acknowledged.delete(coin)
    this.#tasks.delete(coin)
  }

  /** Removes what is not followed any more. */
  keep(isFollowed: (coin: string) => boolean): void {
    for (const coin of this.#acknowledged) if (!isFollowed(coin)) this.remove(coin)
    for (const coin of this.#warm) if (!isFollowed(coin)) this.#warm.delete(coin)
  }

  /** A task for every acknowledged coin that has none and lacks history. */
  sweep(nowMs: number, isLacking: (coin: string) => boolean): void {
    for (const coin of this.#acknowledged) {
      if (!this.#tasks.has(coin) && isLacking(coin))
        this.#tasks.set(coin, { coin, dueMs: nowMs, attempts: 0 })
    }
  }

  /**
   * The most traded of the coins that are due. Gaps come before what is still to warm up, which takes minutes, but
   * for every fourth: a connection that is lost again and again makes gaps without end. It stays until it is `done`.
   */
  next(nowMs: number, dayNotionalUsd: (coin: string) => number): BackfillTask | undefined {
    let next: BackfillTask | undefined
    for (const task of this.#tasks.values())
      if (task.dueMs <= nowMs && (next === undefined || this.#isBefore(task, next, dayNotionalUsd)))
        next = task
    return next
  }

  /** False for a task that was replaced or removed meanwhile. Such a one changes nothing below. */
  isCurrent(task: BackfillTask): boolean {
    return this.#tasks.get(task.coin) === task
  }

  done(task: BackfillTask): void {
    if (!this.isCurrent(task)) return
    this.#count(task)
    this.#tasks.delete(task.coin)
    this.#warm.add(task.coin)
  }

  postpone(task: BackfillTask, dueMs: number): void {
    if (!this.isCurrent(task)) return
    this.#count(task)
    this.#tasks.set(task.coin, { coin: task.coin, dueMs, attempts: task.attempts + 1 })
  }

  #count({ coin }: BackfillTask): void {
    this.#gapsInARow = this.#warm.has(coin) ? this.#gapsInARow + 1 : 0
  }

  #isBefore(
    { coin }: BackfillTask,
    { coin: other }: BackfillTask,
    dayNotionalUsd: (coin: string) => number,
  ): boolean {
    const isGap = this.#warm.has(coin)
    if (isGap !== this.#warm.has(other)) return isGap === this.#gapsInARow < GAPS_IN_A_ROW_MAX
    return dayNotionalUsd(coin) > dayNotionalUsd(other)
  }
}

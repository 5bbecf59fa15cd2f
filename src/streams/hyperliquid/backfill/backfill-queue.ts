/** After this many gaps, a coin without history is served. */
const GAPS_IN_A_ROW_MAX = 3

/** One coin whose history must be requested. A renewed subscription creates a new task. */
export type BackfillTask = {
  readonly coin: string
  readonly dueMs: number
  /** Attempts that failed or left history missing. */
  readonly attempts: number
}

/**
 * The coins whose history must be requested, one task each. A coin gets a task when the venue acknowledges its candles, so
 * that no bar falls between history and live data, and when a sweep finds missing history. A lost socket ends its tasks:
 * the next acknowledgement creates new ones.
 */
export class BackfillQueue {
  readonly #acknowledged = new Set<string>()
  readonly #tasks = new Map<string, BackfillTask>()
  /** Coins that were complete once: missing history is a gap. */
  readonly #warm = new Set<string>()
  #gapsInARow = 0

  /** In the order of their acknowledgement. */
  get acknowledged(): readonly string[] {
    return [...this.#acknowledged]
  }

  /** Acknowledged, and without a task. */
  isWhole(coin: string): boolean {
    return this.#acknowledged.has(coin) && !this.#tasks.has(coin)
  }

  acknowledge(coin: string, nowMs: number): void {
    this.#acknowledged.add(coin)
    this.#tasks.set(coin, { coin, dueMs: nowMs, attempts: 0 })
  }

  /** Requests missed history without a new acknowledgement. */
  renew(coin: string, nowMs: number): void {
    if (this.#acknowledged.has(coin)) this.acknowledge(coin, nowMs)
  }

  remove(coin: string): void {
    this.#acknowledged.delete(coin)
    this.#tasks.delete(coin)
  }

  /** Removes coins that are no longer followed. */
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
   * The most traded coin that is due. Gaps precede warm-up, except for every fourth task: repeated disconnections create
   * endless gaps. The task stays until `done`.
   */
  next(nowMs: number, dayNotional: (coin: string) => number): BackfillTask | undefined {
    let next: BackfillTask | undefined
    for (const task of this.#tasks.values())
      if (task.dueMs <= nowMs && (next === undefined || this.#isBefore(task, next, dayNotional)))
        next = task
    return next
  }

  /** False for a replaced or removed task, which the methods below ignore. */
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
    dayNotional: (coin: string) => number,
  ): boolean {
    const isGap = this.#warm.has(coin)
    if (isGap !== this.#warm.has(other)) return isGap === this.#gapsInARow < GAPS_IN_A_ROW_MAX
    return dayNotional(coin) > dayNotional(other)
  }
}

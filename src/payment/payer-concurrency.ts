type Lane = { atWork: number; readonly waiting: (() => void)[] }

/** How many settlements one payer may have at once. */
export type ConcurrencyLimit = {
  /** Below this number the current limit is not read. */
  readonly atLeast: number
  readonly current: () => Promise<number>
}

/**
 * Limits concurrent settlements of one payer. All of them were simulated with the same balance, so an emptied wallet
 * lets all fail. The limit grows with the paid purchases of the payer.
 */
export class PayerConcurrency {
  readonly #lanes = new Map<string, Lane>()

  /**
   * Runs `task` now, or when an earlier one has ended. The queue is bounded by `InFlightPayments`.
   * @param limit of this payer, read again whenever a task ends
   * @param task its argument is true after a wait, when an earlier simulation may be out of date
   */
  async run<Result>(
    payer: string,
    limit: ConcurrencyLimit,
    task: (hasWaited: boolean) => Promise<Result>,
  ): Promise<Result> {
    const atOnceMax =
      this.#lane(payer).atWork < limit.atLeast ? limit.atLeast : await currentOf(limit)
    const lane = this.#lane(payer)
    const hasWaited = lane.atWork >= atOnceMax
    if (hasWaited) await new Promise<void>((resolve) => lane.waiting.push(resolve))
    else lane.atWork += 1
    try {
      return await task(hasWaited)
    } finally {
      lane.atWork -= 1
      if (lane.waiting.length > 0) void this.#admit(payer, lane, limit)
      else if (lane.atWork === 0) this.#lanes.delete(payer)
    }
  }

  #lane(payer: string): Lane {
    const found = this.#lanes.get(payer)
    if (found !== undefined) return found
    const lane: Lane = { atWork: 0, waiting: [] }
    this.#lanes.set(payer, lane)
    return lane
  }

  async #admit(payer: string, lane: Lane, limit: ConcurrencyLimit): Promise<void> {
    const atOnceMax = await currentOf(limit)
    while (lane.waiting.length > 0 && lane.atWork < atOnceMax) {
      lane.atWork += 1
      lane.waiting.shift()?.()
    }
    if (lane.atWork === 0) this.#lanes.delete(payer)
  }
}

/** One at a time while the limit cannot be read. */
function currentOf({ current }: ConcurrencyLimit): Promise<number> {
  return current().catch(() => 1)
}

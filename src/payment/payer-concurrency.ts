type Lane = { atWork: number; readonly waiting: (() => void)[] }

/**
 * Limits concurrent settlements of one payer. All of them were simulated with the same balance, so an emptied wallet
 * lets all fail. The limit grows with the paid purchases of the payer.
 */
export class PayerConcurrency {
  readonly #lanes = new Map<string, Lane>()

  /**
   * Runs `task` now, or when an earlier one has ended. The queue is bounded by `InFlightPayments`.
   * @param atOnceMax limit of this payer, read again whenever a task ends
   * @param task its argument is true after a wait, when an earlier simulation may be out of date
   */
  async run<Result>(
    payer: string,
    atOnceMax: () => number,
    task: (hasWaited: boolean) => Promise<Result>,
  ): Promise<Result> {
    const lane = this.#lanes.get(payer) ?? { atWork: 0, waiting: [] }
    this.#lanes.set(payer, lane)
    const hasWaited = lane.atWork >= atOnceMax()
    if (hasWaited) await new Promise<void>((resolve) => lane.waiting.push(resolve))
    else lane.atWork += 1
    try {
      return await task(hasWaited)
    } finally {
      lane.atWork -= 1
      while (lane.waiting.length > 0 && lane.atWork < atOnceMax()) {
        lane.atWork += 1
        lane.waiting.shift()?.()
      }
      if (lane.atWork === 0) this.#lanes.delete(payer)
    }
  }
}

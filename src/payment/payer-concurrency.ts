type Lane = { atWork: number; readonly waiting: (() => void)[] }

/**
 * Settlements of one payer at once. All of them were simulated with the same money, and emptying the wallet
 * lets all fail: so a wallet has few under way, and as many as it has paid for before.
 */
export class PayerConcurrency {
  readonly #lanes = new Map<string, Lane>()

  /**
   * Runs `task` at once or in its turn. Who waits here is in flight, which the inFlightPayments bound.
   * @param atOnceMax how many of this payer may run, asked again whenever one ends
   * @param task is told whether it has waited: then what was simulated may not hold any more
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

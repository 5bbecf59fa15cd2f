/** One update of a push feed. */
export type PushRound = {
  /** Increases with time. */
  readonly count: number
  readonly atMs: number
  readonly priceUsd: number
}

type Options = {
  /** The price that the reporters of the network observe. */
  readonly seen: (atMs: number) => number | undefined
  readonly triggerBps: number
  readonly heartbeatMs: number
  /** Period of the check for a deviation. */
  readonly checkMs: number
  /** Offset of the heartbeats, different for each feed of a network. */
  readonly phaseMs: number
}

const BPS = 1e-4

/**
 * The rounds of a push feed: one at every heartbeat and one after every deviation by the threshold.
 * Heartbeats are at fixed times, so the newest round is a function of time, found by checking the prices
 * since the last heartbeat.
 */
export class TriggeredRounds {
  readonly #options: Options
  /** The last result, from which a later request continues. */
  #last: { readonly beatMs: number; readonly checkMs: number; readonly round: PushRound } | null =
    null
  #beat: PushRound | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The newest round; undefined for an asset without a price. */
  at(atMs: number): PushRound | undefined {
    const { seen, triggerBps, checkMs } = this.#options
    const beatMs = this.#beatMs(atMs)
    const known = this.#last
    const continues = known !== null && known.beatMs === beatMs && known.checkMs <= atMs
    let round = continues ? known.round : this.beat(atMs)
    if (round === undefined) return undefined
    let fromMs = continues ? known.checkMs : beatMs
    while (fromMs + checkMs <= atMs) {
      fromMs += checkMs
      const priceUsd = seen(fromMs)
      if (priceUsd !== undefined && Math.abs(priceUsd / round.priceUsd - 1) >= triggerBps * BPS)
        round = { count: round.count + 1, atMs: fromMs, priceUsd }
    }
    this.#last = { beatMs, checkMs: fromMs, round }
    return round
  }

  /** The round of the last heartbeat. */
  beat(atMs: number): PushRound | undefined {
    const { seen, heartbeatMs, checkMs } = this.#options
    const beatMs = this.#beatMs(atMs)
    if (this.#beat?.atMs === beatMs) return this.#beat
    const priceUsd = seen(beatMs)
    if (priceUsd === undefined) return undefined
    const count = Math.floor(beatMs / heartbeatMs) * Math.ceil(heartbeatMs / checkMs)
    this.#beat = { count, atMs: beatMs, priceUsd }
    return this.#beat
  }

  #beatMs(atMs: number): number {
    const { heartbeatMs, phaseMs } = this.#options
    return Math.floor((atMs - phaseMs) / heartbeatMs) * heartbeatMs + phaseMs
  }
}

/** What a push oracle wrote, and when. */
export type Round = {
  /** Ascends with time. */
  readonly count: number
  readonly atMs: number
  readonly priceUsd: number
}

type Options = {
  /** What the network's reporters see. */
  readonly seen: (atMs: number) => number | undefined
  readonly triggerBps: number
  readonly heartbeatMs: number
  /** How often the reporters look. */
  readonly lookMs: number
  /** Feeds of one network beat at different instants. */
  readonly phaseMs: number
}

const BPS = 1e-4

/**
 * Rounds that move only when the price has drifted by the trigger, or at the heartbeat, which beats at
 * fixed instants: so the newest round is a function of the instant, found by walking from the last beat.
 */
export class TriggeredRounds {
  readonly #options: Options
  /** How far the walk has come; only to spare work. */
  #walked: { readonly beatMs: number; readonly lookMs: number; readonly round: Round } | null = null
  #beat: Round | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The newest at an instant; undefined for what has no price. */
  at(atMs: number): Round | undefined {
    const { seen, triggerBps, lookMs } = this.#options
    const beatMs = this.#beatMs(atMs)
    const known = this.#walked
    const canGoOn = known !== null && known.beatMs === beatMs && known.lookMs <= atMs
    let round = canGoOn ? known.round : this.beat(atMs)
    if (round === undefined) return undefined
    let fromMs = canGoOn ? known.lookMs : beatMs
    while (fromMs + lookMs <= atMs) {
      fromMs += lookMs
      const priceUsd = seen(fromMs)
      if (priceUsd !== undefined && Math.abs(priceUsd / round.priceUsd - 1) >= triggerBps * BPS)
        round = { count: round.count + 1, atMs: fromMs, priceUsd }
    }
    this.#walked = { beatMs, lookMs: fromMs, round }
    return round
  }

  /** The round of the last heartbeat. */
  beat(atMs: number): Round | undefined {
    const { seen, heartbeatMs, lookMs } = this.#options
    const beatMs = this.#beatMs(atMs)
    if (this.#beat?.atMs === beatMs) return this.#beat
    const priceUsd = seen(beatMs)
    if (priceUsd === undefined) return undefined
    const count = Math.floor(beatMs / heartbeatMs) * Math.ceil(heartbeatMs / lookMs)
    this.#beat = { count, atMs: beatMs, priceUsd }
    return this.#beat
  }

  #beatMs(atMs: number): number {
    const { heartbeatMs, phaseMs } = this.#options
    return Math.floor((atMs - phaseMs) / heartbeatMs) * heartbeatMs + phaseMs
  }
}

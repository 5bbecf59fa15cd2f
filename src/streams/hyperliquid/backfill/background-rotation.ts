import { backOffMs } from '../../../domain/back-off.ts'

export type BackgroundNeed = {
  readonly coin: string
  /** Start of the missing data. */
  readonly fromMs: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Between two coins that lack less than a day: the hourly update of all coins fits into the hour with a tenth of the
 * weight. Coins that lack more are requested as soon as weight is available.
 */
export const BACKGROUND_SPACING_MS = 10_000
/** Period of the search while nothing is missing. */
const LOOK_MS = 1_000
/** Pause of all coins after a failure, which probably affects the next request too. */
const FAILURE_SPACING_MS = 10_000
/** Pause of the coin. Data that the venue lacks appear in hours or never. */
const COIN_BACK_OFF = { minMs: 60_000, maxMs: HOUR_MS }

type Deferred = { readonly attempts: number; readonly untilMs: number }

/** Chooses the most traded coin that lacks some data. After a request without progress the coin is deferred, longer each time. */
export class BackgroundRotation {
  readonly #deferred = new Map<string, Deferred>()
  #lookAtMs = Number.NEGATIVE_INFINITY
  #spacedUntilMs = Number.NEGATIVE_INFINITY

  /** @param needFromMs start of a coin's missing data; null for none */
  next(
    coins: readonly string[],
    nowMs: number,
    needFromMs: (coin: string) => number | null,
    dayNotional: (coin: string) => number,
  ): BackgroundNeed | undefined {
    if (nowMs < this.#lookAtMs) return undefined
    let next: BackgroundNeed | undefined
    for (const coin of coins) {
      if (nowMs < (this.#deferred.get(coin)?.untilMs ?? 0)) continue
      if (next !== undefined && dayNotional(coin) <= dayNotional(next.coin)) continue
      const fromMs = needFromMs(coin)
      if (fromMs === null) continue
      if (nowMs - fromMs < DAY_MS && nowMs < this.#spacedUntilMs) continue
      next = { coin, fromMs }
    }
    if (next === undefined) this.#lookAtMs = nowMs + LOOK_MS
    else if (nowMs - next.fromMs < DAY_MS) this.#spacedUntilMs = nowMs + BACKGROUND_SPACING_MS
    return next
  }

  /** @param stillFromMs start of the missing data after the reply; without an hour of progress the coin is deferred */
  answered(task: BackgroundNeed, stillFromMs: number | null, nowMs: number, chance: number): void {
    if (stillFromMs === null || stillFromMs >= task.fromMs + HOUR_MS)
      this.#deferred.delete(task.coin)
    else this.#defer(task.coin, nowMs, chance)
  }

  failed(task: BackgroundNeed, nowMs: number, chance: number): void {
    this.#lookAtMs = nowMs + FAILURE_SPACING_MS
    this.#defer(task.coin, nowMs, chance)
  }

  keep(isFollowed: (coin: string) => boolean): void {
    for (const coin of this.#deferred.keys()) if (!isFollowed(coin)) this.#deferred.delete(coin)
  }

  #defer(coin: string, nowMs: number, chance: number): void {
    const attempts = (this.#deferred.get(coin)?.attempts ?? 0) + 1
    const untilMs = nowMs + backOffMs(COIN_BACK_OFF, attempts, chance)
    this.#deferred.set(coin, { attempts, untilMs })
  }
}

import { backOffMs } from '../../../domain/back-off.ts'

export type BackgroundNeed = {
  readonly coin: string
  /** What lacks begins here. */
  readonly fromMs: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Between two coins that lack less than a day: what every hour brings is asked of all coins within the
 * hour, with a tenth of our weight. A coin that lacks more is asked as soon as there is weight.
 */
export const BACKGROUND_SPACING_MS = 10_000
/** What was found to lack nothing is looked at again after so long. */
const LOOK_MS = 1_000
/** After a request in vain, for all coins: it is likely to be in vain for the next one, too. */
const FAILURE_SPACING_MS = 10_000
/** For the coin itself. What the venue does not have now it has in hours, or never. */
const COIN_BACK_OFF = { minMs: 60_000, maxMs: HOUR_MS }

type InVain = { readonly attempts: number; readonly untilMs: number }

/**
 * Which coin is asked next of something that all coins need and none needs soon: the most traded of those
 * that lack it. A coin is put off when it was asked in vain, longer every time.
 */
export class BackgroundRotation {
  readonly #inVain = new Map<string, InVain>()
  #lookAtMs = Number.NEGATIVE_INFINITY
  #spacedUntilMs = Number.NEGATIVE_INFINITY

  /** @param needFromMs what a coin lacks begins there; null where it lacks nothing */
  next(
    coins: readonly string[],
    nowMs: number,
    needFromMs: (coin: string) => number | null,
    dayNotionalUsd: (coin: string) => number,
  ): BackgroundNeed | undefined {
    if (nowMs < this.#lookAtMs) return undefined
    let next: BackgroundNeed | undefined
    for (const coin of coins) {
      if (nowMs < (this.#inVain.get(coin)?.untilMs ?? 0)) continue
      if (next !== undefined && dayNotionalUsd(coin) <= dayNotionalUsd(next.coin)) continue
      const fromMs = needFromMs(coin)
      if (fromMs === null) continue
      if (nowMs - fromMs < DAY_MS && nowMs < this.#spacedUntilMs) continue
      next = { coin, fromMs }
    }
    if (next === undefined) this.#lookAtMs = nowMs + LOOK_MS
    else if (nowMs - next.fromMs < DAY_MS) this.#spacedUntilMs = nowMs + BACKGROUND_SPACING_MS
    return next
  }

  /** @param stillFromMs what the coin lacks after the answer; less by an hour at least, or it is put off */
  answered(task: BackgroundNeed, stillFromMs: number | null, nowMs: number, chance: number): void {
    if (stillFromMs === null || stillFromMs >= task.fromMs + HOUR_MS) this.#inVain.delete(task.coin)
    else this.#putOff(task.coin, nowMs, chance)
  }

  failed(task: BackgroundNeed, nowMs: number, chance: number): void {
    this.#lookAtMs = nowMs + FAILURE_SPACING_MS
    this.#putOff(task.coin, nowMs, chance)
  }

  keep(isFollowed: (coin: string) => boolean): void {
    for (const coin of this.#inVain.keys()) if (!isFollowed(coin)) this.#inVain.delete(coin)
  }

  #putOff(coin: string, nowMs: number, chance: number): void {
    const attempts = (this.#inVain.get(coin)?.attempts ?? 0) + 1
    const untilMs = nowMs + backOffMs(COIN_BACK_OFF, attempts, chance)
    this.#inVain.set(coin, { attempts, untilMs })
  }
}

/** A universe costs as much weight as a coin's repair: the main dex lists often, the others rarely. */
const MAIN_PERIOD_MS = 60_000
const OTHER_PERIOD_MS = 300_000
/** A frame that does not fit the universe asks for a new one, but not more often than this. */
const DEMANDED_PERIOD_MS = 5_000

/** When the universe of each dex is to be fetched again. */
export class UniverseRefresh {
  readonly #mainDex: string
  /** When it was asked last. */
  readonly #askedMs = new Map<string, number>()
  readonly #demanded = new Set<string>()

  constructor(mainDex: string) {
    this.#mainDex = mainDex
  }

  /** The dex whose universe is due, if any. One that was never asked is not: the feed begins with it. */
  due(nowMs: number): string | undefined {
    for (const [dex, askedMs] of this.#askedMs) {
      const periodMs = dex === this.#mainDex ? MAIN_PERIOD_MS : OTHER_PERIOD_MS
      const waitMs = this.#demanded.has(dex) ? DEMANDED_PERIOD_MS : periodMs
      if (nowMs - askedMs >= waitMs) return dex
    }
    return undefined
  }

  /** The universe that we hold is out of date, or the last attempt to fetch it failed. */
  demand(): void {
    for (const dex of this.#askedMs.keys()) this.#demanded.add(dex)
  }

  asked(dex: string, nowMs: number): void {
    this.#askedMs.set(dex, nowMs)
    this.#demanded.delete(dex)
  }
}

/** A universe costs as much weight as a coin's repair: the main dex lists often, the others rarely. */
const MAIN_PERIOD_MS = 60_000
const OTHER_PERIOD_MS = 300_000
/** A frame that does not fit the universe asks for a new one, but not more often than this ... */
const DEMANDED_PERIOD_MS = 5_000
/** ... and twice as rarely after every reply that brought nothing new, or none at all. */
const DOUBLINGS_MAX = 6

type Asked = {
  /** When the last reply came, or failed to come. */
  readonly concludedMs: number
  /** How often in a row what was demanded was in vain. */
  readonly inVain: number
  isDemanded: boolean
}

/** When the universe of each dex is to be fetched again. */
export class UniverseRefresh {
  readonly #mainDex: string
  readonly #asked = new Map<string, Asked>()

  constructor(mainDex: string) {
    this.#mainDex = mainDex
  }

  /** The dex whose universe is due, if any. One that was never asked is not: the feed begins with it. */
  due(nowMs: number): string | undefined {
    for (const [dex, { concludedMs, inVain, isDemanded }] of this.#asked) {
      const periodMs = dex === this.#mainDex ? MAIN_PERIOD_MS : OTHER_PERIOD_MS
      const demandedMs = Math.min(
        periodMs,
        DEMANDED_PERIOD_MS * 2 ** Math.min(inVain, DOUBLINGS_MAX),
      )
      if (nowMs - concludedMs >= (isDemanded ? demandedMs : periodMs)) return dex
    }
    return undefined
  }

  /** What came does not fit the universes that we hold: one of them is out of date. */
  demand(): void {
    for (const asked of this.#asked.values()) asked.isDemanded = true
  }

  /** @param isNew whether the reply brought another universe than the one before */
  answered(dex: string, isNew: boolean, nowMs: number): void {
    const before = this.#asked.get(dex)
    const isInVain = before?.isDemanded === true && !isNew
    const inVain = isInVain ? before.inVain + 1 : 0
    this.#asked.set(dex, { concludedMs: nowMs, inVain, isDemanded: false })
  }

  failed(dex: string, nowMs: number): void {
    const inVain = (this.#asked.get(dex)?.inVain ?? 0) + 1
    this.#asked.set(dex, { concludedMs: nowMs, inVain, isDemanded: true })
  }
}

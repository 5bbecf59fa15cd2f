/** A universe costs as much weight as a coin's repair: the main dex lists often, the others rarely. */
const MAIN_PERIOD_MS = 60_000
const OTHER_PERIOD_MS = 300_000
/** A frame that does not fit the universe asks for a new one, but not more often than this ... */
const DEMANDED_PERIOD_MS = 5_000
/** ... and twice as rarely after every reply that brought nothing new, or none at all. */
const DOUBLINGS_MAX = 6

/** Replies, each asked for that soon, that decide a list which is contradicted; further ones come twice as rarely each. */
const UNDECIDED_REPLIES = 4

type Asked = {
  /** When the last reply came, or failed to come. */
  readonly concludedMs: number
  /** How often in a row what was demanded was in vain. */
  readonly inVain: number
  isDemanded: boolean
  /** Replies in a row that left open which list is right. */
  readonly undecided: number
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
    for (const [dex, asked] of this.#asked)
      if (nowMs - asked.concludedMs >= this.#waitMs(dex, asked)) return dex
    return undefined
  }

  has(dex: string): boolean {
    return this.#asked.has(dex)
  }

  /** It is not followed any more. */
  drop(dex: string): void {
    this.#asked.delete(dex)
  }

  /**
   * What came does not fit the list of a dex.
   * @param dex all of them where it is not known of which
   */
  demand(dex?: string): void {
    for (const [name, asked] of this.#asked)
      if (dex === undefined || name === dex) asked.isDemanded = true
  }

  /** A reply came, and the list is contradicted still: by the reply itself, or by what came before it. */
  undecided(dex: string, nowMs: number): void {
    const before = this.#asked.get(dex)
    if (before === undefined) return
    this.#asked.set(dex, { ...before, concludedMs: nowMs, undecided: before.undecided + 1 })
  }

  /** @param isNew whether the reply brought another universe than the one before */
  answered(dex: string, isNew: boolean, nowMs: number): void {
    const before = this.#asked.get(dex)
    const isInVain = before?.isDemanded === true && !isNew
    const inVain = isInVain ? before.inVain + 1 : 0
    this.#asked.set(dex, { concludedMs: nowMs, inVain, isDemanded: false, undecided: 0 })
  }

  failed(dex: string, nowMs: number): void {
    const inVain = (this.#asked.get(dex)?.inVain ?? 0) + 1
    this.#asked.set(dex, { concludedMs: nowMs, inVain, isDemanded: true, undecided: 0 })
  }

  #waitMs(dex: string, { inVain, isDemanded, undecided }: Asked): number {
    const periodMs = dex === this.#mainDex ? MAIN_PERIOD_MS : OTHER_PERIOD_MS
    if (undecided > 0) {
      const further = Math.max(0, undecided - UNDECIDED_REPLIES)
      return Math.min(periodMs, DEMANDED_PERIOD_MS * 2 ** Math.min(further, DOUBLINGS_MAX))
    }
    if (!isDemanded) return periodMs
    return Math.min(periodMs, DEMANDED_PERIOD_MS * 2 ** Math.min(inVain, DOUBLINGS_MAX))
  }
}

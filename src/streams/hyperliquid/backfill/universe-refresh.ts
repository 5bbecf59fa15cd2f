/** The main dex lists coins often, the others rarely. */
const MAIN_PERIOD_MS = 60_000
const OTHER_PERIOD_MS = 300_000
/** Shortest period while data contradict a universe ... */
const DEMANDED_PERIOD_MS = 5_000
/** ... doubled with every reply without a change and every failure. */
const DOUBLINGS_MAX = 6

/** Replies at the shortest period that decide a contradiction; the period of further ones doubles. */
const UNDECIDED_REPLIES = 4

type Asked = {
  /** When the last request succeeded or failed. */
  readonly concludedMs: number
  /** Demanded requests in a row without a new universe. */
  readonly futile: number
  isDemanded: boolean
  /** Replies in a row that left the contradiction open. */
  readonly undecided: number
}

/** When the universe of each dex is requested again. */
export class UniverseRefresh {
  readonly #mainDex: string
  readonly #asked = new Map<string, Asked>()

  constructor(mainDex: string) {
    this.#mainDex = mainDex
  }

  /** The dex whose universe is due. The feed itself makes the first request. */
  due(nowMs: number): string | undefined {
    for (const [dex, asked] of this.#asked)
      if (nowMs - asked.concludedMs >= this.#waitMs(dex, asked)) return dex
    return undefined
  }

  has(dex: string): boolean {
    return this.#asked.has(dex)
  }

  /** The dex is no longer followed. */
  drop(dex: string): void {
    this.#asked.delete(dex)
  }

  /**
   * Data contradict the universe of a dex.
   * @param dex all dexes if absent
   */
  demand(dex?: string): void {
    for (const [name, asked] of this.#asked)
      if (dex === undefined || name === dex) asked.isDemanded = true
  }

  /** A reply arrived and the universe is still contradicted. */
  undecided(dex: string, nowMs: number): void {
    const before = this.#asked.get(dex)
    if (before === undefined) return
    this.#asked.set(dex, { ...before, concludedMs: nowMs, undecided: before.undecided + 1 })
  }

  /** @param isNew whether the universe changed */
  answered(dex: string, isNew: boolean, nowMs: number): void {
    const before = this.#asked.get(dex)
    const isFutile = before?.isDemanded === true && !isNew
    const futile = isFutile ? before.futile + 1 : 0
    this.#asked.set(dex, { concludedMs: nowMs, futile, isDemanded: false, undecided: 0 })
  }

  failed(dex: string, nowMs: number): void {
    const futile = (this.#asked.get(dex)?.futile ?? 0) + 1
    this.#asked.set(dex, { concludedMs: nowMs, futile, isDemanded: true, undecided: 0 })
  }

  #waitMs(dex: string, { futile, isDemanded, undecided }: Asked): number {
    const periodMs = dex === this.#mainDex ? MAIN_PERIOD_MS : OTHER_PERIOD_MS
    if (undecided > 0) {
      const further = Math.max(0, undecided - UNDECIDED_REPLIES)
      return Math.min(periodMs, DEMANDED_PERIOD_MS * 2 ** Math.min(further, DOUBLINGS_MAX))
    }
    if (!isDemanded) return periodMs
    return Math.min(periodMs, DEMANDED_PERIOD_MS * 2 ** Math.min(futile, DOUBLINGS_MAX))
  }
}

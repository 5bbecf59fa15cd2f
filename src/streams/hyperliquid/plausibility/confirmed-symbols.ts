import { dexOf } from '../wire/universe.ts'

/**
 * Which names may be subscribed. A name that was told once may have been bent on its way, and the venue drops the
 * socket of whoever subscribes one that it does not know: it is sure when it was told twice in a row, or was known
 * to the engine before. What a dex tells first of all has nothing to be compared with.
 */
export class ConfirmedSymbols {
  readonly #known: ReadonlySet<string>
  readonly #knownDexes: ReadonlySet<string>
  readonly #told = new Map<string, ReadonlySet<string>>()
  readonly #sure = new Map<string, ReadonlySet<string>>()

  /** @param known to the engine, from before this feed began */
  constructor(known: Iterable<string>) {
    this.#known = new Set(known)
    this.#knownDexes = new Set(Array.from(this.#known, dexOf))
  }

  /**
   * All names of a dex, as it has just told them.
   * @returns whether other names are sure now
   */
  told(dex: string, names: readonly string[]): boolean {
    const toldBefore = this.#told.get(dex)
    const sureBefore = this.#sure.get(dex)
    const isFirst = toldBefore === undefined && !this.#knownDexes.has(dex)
    const sure = new Set(
      names.filter((name) => isFirst || toldBefore?.has(name) || this.#known.has(name)),
    )
    this.#told.set(dex, new Set(names))
    this.#sure.set(dex, sure)
    return sure.size !== sureBefore?.size || [...sure].some((name) => !sureBefore.has(name))
  }

  /** It is not followed any more. What it says when it is followed again is compared with nothing. */
  drop(dex: string): void {
    this.#told.delete(dex)
    this.#sure.delete(dex)
  }

  isSure(name: string): boolean {
    return this.#sure.get(dexOf(name))?.has(name) === true
  }

  /** Whether a dex has to be asked once more. */
  hasUnsure(dex: string): boolean {
    return this.#told.get(dex)?.size !== this.#sure.get(dex)?.size
  }
}

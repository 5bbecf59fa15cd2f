import { dexOf } from '../wire/universe.ts'

/**
 * The coins that may be subscribed. The venue closes the socket of a client that subscribes an unknown name, so a new
 * name needs two replies in a row, unless the engine knew it. The first universe of a dex has nothing to be compared with
 * and is confirmed at once.
 */
export class ConfirmedSymbols {
  readonly #known: ReadonlySet<string>
  readonly #knownDexes: ReadonlySet<string>
  readonly #listed = new Map<string, ReadonlySet<string>>()
  readonly #confirmed = new Map<string, ReadonlySet<string>>()

  /** @param known coins that the engine knew before the feed began */
  constructor(known: Iterable<string>) {
    this.#known = new Set(known)
    this.#knownDexes = new Set(Array.from(this.#known, dexOf))
  }

  /**
   * @param names all coins of the newest universe of a dex
   * @returns whether the confirmed coins changed
   */
  update(dex: string, names: readonly string[]): boolean {
    const listedBefore = this.#listed.get(dex)
    const confirmedBefore = this.#confirmed.get(dex)
    const isFirst = listedBefore === undefined && !this.#knownDexes.has(dex)
    const confirmed = new Set(
      names.filter((name) => isFirst || listedBefore?.has(name) || this.#known.has(name)),
    )
    this.#listed.set(dex, new Set(names))
    this.#confirmed.set(dex, confirmed)
    return (
      confirmed.size !== confirmedBefore?.size ||
      [...confirmed].some((name) => !confirmedBefore.has(name))
    )
  }

  /** The dex is no longer followed. */
  drop(dex: string): void {
    this.#listed.delete(dex)
    this.#confirmed.delete(dex)
  }

  isConfirmed(name: string): boolean {
    return this.#confirmed.get(dexOf(name))?.has(name) === true
  }

  /** Whether the universe of a dex must be requested again. */
  hasUnconfirmed(dex: string): boolean {
    return this.#listed.get(dex)?.size !== this.#confirmed.get(dex)?.size
  }
}

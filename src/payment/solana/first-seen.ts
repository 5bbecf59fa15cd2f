import { BoundedMap } from '../../domain/bounded-map.ts'

/** An older payment that returns counts as new. */
const REMEMBERED_MAX = 10_000

/** Time of the first arrival of each payment. */
export class FirstSeen {
  readonly #seconds = new BoundedMap<string, number>(REMEMBERED_MAX)

  /** @returns Unix time, seconds: of the first call with this name */
  at(name: string, nowSeconds: number): number {
    const before = this.#seconds.get(name)
    if (before !== undefined) return before
    this.#seconds.set(name, nowSeconds)
    return nowSeconds
  }
}

import { BoundedMap } from '../../domain/bounded-map.ts'

/** So many payments are remembered; an older one that comes again counts as seen for the first time. */
const REMEMBERED_MAX = 10_000

/** When something came here for the first time. */
export class FirstSeen {
  readonly #seconds = new BoundedMap<string, number>(REMEMBERED_MAX)

  /** @returns Unix time, seconds: `nowSeconds`, or when the same name was asked for first */
  at(name: string, nowSeconds: number): number {
    const before = this.#seconds.get(name)
    if (before !== undefined) return before
    this.#seconds.set(name, nowSeconds)
    return nowSeconds
  }
}

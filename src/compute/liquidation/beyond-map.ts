import type { Side } from './leverage-ladder.ts'

/** Positions of a side whose liquidation price lies beyond the map, in the coin's unit. */
export type BeyondMap = {
  readonly sizeBase: number
  /** Part of it in positions of known accounts, and their number. */
  readonly observedBase: number
  readonly positions: number
  /** For each row of the exposure. */
  readonly rowsBase: readonly number[]
  /** Liquidation price nearest to the mark, and median by size, USD; null without any. */
  readonly nearestPrice: number | null
  readonly medianPrice: number | null
}

type Entry = { readonly price: number; readonly sizeBase: number }

/** Collects the positions beyond the map on one side. */
export class BeyondBuilder {
  readonly #entries: Entry[] = []
  readonly #rowsBase: number[]
  #sizeBase = 0
  #observedBase = 0
  #positions = 0

  constructor(rows: number) {
    this.#rowsBase = Array.from({ length: rows }, () => 0)
  }

  add(row: number, price: number, sizeBase: number): void {
    if (!(sizeBase > 0)) return
    this.#entries.push({ price, sizeBase })
    this.#rowsBase[row] = (this.#rowsBase[row] as number) + sizeBase
    this.#sizeBase += sizeBase
  }

  addObserved(row: number, price: number, sizeBase: number): void {
    this.add(row, price, sizeBase)
    this.#observedBase += sizeBase
    this.#positions += 1
  }

  build(side: Side): BeyondMap {
    const nearestFirst = this.#entries.sort((one, other) =>
      side === 'long' ? other.price - one.price : one.price - other.price,
    )
    let withinBase = 0
    const median = nearestFirst.find(({ sizeBase }) => {
      withinBase += sizeBase
      return withinBase >= this.#sizeBase / 2
    })
    return {
      sizeBase: this.#sizeBase,
      observedBase: this.#observedBase,
      positions: this.#positions,
      rowsBase: this.#rowsBase,
      nearestPrice: nearestFirst[0]?.price ?? null,
      medianPrice: median?.price ?? null,
    }
  }
}

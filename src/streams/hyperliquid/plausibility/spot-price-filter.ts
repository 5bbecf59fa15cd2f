import type { TokenPrice } from '../../../domain/event.ts'

/** The most that a token in use as collateral moves within a minute, unless two replies agree. */
const STEP_FACTOR_MAX = 1.25

/** Prices of spot tokens as far as they are believed: one that has leapt is unknown until the next reply confirms it. */
export class SpotPriceFilter {
  readonly #told = new Map<number, number>()

  believed(tokens: readonly TokenPrice[]): readonly TokenPrice[] {
    return tokens.map((one) => {
      const { token, usdcPrice } = one
      if (usdcPrice === null) return one
      const before = this.#told.get(token) ?? usdcPrice
      this.#told.set(token, usdcPrice)
      const hasLeapt = Math.max(before / usdcPrice, usdcPrice / before) > STEP_FACTOR_MAX
      return hasLeapt ? { ...one, usdcPrice: null } : one
    })
  }
}

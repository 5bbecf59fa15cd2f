import type { TokenPrice } from '../../../domain/event.ts'

/** Largest move of a collateral token between two replies, which are a minute apart. */
const STEP_FACTOR_MAX = 1.25

/** Replaces a spot price that moved too far by null, until the next reply confirms it. */
export class SpotPriceFilter {
  readonly #last = new Map<number, number>()

  accept(tokens: readonly TokenPrice[]): readonly TokenPrice[] {
    return tokens.map((one) => {
      const { token, usdcPrice } = one
      if (usdcPrice === null) return one
      const last = this.#last.get(token) ?? usdcPrice
      this.#last.set(token, usdcPrice)
      const isOutlier = Math.max(last / usdcPrice, usdcPrice / last) > STEP_FACTOR_MAX
      return isOutlier ? { ...one, usdcPrice: null } : one
    })
  }
}

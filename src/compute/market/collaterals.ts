import type { CollateralPricesEvent, TokenPrice } from '../../domain/event.ts'
import { USDC_TOKEN } from '../../domain/listing.ts'

/** A price that is not confirmed for ten of the feed's periods converts nothing any more. */
const COLLATERAL_PRICE_AGE_MS_MAX = 600_000

/** What the prices and notionals of a coin are in, and what a unit of that is worth. */
export type Collateral = {
  /** Name of the venue's spot token; null before it was received. */
  readonly unit: string | null
  /** NaN where no source says. */
  readonly usdPerUnit: number
  /** Why it is that: `par` for USDC, which counts as USD throughout; null where it is unknown. */
  readonly source: 'par' | 'venue_spot' | null
  /** When the venue last confirmed it; null where that has no meaning. */
  readonly confirmedAtMs: number | null
  /** Turnover of the pair that the price is of, 24 hours; null likewise. */
  readonly dayNotionalUsd: number | null
}

const USDC: Collateral = {
  unit: 'USDC',
  usdPerUnit: 1,
  source: 'par',
  confirmedAtMs: null,
  dayNotionalUsd: null,
}

/** What the collateral of each dex is worth, as the venue's own spot market last said. */
export class Collaterals {
  readonly #tokens = new Map<number, Collateral>()

  apply({ tokens, timeReceivedMs }: CollateralPricesEvent): void {
    for (const token of tokens) this.#tokens.set(token.token, collateralOf(token, timeReceivedMs))
  }

  /** Forgets prices that are too old. */
  advance(nowMs: number): void {
    for (const [token, { unit, confirmedAtMs }] of this.#tokens)
      if (confirmedAtMs !== null && nowMs - confirmedAtMs > COLLATERAL_PRICE_AGE_MS_MAX)
        this.#tokens.set(token, unpriced(unit))
  }

  /** @param token absent for a coin of the venue's own dex */
  of(token = USDC_TOKEN): Collateral {
    return token === USDC_TOKEN ? USDC : (this.#tokens.get(token) ?? unpriced(null))
  }
}

function collateralOf({ name, usdcPrice, dayNotionalUsd }: TokenPrice, atMs: number): Collateral {
  if (usdcPrice === null) return unpriced(name)
  return {
    unit: name,
    usdPerUnit: usdcPrice,
    source: 'venue_spot',
    confirmedAtMs: atMs,
    dayNotionalUsd,
  }
}

function unpriced(unit: string | null): Collateral {
  return { unit, usdPerUnit: Number.NaN, source: null, confirmedAtMs: null, dayNotionalUsd: null }
}

import type { CollateralPricesEvent, TokenPrice } from '../../domain/event.ts'
import { USDC_TOKEN } from '../../domain/listing.ts'

/** Ten periods of the feed: an older price converts nothing. */
const COLLATERAL_PRICE_AGE_MS_MAX = 600_000

/** Unit of a coin's prices and notionals, and its value. */
export type Collateral = {
  /** Name of the venue's spot token; null before it was received. */
  readonly unit: string | null
  /** NaN without a source. */
  readonly usdPerUnit: number
  /** Source of that value: `par` for USDC, which counts as USD throughout; null where it is unknown. */
  readonly source: 'par' | 'venue_spot' | null
  /** Last confirmation by the venue; null for `par` and where it is unknown. */
  readonly confirmedAtMs: number | null
  /** 24 h turnover of the spot pair; null likewise. */
  readonly dayNotionalUsd: number | null
}

const USDC: Collateral = {
  unit: 'USDC',
  usdPerUnit: 1,
  source: 'par',
  confirmedAtMs: null,
  dayNotionalUsd: null,
}

/** Value of the collateral of each dex, by the venue's spot market. */
export class Collaterals {
  readonly #tokens = new Map<number, Collateral>()

  apply({ tokens, timeReceivedMs }: CollateralPricesEvent): void {
    for (const token of tokens) this.#tokens.set(token.token, collateralOf(token, timeReceivedMs))
  }

  /** Removes prices that are too old. */
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

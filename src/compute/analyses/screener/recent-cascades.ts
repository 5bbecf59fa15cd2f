import type { CascadeLevel } from '../../liquidation/cascade.ts'
import { cascadeLevelOf } from '../../liquidation/cascade.ts'
import type { CoinMarket } from '../../market/coin-market.ts'

/** A level is worked out again once it is as old as this, ... */
const KEPT_MS = 30_000
/** ... for so many coins at a time: it costs more than everything else that is read of a coin. */
const RENEWED_MAX = 40

type Known = { readonly level: CascadeLevel | null; readonly atMs: number }

/** Lives as long as its coin does. */
const known = new WeakMap<CoinMarket, Known>()

/** The cascade level of each coin; of most of them as it was some seconds ago. */
export function cascadeLevelsOf(
  coins: readonly CoinMarket[],
  nowMs: number,
): ReadonlyMap<CoinMarket, CascadeLevel | null> {
  const aged = coins
    .filter((coin) => ageMs(coin, nowMs) >= KEPT_MS)
    .sort((one, other) => ageMs(other, nowMs) - ageMs(one, nowMs))
  for (const [at, coin] of aged.entries()) {
    if (at >= RENEWED_MAX && known.has(coin)) continue
    known.set(coin, { level: cascadeLevelOf(coin), atMs: nowMs })
  }
  return new Map(coins.map((coin) => [coin, known.get(coin)?.level ?? null]))
}

/** Either way: a clock may have been set back. */
function ageMs(coin: CoinMarket, nowMs: number): number {
  return Math.abs(nowMs - (known.get(coin)?.atMs ?? Number.NEGATIVE_INFINITY))
}

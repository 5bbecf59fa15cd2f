import { undated } from '../compute/market/coin-market.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { DexSelection } from '../domain/dex.ts'
import { WHOLE_MARKET } from '../domain/document.ts'
import { dexOf, MAIN_DEX } from '../streams/hyperliquid/wire/universe.ts'

/** The part of a saved checkpoint that is still valid with the present options and clock. */
export function usableCheckpoint(
  checkpoint: Checkpoint,
  { dexes, isClockNew = false }: { readonly dexes: DexSelection; readonly isClockNew?: boolean },
): Checkpoint {
  const followed = followedOnly(checkpoint, dexes)
  return isClockNew ? undatedCheckpoint(followed) : followed
}

/** The feed sends no delisting for a dex that is no longer followed, so its coins are removed here. */
function followedOnly(checkpoint: Checkpoint, dexes: DexSelection): Checkpoint {
  // Dexes that a rule selected stay until the rule is evaluated again.
  if (dexes === 'all' || dexes === 'auto') return checkpoint
  const followed = new Set([MAIN_DEX, ...dexes])
  const listings = checkpoint.listings.filter(({ coin }) => followed.has(dexOf(coin)))
  const gone = checkpoint.listings.filter((listing) => !listings.includes(listing))
  const coins = new Map(checkpoint.coins)
  for (const { coin } of gone) coins.delete(coin)
  return { ...checkpoint, listings, coins }
}

function undatedCheckpoint(checkpoint: Checkpoint): Checkpoint {
  const coins = new Map(checkpoint.coins)
  for (const [coin, saved] of coins) if (coin !== WHOLE_MARKET) coins.set(coin, undated(saved))
  return { ...checkpoint, coins }
}

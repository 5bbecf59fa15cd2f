import type { Listing } from '../../domain/listing.ts'
import { documentKinds } from '../analyses/registry.ts'
import type { CandleLadder } from '../candles/candle-ladder.ts'
import type { PulsePool } from '../indicators/pulse-series.ts'
import { CoinMarket } from '../market/coin-market.ts'
import { MarketState } from '../market/market-state.ts'
import { trackersOf } from '../processor.ts'

/** A market that tracks what the service tracks. */
export function newMarket(pool: PulsePool): MarketState {
  return new MarketState(pool, trackersOf(documentKinds))
}

/** A coin that tracks what the service tracks. */
export function newCoin(listing: Listing, ladder: CandleLadder): CoinMarket {
  return new CoinMarket(
    listing,
    ladder,
    trackersOf(documentKinds).filter((kind) => kind.scope === 'coin'),
  )
}

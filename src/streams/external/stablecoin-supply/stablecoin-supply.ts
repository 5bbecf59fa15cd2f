import { polledSource, USUAL_BACK_OFF } from '../polled-source.ts'
import { decodeSupply } from './decode.ts'

/** How much USDC circulates on all chains together, as DefiLlama counts it. */
export const stablecoinSupply = polledSource({
  source: 'stablecoin-supply',
  path: '/stablecoins?includePrices=true',
  periodMs: 30 * 60_000,
  backOff: USUAL_BACK_OFF,
  decode: decodeSupply,
})

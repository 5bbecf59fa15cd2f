import { polledSource } from '../polled-source.ts'
import { decodeSupply } from './decode.ts'

/** Circulating USDC on all chains, from DefiLlama (https://defillama.com/docs/api). */
export const stablecoinSupply = polledSource({
  source: 'stablecoin-supply',
  path: '/stablecoins?includePrices=true',
  periodMs: 30 * 60_000,
  decode: decodeSupply,
})

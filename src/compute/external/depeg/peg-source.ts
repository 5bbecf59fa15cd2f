import type { PegClass, PegVote } from './peg-price.ts'

/** Why a source is shown but not used. */
export const pegSourceFaults = [
  'too_old',
  'implausible_price',
  'crossed_book',
  'wide_spread',
  'thin_pool',
  'no_usdt_rate',
  'finer_feed_used',
] as const
export type PegSourceFault = (typeof pegSourceFaults)[number]

/** One source's price of USDC in USD and its fault, before the votes of its provider are counted. */
export type UnweightedPegSource = Omit<PegVote, 'weight'> & {
  /** Such as `pyth-hermes`, `chainlink:base`, `kraken:USDC/USD`, `arbitrum:uniswap-v3`. */
  readonly id: string
  readonly class: PegClass
  readonly confirmedAtMs: number
  readonly receivedAtMs: number
  readonly cadenceMs: number
  readonly ageMsMax: number
  readonly fault: PegSourceFault | null
}

export type PegSource = UnweightedPegSource & {
  /** Within its class; 0 for a source that is not used. */
  readonly weight: number
}

/** Beyond this it is another asset, or a wrong scale. */
const PRICE_USD_MAX = 10

export function faultOfPrice(price: number): 'implausible_price' | null {
  return price > 0 && price <= PRICE_USD_MAX ? null : 'implausible_price'
}

import type { PegClass } from './peg-price.ts'

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
export type UnweightedPegSource = {
  /** Such as `pyth-hermes`, `chainlink:base`, `kraken:USDC/USD`, `arbitrum:uniswap-v3`. */
  readonly id: string
  readonly class: PegClass
  /** Network, exchange or chain behind it, which has one vote in its class however many sources it has. */
  readonly provider: string
  readonly priceUsd: number
  readonly confidenceBps: number | null
  readonly resolutionBps: number
  /** Part of the resolution that is possible at its age. */
  readonly unseenBps: number
  /** Standard deviation of an oracle feed's error now; null for a market. */
  readonly expectedErrorBps: number | null
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

import type { ChainEvent } from '../../../domain/external.ts'
import type { BestQuote } from '../../book/best-quote.ts'
import type { ExchangeLeg } from '../../external/exchange-reference.ts'
import type { PoolLeg } from '../../external/pool-prices.ts'
import { SWAP_USD } from '../../external/pool-prices.ts'
import { takerFees } from './taker-fees.ts'

const BPS = 10_000

/** One way to trade the difference: bought here, sold there. */
export type Edge = {
  readonly buy: string
  readonly sell: string
  /** 10,000 ln(sell / buy), before any cost. */
  readonly grossBps: number
  /** Taker fees of both, and what a pool takes of a swap of 10,000 USD. */
  readonly feeBps: number
  /** NaN where nobody knows what gas costs. */
  readonly gasBps: number
  readonly netBps: number
}

type Side = {
  readonly name: string
  readonly bidUsd: number
  readonly askUsd: number
  readonly feeBps: number
  readonly gasBps: number
}

/**
 * Of each exchange against the venue's perpetual and against the pool, in both directions, the exchange that
 * leaves most. A pool without a known price of gas has no net.
 */
export function edgesOf(
  exchanges: readonly ExchangeLeg[],
  perp: Side | null,
  pool: Side | null,
): readonly Edge[] {
  const sides = exchanges.map(
    ({ exchange, bidUsd, askUsd }): Side => ({
      name: exchange,
      bidUsd,
      askUsd,
      feeBps: takerFees.takerBps[exchange],
      gasBps: 0,
    }),
  )
  return [perp, pool].flatMap((dex) => {
    if (dex === null) return []
    const bought = sides.map((cex) => edgeOf(dex, cex))
    const sold = sides.map((cex) => edgeOf(cex, dex))
    return [...best(bought), ...best(sold)]
  })
}

/** @param scale units of the asset in one coin of the venue; null where one side of its book is empty */
export function perpSide(quote: BestQuote | null, scale: number): Side | null {
  if (quote === null || quote.bid === null || quote.ask === null) return null
  return {
    name: 'venue_perp',
    bidUsd: quote.bid.price / scale,
    askUsd: quote.ask.price / scale,
    feeBps: takerFees.takerBps.venue_perp,
    gasBps: 0,
  }
}

/** @param nativeUsd what one unit of the chain's own coin is worth; NaN for unknown */
export function poolSide(leg: PoolLeg, chain: ChainEvent | null, nativeUsd: number): Side {
  const gasUsd = (chain?.swapGasNative ?? Number.NaN) * nativeUsd
  return {
    name: `${leg.pool.chain}/${leg.pool.dex}`,
    bidUsd: leg.priceUsd,
    askUsd: leg.priceUsd,
    feeBps: leg.swapCostBps,
    gasBps: (gasUsd / SWAP_USD) * BPS,
  }
}

function edgeOf(buy: Side, sell: Side): Edge {
  const grossBps = BPS * Math.log(sell.bidUsd / buy.askUsd)
  const feeBps = buy.feeBps + sell.feeBps
  const gasBps = buy.gasBps + sell.gasBps
  return {
    buy: buy.name,
    sell: sell.name,
    grossBps,
    feeBps,
    gasBps,
    netBps: grossBps - feeBps - gasBps,
  }
}

/** By gross less fees, because gas is the same for all of them. */
function best(edges: readonly Edge[]): readonly Edge[] {
  const left = ({ grossBps, feeBps }: Edge) => grossBps - feeBps
  const [first, ...rest] = edges
  if (first === undefined) return []
  return [rest.reduce((known, edge) => (left(edge) > left(known) ? edge : known), first)]
}

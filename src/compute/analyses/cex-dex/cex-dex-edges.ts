import type { ChainEvent } from '../../../domain/external.ts'
import type { BestQuote } from '../../book/best-quote.ts'
import type { ExchangeLeg } from '../../external/exchange-reference.ts'
import type { PoolLeg } from '../../external/pool-prices.ts'
import { SWAP_USD } from '../../external/pool-prices.ts'
import { bps } from '../../render/significance.ts'
import { takerFees } from './taker-fees.ts'

const BPS = 10_000

/** One trade of the difference: buy at one venue, sell at another. */
export type Edge = {
  readonly buy: string
  readonly sell: string
  /** 10,000 ln(sell / buy), before any cost. */
  readonly grossBps: number
  /** Taker fees of both sides, entry and exit with the perpetual; for a pool its fee and price impact of {@link SWAP_USD}. */
  readonly feeBps: number
  /** NaN if the gas cost is unknown. */
  readonly gasBps: number
  readonly netBps: number
}

type Side = {
  readonly name: string
  readonly bidUsd: number
  readonly askUsd: number
  readonly feeBps: number
  readonly gasBps: number
  /** A swap completes the trade; a perpetual is a position that is closed later, with the other side. */
  readonly trades: 1 | 2
}

/**
 * Best exchange per direction, against the venue's perpetual and against the pool. The net of a pool is NaN if the
 * gas cost is unknown.
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
      trades: 1,
    }),
  )
  return [perp, pool].flatMap((dex) => {
    if (dex === null) return []
    const bought = sides.map((cex) => edgeOf(dex, cex))
    const sold = sides.map((cex) => edgeOf(cex, dex))
    return [...best(bought), ...best(sold)]
  })
}

/**
 * @param scale asset units per venue unit
 * @param usdtUsd price of USDT, which the price of the perpetual follows; null if unknown
 * @returns null if one side of the book is empty, or without a price of USDT
 */
export function perpSide(
  quote: BestQuote | null,
  scale: number,
  usdtUsd: number | null,
): Side | null {
  if (quote === null || quote.bid === null || quote.ask === null || usdtUsd === null) return null
  return {
    name: 'venue_perp',
    bidUsd: (quote.bid.price / scale) * usdtUsd,
    askUsd: (quote.ask.price / scale) * usdtUsd,
    feeBps: takerFees.takerBps.venue_perp,
    gasBps: 0,
    trades: 2,
  }
}

/** @param nativeUsd USD price of the chain's native token; NaN if unknown */
export function poolSide(leg: PoolLeg, chain: ChainEvent | null, nativeUsd: number): Side {
  const gasUsd = (chain?.swapGasNative ?? Number.NaN) * nativeUsd
  return {
    name: `${leg.pool.chain}/${leg.pool.dex}`,
    bidUsd: leg.priceUsd,
    askUsd: leg.priceUsd,
    feeBps: leg.swapCostBps,
    gasBps: (gasUsd / SWAP_USD) * BPS,
    trades: 1,
  }
}

function edgeOf(buy: Side, sell: Side): Edge {
  const grossBps = BPS * Math.log(sell.bidUsd / buy.askUsd)
  const feeBps = Math.max(buy.trades, sell.trades) * (buy.feeBps + sell.feeBps)
  const gasBps = buy.gasBps + sell.gasBps
  return {
    buy: buy.name,
    sell: sell.name,
    grossBps,
    feeBps,
    gasBps,
    netBps: bps(bps(grossBps) - bps(feeBps) - bps(gasBps)),
  }
}

/** By gross less fees; gas is equal for all. */
function best(edges: readonly Edge[]): readonly Edge[] {
  const left = ({ grossBps, feeBps }: Edge) => grossBps - feeBps
  const [first, ...rest] = edges
  if (first === undefined) return []
  return [rest.reduce((known, edge) => (left(edge) > left(known) ? edge : known), first)]
}

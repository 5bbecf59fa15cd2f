import type { Chain } from '../../../domain/external.ts'
import { chains } from '../../../domain/external.ts'
import { bps } from '../../render/significance.ts'
import type { AssetGaps, Gap } from './arb-gaps.ts'
import type { ArbAsset } from './arb-model.ts'
import {
  arbAssets,
  BRIDGE_FEE_BPS,
  BRIDGE_RISK_Z,
  BRIDGE_SECONDS,
  REBALANCE_BPS,
} from './arb-model.ts'

/** Buys an asset on one chain and sells it on another, per unit of notional, bps. */
export type ChainPair = {
  /** Fixed position among all pairs. */
  readonly at: number
  readonly asset: ArbAsset
  readonly buyChain: Chain
  readonly sellChain: Chain
  readonly buy: Gap
  readonly sell: Gap
  /** (sell - buy) / buy, without structural gaps. */
  readonly grossBps: number
  /** Fees, impact and gas of both legs, and returning inventory. */
  readonly costBps: number
  /** With inventory on both chains: difference of the other two as printed. */
  readonly netBps: number
  /** With a bridge: its fee and the price risk of its duration; NaN where that is unknown. */
  readonly netBridgeBps: number
}

const BPS = 10_000

export const CHAIN_PAIRS = arbAssets.length * chains.length ** 2

/**
 * All ordered pairs of chains on which an asset has a fresh price and known costs.
 * @param sigmaBps standard deviation of the asset's price over one second; NaN where unknown
 */
export function chainPairs(
  assets: readonly AssetGaps[],
  sigmaBps: (asset: ArbAsset) => number,
): readonly ChainPair[] {
  return assets.flatMap(({ asset, gaps }, place) => {
    const riskBps = BRIDGE_RISK_Z * sigmaBps(asset) * Math.sqrt(BRIDGE_SECONDS)
    return gaps.flatMap((buy, from) =>
      gaps.flatMap((sell, to) => {
        const at = (place * chains.length + from) * chains.length + to
        const pair = pairOf(at, buy, sell, riskBps)
        return from === to || Number.isNaN(pair.netBps) ? [] : [pair]
      }),
    )
  })
}

function pairOf(at: number, buy: Gap, sell: Gap, riskBps: number): ChainPair {
  const costBps = legBps(buy) + legBps(sell) + REBALANCE_BPS
  const grossBps = BPS * Math.expm1((sell.excessBps - buy.excessBps) / BPS)
  const netBps = bps(bps(grossBps) - bps(costBps))
  return {
    at,
    asset: buy.cell.asset,
    buyChain: buy.cell.chain,
    sellChain: sell.cell.chain,
    buy,
    sell,
    grossBps,
    costBps,
    netBps,
    netBridgeBps: netBps - BRIDGE_FEE_BPS - riskBps,
  }
}

function legBps({ cell, gasBps }: Gap): number {
  return cell.feeBps + cell.impactBps + gasBps
}

/** Net at the average prices of the last minute; NaN for a pool without one. */
export function twapNetBps({ buy, sell, costBps }: ChainPair): number {
  const soldUsd = sell.cell.twapUsd * Math.exp(-sell.structuralBps / BPS)
  const boughtUsd = buy.cell.twapUsd * Math.exp(-buy.structuralBps / BPS)
  return BPS * (soldUsd / boughtUsd - 1) - costBps
}

import type { Gap } from './arb-gaps.ts'
import { BRIDGE_SECONDS, freshMsMax, NOTIONAL_USD, PERSISTENT_SECONDS } from './arb-model.ts'
import type { ChainPair } from './arb-pairs.ts'
import { twapNetBps } from './arb-pairs.ts'

/** A pair of chains on which an asset's prices differ, profitable or not. */
export type Dislocation = Pick<
  ChainPair,
  'asset' | 'buyChain' | 'sellChain' | 'grossBps' | 'costBps' | 'netBps'
> & {
  readonly ageMs: number
  /** The structural gaps of both chains are known, and removed from `grossBps`. */
  readonly isUsualKnown: boolean
}

export const opportunityClasses = ['TRANSIENT', 'PERSISTENT', 'STRUCTURAL'] as const
type OpportunityClass = (typeof opportunityClasses)[number]

/** A pair that was profitable in two consecutive samples. An estimate before the trade, not an executable quote. */
export type Opportunity = Omit<ChainPair, 'at' | 'buy' | 'sell' | 'costBps'> & {
  readonly notionalUsd: number
  readonly netUsd: number
  readonly ageMs: number
  readonly kind: OpportunityClass
  /** 0 to 1. */
  readonly confidence: number
}

const BPS = 10_000
/** Weights of age, freshness of the blocks, and profit at average prices. */
const confidenceWeights = { life: 0.4, freshness: 0.3, memory: 0.3 } as const

export function dislocationOf(pair: ChainPair, ageMs: number): Dislocation {
  const { asset, buyChain, sellChain, grossBps, costBps, netBps } = pair
  const isUsualKnown = pair.buy.isStructuralKnown && pair.sell.isStructuralKnown
  return { asset, buyChain, sellChain, grossBps, costBps, netBps, ageMs, isUsualKnown }
}

export function opportunityOf(pair: ChainPair, ageMs: number, nowMs: number): Opportunity {
  const { asset, buyChain, sellChain, grossBps, netBps, netBridgeBps } = pair
  return {
    asset,
    buyChain,
    sellChain,
    grossBps,
    netBps,
    netBridgeBps,
    notionalUsd: NOTIONAL_USD,
    netUsd: (netBps / BPS) * NOTIONAL_USD,
    ageMs,
    kind: classOf(ageMs / 1_000),
    confidence: confidenceOf(pair, ageMs, nowMs),
  }
}

function classOf(ageSeconds: number): OpportunityClass {
  if (ageSeconds < PERSISTENT_SECONDS) return 'TRANSIENT'
  return ageSeconds <= BRIDGE_SECONDS ? 'PERSISTENT' : 'STRUCTURAL'
}

function confidenceOf(pair: ChainPair, ageMs: number, nowMs: number): number {
  const life = Math.min(1, ageMs / 1_000 / PERSISTENT_SECONDS)
  const freshness = Math.min(freshnessOf(pair.buy, nowMs), freshnessOf(pair.sell, nowMs))
  const { life: lifeWeight, freshness: freshnessWeight, memory } = confidenceWeights
  return lifeWeight * life + freshnessWeight * freshness + memory * memoryOf(twapNetBps(pair))
}

/** 1 for a current block, 0 at the age limit. */
function freshnessOf({ cell }: Gap, nowMs: number): number {
  const share = Math.abs(nowMs - cell.blockTimeMs) / freshMsMax(cell.chain)
  return Math.max(0, 1 - share)
}

/** 0.5 for a pool without average price. */
function memoryOf(netBps: number): number {
  if (Number.isNaN(netBps)) return 0.5
  return netBps > 0 ? 1 : 0
}

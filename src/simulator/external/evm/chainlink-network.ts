import type { Abi } from 'viem'
import { parseAbi } from 'viem'
import type { ReferencePrices } from '../reference-prices.ts'
import { TriggeredRounds } from '../triggered-rounds.ts'
import type { Contract } from './contract.ts'
import { contract, Revert } from './contract.ts'
import type { feedAssets } from './simulated-chains.ts'

type FeedAsset = (typeof feedAssets)[number]

const abi: Abi = parseAbi([
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
  'function decimals() view returns (uint8)',
  'function description() view returns (string)',
])
const DECIMALS = 8
const HOUR_MS = 3_600_000
/** The round id of a proxy holds the number of its aggregator in the upper bits. */
const PHASE = 1n << 64n

const dollar = { triggerBps: 25, heartbeatMs: 24 * HOUR_MS, checkMs: 15_000, phaseMs: 5_400_000 }
/** The shortest heartbeat of all chains. */
const coin = { triggerBps: 50, heartbeatMs: HOUR_MS / 3, checkMs: 15_000, phaseMs: 300_000 }

/** The Chainlink feeds: all chains have the same rounds. */
export class ChainlinkNetwork {
  readonly #reference: ReferencePrices
  readonly #rounds = new Map<FeedAsset, TriggeredRounds>()

  constructor(reference: ReferencePrices) {
    this.#reference = reference
  }

  feed(asset: FeedAsset): Contract {
    return contract(abi, {
      latestRoundData: (_, blockMs) => {
        const knownMs = this.#reference.newestMs('chainlink', blockMs)
        const round = this.#roundsOf(asset).at(knownMs)
        if (round === undefined || this.#reference.isDead('chainlink', blockMs)) throw new Revert()
        const id = PHASE + BigInt(round.count)
        const atSeconds = BigInt(Math.floor(round.atMs / 1_000))
        const answer = BigInt(Math.round(round.priceUsd * 10 ** DECIMALS))
        return [id, answer, atSeconds, atSeconds, id]
      },
      decimals: () => DECIMALS,
      description: () => `${asset} / USD`,
    })
  }

  #roundsOf(asset: FeedAsset): TriggeredRounds {
    let rounds = this.#rounds.get(asset)
    if (rounds === undefined) {
      const seen = (atMs: number) => this.#reference.seenUsd('chainlink', asset, atMs)
      const isDollar = asset === 'USDC' || asset === 'USDT'
      rounds = new TriggeredRounds({ seen, ...(isDollar ? dollar : coin) })
      this.#rounds.set(asset, rounds)
    }
    return rounds
  }
}

const networks = new WeakMap<ReferencePrices, ChainlinkNetwork>()

/** One network per reference, shared by its chains. */
export function chainlinkOf(reference: ReferencePrices): ChainlinkNetwork {
  const network = networks.get(reference) ?? new ChainlinkNetwork(reference)
  networks.set(reference, network)
  return network
}

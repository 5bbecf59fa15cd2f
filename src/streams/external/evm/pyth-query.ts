import type { Address } from 'viem'
import { parseAbi } from 'viem/utils'
import type { BlockQuery } from './block-query.ts'
import { blockQuery } from './block-query.ts'
import { contractCall } from './contract-calls.ts'
import type { PythFeed } from './pyth-feeds.ts'
import { MONAD_CHAIN_ID, pythContracts, pythFeeds } from './pyth-feeds.ts'

/** Price and confidence in units of 10^expo USD; publication in seconds. */
type ContractPrice = {
  readonly price: bigint
  readonly conf: bigint
  readonly expo: number
  readonly publishTime: bigint
}

/** The prices of one feed in one contract. */
export type FeedPrices = { readonly spot: ContractPrice; readonly ema: ContractPrice | null }

export type PythReading = {
  /** Prices of each feed, one entry per contract that has it. */
  readonly feeds: readonly { readonly feed: PythFeed; readonly prices: readonly FeedPrices[] }[]
}

const pythAbi = parseAbi([
  'struct Price { int64 price; uint64 conf; int32 expo; uint256 publishTime; }',
  'function getPriceUnsafe(bytes32 id) view returns (Price)',
  'function getEmaPriceUnsafe(bytes32 id) view returns (Price)',
])

/**
 * Price and moving average of all feeds in both contracts. `getPriceNoOlderThan` is not used: it reverts
 * for an old price, whose age is then unknown.
 */
export function pythQuery(): BlockQuery<PythReading> {
  return blockQuery(MONAD_CHAIN_ID, (add) => {
    const priceOf = (
      contract: Address,
      { id }: PythFeed,
      name: 'getPriceUnsafe' | 'getEmaPriceUnsafe',
    ) => add(contractCall(contract, pythAbi, name, [id]))
    const reads = pythFeeds.map((feed) => ({
      feed,
      contracts: pythContracts.map((contract) => ({
        spotOf: priceOf(contract, feed, 'getPriceUnsafe'),
        emaOf: priceOf(contract, feed, 'getEmaPriceUnsafe'),
      })),
    }))
    return (returned) => ({
      feeds: reads.map(({ feed, contracts }) => ({
        feed,
        prices: contracts.flatMap(({ spotOf, emaOf }) => {
          const spot = spotOf(returned)
          return spot === null ? [] : { spot, ema: emaOf(returned) }
        }),
      })),
    })
  })
}

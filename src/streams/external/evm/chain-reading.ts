import type { Hex } from 'viem'
import type { ChainlinkFeed } from './chainlink-feeds.ts'
import { chainlinkFeeds } from './chainlink-feeds.ts'
import type { ChainlinkRound } from './contract-views.ts'
import {
  arbitrumBlockNumber,
  balanceOf,
  blockNumber,
  blockTimestamp,
  chainId,
  latestRound,
  liquidity,
  meanTick,
  sqrtPriceX96,
  swapFee,
} from './contract-views.ts'
import type { EvmChainFacts, PoolSeat } from './evm-chains.ts'
import type { Returned } from './multicall.ts'
import { Multicall } from './multicall.ts'

/** What one pool said of itself, in its own units; not yet judged. */
export type PoolWord = {
  readonly seat: PoolSeat
  readonly sqrtPriceX96: bigint
  readonly liquidity: bigint
  /** Millionths. */
  readonly fee: number
  /** Smallest units of the quote token. */
  readonly balance: bigint
  /** null where the pool does not remember a minute. */
  readonly meanTick: number | null
}

/** A chain as of one block. */
export type ChainWord = {
  readonly blockNumber: number
  readonly blockTimeMs: number
  /** Only those that told everything but the past. */
  readonly pools: readonly PoolWord[]
  readonly rounds: readonly { readonly feed: ChainlinkFeed; readonly round: ChainlinkRound }[]
}

const TWAP_SECONDS = 60
const SECOND_MS = 1_000

/** Everything that is asked of a chain in one call, and what came of it. */
export class ChainReading {
  /** Calldata; the same at every round. */
  readonly data: Hex
  readonly seats: readonly PoolSeat[]
  readonly feeds: readonly ChainlinkFeed[]
  readonly #calls = new Multicall()
  readonly #chainId: number
  readonly #askedChainId = this.#calls.add(chainId())
  readonly #blockTimestamp = this.#calls.add(blockTimestamp())
  readonly #blockNumber: (returned: Returned) => bigint | null
  readonly #pools: readonly ((returned: Returned) => PoolWord | null)[]
  readonly #rounds: readonly ((returned: Returned) => ChainlinkRound | null)[]

  constructor({ chain, chainId: id }: EvmChainFacts, seats: readonly PoolSeat[]) {
    this.seats = seats
    this.feeds = chainlinkFeeds(chain)
    this.#chainId = id
    this.#blockNumber = this.#calls.add(
      chain === 'arbitrum' ? arbitrumBlockNumber() : blockNumber(),
    )
    this.#pools = seats.map((seat) => this.#addPool(seat))
    this.#rounds = this.feeds.map(({ address }) => this.#calls.add(latestRound(address)))
    this.data = this.#calls.encode()
  }

  /** @returns a word for what is wrong with the answer as a whole, where something is */
  decode(data: Hex): ChainWord | 'undecodable' | 'wrong chain' {
    const returned = this.#calls.decode(data)
    if (returned === null) return 'undecodable'
    const id = this.#askedChainId(returned)
    const number = Number(this.#blockNumber(returned))
    const timestamp = Number(this.#blockTimestamp(returned))
    if (id !== null && id !== BigInt(this.#chainId)) return 'wrong chain'
    if (id === null || !isCount(number) || !isCount(timestamp)) return 'undecodable'
    return {
      blockNumber: number,
      blockTimeMs: timestamp * SECOND_MS,
      pools: this.#pools.flatMap((read) => read(returned) ?? []),
      rounds: this.feeds.flatMap((feed, index) => {
        const round = this.#rounds[index]?.(returned) ?? null
        return round === null ? [] : { feed, round }
      }),
    }
  }

  #addPool(seat: PoolSeat): (returned: Returned) => PoolWord | null {
    const price = this.#calls.add(sqrtPriceX96(seat.pool))
    const depth = this.#calls.add(liquidity(seat.pool))
    const fee = this.#calls.add(swapFee(seat.pool))
    const balance = this.#calls.add(balanceOf(seat.quoteToken.address, seat.pool))
    const tick = this.#calls.add(meanTick(seat.pool, TWAP_SECONDS))
    return (returned) => {
      const told = {
        sqrtPriceX96: price(returned),
        liquidity: depth(returned),
        fee: fee(returned),
        balance: balance(returned),
      }
      return isTold(told) ? { seat, ...told, meanTick: tick(returned) } : null
    }
  }
}

type Told = Pick<PoolWord, 'sqrtPriceX96' | 'liquidity' | 'fee' | 'balance'>

function isTold(word: { readonly [Key in keyof Told]: Told[Key] | null }): word is Told {
  return Object.values(word).every((value) => value !== null)
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0
}

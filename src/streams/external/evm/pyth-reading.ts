import type { Hex } from 'viem'
import type { PythPrice } from './contract-views.ts'
import { blockTimestamp, chainId, pythPrice } from './contract-views.ts'
import type { Returned } from './multicall.ts'
import { Multicall } from './multicall.ts'
import type { PythFeed } from './pyth-feeds.ts'
import { MONAD_CHAIN_ID, pythContracts, pythFeeds } from './pyth-feeds.ts'

/** What one contract says of one feed. */
export type PythTold = { readonly spot: PythPrice; readonly ema: PythPrice | null }

export type PythWord = {
  readonly blockTimeMs: number
  /** What each contract that knows a feed says of it. */
  readonly feeds: readonly { readonly feed: PythFeed; readonly told: readonly PythTold[] }[]
}

const SECOND_MS = 1_000

type Told = (returned: Returned) => PythTold | null

/** All feeds of both contracts, price and average, in one call. */
export class PythReading {
  readonly #calls = new Multicall()
  readonly #chainId = this.#calls.add(chainId())
  readonly #blockTimestamp = this.#calls.add(blockTimestamp())
  readonly #feeds: readonly { readonly feed: PythFeed; readonly told: readonly Told[] }[] =
    pythFeeds.map((feed) => ({ feed, told: this.#add(feed) }))

  /** Calldata; the same at every round. */
  readonly data: Hex = this.#calls.encode()

  /** @returns a word for what is wrong with the answer as a whole, where something is */
  decode(data: Hex): PythWord | 'undecodable' | 'wrong chain' {
    const returned = this.#calls.decode(data)
    if (returned === null) return 'undecodable'
    const id = this.#chainId(returned)
    const timestamp = this.#blockTimestamp(returned)
    if (id !== null && id !== BigInt(MONAD_CHAIN_ID)) return 'wrong chain'
    if (id === null || timestamp === null) return 'undecodable'
    return {
      blockTimeMs: Number(timestamp) * SECOND_MS,
      feeds: this.#feeds.map(({ feed, told }) => ({
        feed,
        told: told.flatMap((read) => read(returned) ?? []),
      })),
    }
  }

  #add({ id }: PythFeed): readonly Told[] {
    return pythContracts.map((contract): Told => {
      const spotOf = this.#calls.add(pythPrice(contract, id, 'getPriceUnsafe'))
      const emaOf = this.#calls.add(pythPrice(contract, id, 'getEmaPriceUnsafe'))
      return (returned) => {
        const spot = spotOf(returned)
        return spot === null ? null : { spot, ema: emaOf(returned) }
      }
    })
  }
}

import type { Hex } from 'viem'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import { PayerConcurrency } from '../payer-concurrency.ts'
import type { ChannelConfig } from './channel.ts'
import type { ChannelChain } from './channel-chain.ts'
import type { Channel, ChannelStore } from './channel-store.ts'

/** Channels per request to the node. */
const CHANNELS_A_QUESTION_MAX = 100
/** Minimum time between partial refunds of a channel: claims publish what a request needs, and each refund costs gas. */
const REFUND_INTERVAL_MS = 3_600_000
/** Channels with a refund by this process. The oldest are dropped. */
const REFUNDED_MAX = 10_000

export type ChannelRegistryOptions = {
  readonly store: ChannelStore
  readonly chain: ChannelChain
  readonly clock: Clock
  /** Validity of the state that was read from the chain. */
  readonly freshMs: number
}

/** Stored channels, synchronised with the chain. */
export class ChannelRegistry {
  readonly store: ChannelStore
  readonly chain: ChannelChain
  readonly #clock: Clock
  readonly #freshMs: number
  readonly #refunds = new PayerConcurrency()
  /** Time of the last refund of each channel. */
  readonly #refundedMs = new BoundedMap<Hex, number>(REFUNDED_MAX)

  constructor({ store, chain, clock, freshMs }: ChannelRegistryOptions) {
    this.store = store
    this.chain = chain
    this.#clock = clock
    this.#freshMs = freshMs
  }

  isFresh({ syncedMs }: Channel): boolean {
    return this.#clock.nowMs() - syncedMs <= this.#freshMs
  }

  /** Runs the refunds of a channel in this process one after the other. */
  refundAlone<Result>(id: Hex, refund: () => Promise<Result>): Promise<Result> {
    return this.#refunds.run(id, { atLeast: 1, current: async () => 1 }, refund)
  }

  refunded(id: Hex): void {
    this.#refundedMs.set(id, this.#clock.nowMs())
  }

  wasJustRefunded(id: Hex): boolean {
    return this.#clock.nowMs() - (this.#refundedMs.get(id) ?? -Infinity) < REFUND_INTERVAL_MS
  }

  /**
   * Reads one channel from the chain.
   * @returns null for a channel without money
   * @throws when the node does not answer
   */
  async sync(id: Hex, config: ChannelConfig): Promise<Channel | null> {
    const [state] = await this.chain.states([id])
    if (state === undefined) throw new TypeError('the chain returns a state for every id')
    return this.store.mirror(id, config, state, this.#clock.nowMs())
  }

  /**
   * Reads all channels with a balance or an unclaimed amount.
   * @throws when the node does not answer
   */
  async syncAll(): Promise<void> {
    const open = (await this.store.channels()).filter(
      ({ balance, claimed, charged }) => balance > claimed || charged > claimed,
    )
    for (let from = 0; from < open.length; from += CHANNELS_A_QUESTION_MAX) {
      const some = open.slice(from, from + CHANNELS_A_QUESTION_MAX)
      const states = await this.chain.states(some.map(({ id }) => id))
      for (const [index, { id, config }] of some.entries()) {
        const state = states[index]
        if (state !== undefined) await this.store.mirror(id, config, state, this.#clock.nowMs())
      }
    }
  }
}

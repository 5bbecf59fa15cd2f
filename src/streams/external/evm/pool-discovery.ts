import type { Address, Hex } from 'viem'
import { balanceOf, chainId, liquidity, poolByFee, poolByTickSpacing } from './contract-views.ts'
import type { EvmChainFacts, Factory, Pair, PoolSeat } from './evm-chains.ts'
import type { Returned } from './multicall.ts'
import { Multicall } from './multicall.ts'

const NO_POOL = 0n

/** Asks every factory of a chain for the pools of every pair, of every tier. */
export class PoolSearch {
  readonly #calls = new Multicall()
  readonly #chain: ChainCheck
  readonly #found: readonly ((returned: Returned) => PoolSeat | null)[]

  constructor({ chainId: id, pairs, factories }: EvmChainFacts) {
    this.#chain = new ChainCheck(this.#calls, id)
    this.#found = factories.flatMap((factory) =>
      pairs.flatMap((pair) => factory.tiers.map((tier) => this.#add(factory, pair, tier))),
    )
  }

  get data(): Hex {
    return this.#calls.encode()
  }

  /** @returns null for an answer that is none, or of another chain */
  decode(data: Hex): readonly PoolSeat[] | null {
    const returned = this.#chain.decode(data)
    return returned === null ? null : this.#found.flatMap((read) => read(returned) ?? [])
  }

  #add(factory: Factory, pair: Pair, tier: number): (returned: Returned) => PoolSeat | null {
    const { address, by, dex } = factory
    const tokens: [Address, Address] = [pair.assetToken.address, pair.quoteToken.address]
    const poolOf = by === 'fee' ? poolByFee : poolByTickSpacing
    const read = this.#calls.add(poolOf(address, tokens, tier))
    return (returned) => {
      const pool = read(returned)
      return pool === null || BigInt(pool) === NO_POOL ? null : { ...pair, dex, pool }
    }
  }
}

/** Asks how deep the pools are that were found. */
export class DepthCheck {
  readonly #calls = new Multicall()
  readonly #chain: ChainCheck
  readonly #depths: readonly ((returned: Returned) => Depth | null)[]

  constructor({ chainId: id }: EvmChainFacts, seats: readonly PoolSeat[]) {
    this.#chain = new ChainCheck(this.#calls, id)
    this.#depths = seats.map((seat) => {
      const balance = this.#calls.add(balanceOf(seat.quoteToken.address, seat.pool))
      const inRange = this.#calls.add(liquidity(seat.pool))
      return (returned) => {
        const [raw, active] = [balance(returned), inRange(returned)]
        if (raw === null || active === null || active === 0n) return null
        return { seat, balanceQuote: Number(raw) / 10 ** seat.quoteToken.decimals }
      }
    })
  }

  get data(): Hex {
    return this.#calls.encode()
  }

  /** @returns of each asset and quote the pool that holds most of the quote; null for no answer */
  decode(data: Hex): readonly PoolSeat[] | null {
    const returned = this.#chain.decode(data)
    if (returned === null) return null
    const deepest = new Map<string, Depth>()
    for (const read of this.#depths) {
      const depth = read(returned)
      if (depth === null) continue
      const best = deepest.get(nameOf(depth.seat))?.balanceQuote ?? 0
      if (depth.balanceQuote > best) deepest.set(nameOf(depth.seat), depth)
    }
    return [...deepest.values()].map(({ seat }) => seat)
  }
}

/** What was found replaces what was read of the same asset and quote before; the rest stays. */
export function reseated(
  before: readonly PoolSeat[],
  found: readonly PoolSeat[],
): readonly PoolSeat[] {
  const names = new Set(found.map(nameOf))
  return [...found, ...before.filter((seat) => !names.has(nameOf(seat)))]
}

type Depth = { readonly seat: PoolSeat; readonly balanceQuote: number }

function nameOf({ asset, quote }: PoolSeat): string {
  return `${asset}/${quote}`
}

class ChainCheck {
  readonly #calls: Multicall
  readonly #expected: bigint
  readonly #told: (returned: Returned) => bigint | null

  constructor(calls: Multicall, id: number) {
    this.#calls = calls
    this.#expected = BigInt(id)
    this.#told = calls.add(chainId())
  }

  decode(data: Hex): Returned | null {
    const returned = this.#calls.decode(data)
    return returned !== null && this.#told(returned) === this.#expected ? returned : null
  }
}

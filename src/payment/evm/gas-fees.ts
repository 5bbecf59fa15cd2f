import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'
import type { NodeClient } from './node-client.ts'

/** EIP-1559 fees, wei per gas. */
export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** Older fees are refreshed in the background. */
const FRESH_MS = 5_000
/** Older fees are not used: the base fee can rise by 2 % per block on Base, 12.5 % on Ethereum. */
const USABLE_MS = 30_000
/** Margin for a rising base fee while a transaction waits. */
const BASE_FEE_FACTOR = 2n
/** Bounds the loss by a wrong node: 0.001 ether for a transfer of 100,000 gas. */
const MAX_FEE_PER_GAS = 10_000_000_000n
const MAX_PRIORITY_FEE_PER_GAS = 2_000_000_000n

/** Cached gas fees, because a request for them delays the payment. */
export class GasFees {
  readonly #node: NodeClient
  readonly #clock: Clock
  #known: { readonly fees: Fees; readonly atMs: number } | null = null
  #asking: Promise<Fees> | null = null

  constructor(node: NodeClient, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  /** @throws OperatingError if the base fee is above the limit, or the error of the node */
  async current(): Promise<Fees> {
    const known = this.#known
    // After a clock correction they count as old.
    const ageMs = known === null ? Infinity : Math.abs(this.#clock.nowMs() - known.atMs)
    if (known === null || ageMs > USABLE_MS) return this.#ask()
    // A failed refresh is repeated by the next call.
    if (ageMs > FRESH_MS) this.#ask().catch(() => undefined)
    return known.fees
  }

  #ask(): Promise<Fees> {
    this.#asking ??= this.#asked().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #asked(): Promise<Fees> {
    const [block, tip] = await Promise.all([
      this.#node.getBlock({ blockTag: 'latest' }),
      this.#node.estimateMaxPriorityFeePerGas(),
    ])
    const baseFee = block.baseFeePerGas ?? 0n
    if (baseFee > MAX_FEE_PER_GAS)
      throw new OperatingError('gas_too_dear', `the base fee of ${baseFee} wei exceeds the limit`)
    const maxPriorityFeePerGas = smaller(tip, MAX_PRIORITY_FEE_PER_GAS)
    const maxFeePerGas = smaller(
      baseFee * BASE_FEE_FACTOR + maxPriorityFeePerGas,
      MAX_FEE_PER_GAS + maxPriorityFeePerGas,
    )
    const fees = { maxFeePerGas, maxPriorityFeePerGas }
    this.#known = { fees, atMs: this.#clock.nowMs() }
    return fees
  }
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

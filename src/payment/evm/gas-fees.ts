import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'
import type { NodeClient } from './node-client.ts'

/** Wei per gas: EIP-1559. */
export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** Older fees are asked for anew, beside the transaction that still gets them. */
const FRESH_MS = 5_000
/** Older ones are not used: the base fee rises by 2 % a block on Base, 12.5 % on Ethereum. */
const USABLE_MS = 30_000
/** Room for the base fee to rise while a transaction waits. */
const BASE_FEE_FACTOR = 2n
/** A transfer of 100,000 gas then costs 0.001 ether, far more than any answer. A lying node gets no more. */
const MAX_FEE_PER_GAS = 10_000_000_000n
const MAX_PRIORITY_FEE_PER_GAS = 2_000_000_000n

/** What gas costs, asked for as seldom as it changes: the question stands in the way of a payment. */
export class GasFees {
  readonly #node: NodeClient
  readonly #clock: Clock
  #known: { readonly fees: Fees; readonly atMs: number } | null = null
  #asking: Promise<Fees> | null = null

  constructor(node: NodeClient, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  /** @throws OperatingError where gas is too dear, or what the node failed with */
  async current(): Promise<Fees> {
    const known = this.#known
    // A clock that was put back makes them old, not fresh.
    const ageMs = known === null ? Infinity : Math.abs(this.#clock.nowMs() - known.atMs)
    if (known === null || ageMs > USABLE_MS) return this.#ask()
    // In the background a failure costs nothing: the next one asks again.
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
      throw new OperatingError('gas_too_dear', `the base fee is ${baseFee} wei`)
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

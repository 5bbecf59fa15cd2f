import { isPlausibleTime } from '../plausible.ts'
import type { Assessed } from './rpc-nodes.ts'

type Limits = {
  /** How far a node may be behind the newest block that any node has returned. */
  readonly behindMs: number
  /** How far the newest block may be behind the clock. */
  readonly lateMs: number
}

/** Time of a reading: a late block, of a halted chain or a slow node, confirms nothing after its own time. */
export function readMsOf(
  { blockTimeMs }: { readonly blockTimeMs: number },
  isLate: boolean,
  nowMs: number,
): number {
  return isLate ? Math.min(blockTimeMs, nowMs) : nowMs
}

/** Assesses the age of the blocks of one chain. */
export class BlockAge {
  readonly #limits: Limits
  #newestMs = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  assess<Value extends { readonly blockTimeMs: number }>(
    value: Value,
    nowMs: number,
  ): Assessed<Value> {
    const { blockTimeMs } = value
    const { behindMs, lateMs } = this.#limits
    if (!isPlausibleTime(blockTimeMs, nowMs))
      return { quality: 'invalid', reason: 'its block time is in the future' }
    if (blockTimeMs < this.#newestMs - behindMs)
      return { quality: 'invalid', reason: 'it is behind another node' }
    this.#newestMs = Math.max(this.#newestMs, blockTimeMs)
    if (blockTimeMs < nowMs - lateMs) return { quality: 'late', value, asOfMs: blockTimeMs }
    return { quality: 'current', value }
  }
}

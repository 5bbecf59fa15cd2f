import type { Listing } from './listing.ts'

/** State for a warm start that cannot be fetched from the venue within seconds. */
export type Checkpoint = {
  /** Document versions continue from here. */
  readonly version: number
  readonly listings: readonly Listing[]
  /** Per coin, written and read by the processor. */
  readonly coins: ReadonlyMap<string, Float64Array>
}

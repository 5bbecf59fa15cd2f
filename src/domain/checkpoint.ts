import type { Listing } from './listing.ts'

/** What an engine needs to be warm again: the state that cannot be asked of the venue in seconds. */
export type Checkpoint = {
  /** Document versions go on rising from here. */
  readonly version: number
  readonly listings: readonly Listing[]
  /** Opaque numbers per coin, made and read by the processor. */
  readonly coins: ReadonlyMap<string, Float64Array>
}

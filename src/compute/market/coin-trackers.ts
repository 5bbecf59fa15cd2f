import type { CoinTracker } from './coin-tracker.ts'

/** Everything that is tracked of one coin. Their order is the order in a checkpoint. */
export function coinTrackers() {
  return {} satisfies Record<string, CoinTracker>
}

export type CoinTrackers = ReturnType<typeof coinTrackers>

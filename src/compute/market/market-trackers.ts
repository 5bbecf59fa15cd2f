import type { MarketTracker } from './market-tracker.ts'

/** Everything that is tracked of the whole market. Their order is the order in a checkpoint. */
export function marketTrackers() {
  return {} satisfies Record<string, MarketTracker>
}

export type MarketTrackers = ReturnType<typeof marketTrackers>

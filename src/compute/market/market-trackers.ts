import { CorrelationTracker } from '../correlation/correlation-tracker.ts'
import type { MarketTracker } from './market-tracker.ts'
import { RegimeTracker } from './regime.ts'

/** Everything that is tracked of the whole market. Their order is the order in a checkpoint. */
export function marketTrackers() {
  return {
    regime: new RegimeTracker(),
    correlation: new CorrelationTracker(),
  } satisfies Record<string, MarketTracker>
}

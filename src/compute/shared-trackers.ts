import { arbMeasure } from './external/arb/arb-measure.ts'
import { depegMeasure } from './external/depeg/depeg-measure.ts'
import { oracleTrust } from './external/oracle-trust.ts'
import { liquidationFlow } from './liquidation/liquidation-flow.ts'
import { fundingSeries } from './market/funding-series.ts'
import { hourlyCloses } from './market/hourly-closes.ts'
import { interestSeries } from './market/interest-series.ts'
import type { AnyTrackerKind } from './market/market-state.ts'
import { regimeTracker } from './market/regime.ts'
import { takerFlow } from './market/taker-flow.ts'
import { volatilitySeries } from './market/volatility-series.ts'

/** State that several analyses read. What one analysis alone reads is in its own folder, and in its `trackers`. */
export const sharedTrackers: readonly AnyTrackerKind[] = [
  fundingSeries,
  hourlyCloses,
  interestSeries,
  volatilitySeries,
  liquidationFlow,
  takerFlow,
  regimeTracker,
  oracleTrust,
  arbMeasure,
  depegMeasure,
]

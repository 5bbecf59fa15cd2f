import { tradeCosts } from './execution/trade-costs.ts'
import { arbMeasure } from './external/arb/arb-measure.ts'
import { depegMeasure } from './external/depeg/depeg-measure.ts'
import { oracleTrust } from './external/oracle-trust.ts'
import { fundingSeries } from './funding/funding-series.ts'
import { liquidationCandidates } from './liquidation/liquidation-candidates.ts'
import { liquidationCoverage } from './liquidation/liquidation-coverage.ts'
import { liquidationFlow } from './liquidation/liquidation-flow.ts'
import { realisedLiquidations } from './liquidation/realised-liquidations.ts'
import type { AnyTrackerKind } from './market/market-state.ts'
import { takerFlow } from './market/taker-flow.ts'
import { interestSeries } from './open-interest/interest-series.ts'
import { regimeTracker } from './regime/regime.ts'
import { claimKeeper } from './track-record/claim-keeper.ts'
import { recentBars } from './track-record/recent-bars.ts'
import { unstoredClaims } from './track-record/unstored-claims.ts'
import { trackRecord } from './track-record-statistics/track-record.ts'
import { hourlyCloses } from './volatility/hourly-closes.ts'
import { hourlyForecasts } from './volatility/hourly-forecasts.ts'
import { volatilitySeries } from './volatility/volatility-series.ts'

/** Trackers that several analyses read. A tracker of one analysis is in its own folder and in its `trackers`. */
export const sharedTrackers: readonly AnyTrackerKind[] = [
  fundingSeries,
  hourlyCloses,
  hourlyForecasts,
  interestSeries,
  volatilitySeries,
  liquidationFlow,
  realisedLiquidations,
  liquidationCandidates,
  liquidationCoverage,
  takerFlow,
  tradeCosts,
  regimeTracker,
  oracleTrust,
  arbMeasure,
  depegMeasure,
  recentBars,
  trackRecord,
  unstoredClaims,
  // Last: it reads the others.
  claimKeeper,
]

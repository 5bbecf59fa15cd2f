import { LiquidationFlow } from '../liquidation/liquidation-flow.ts'
import type { CoinTracker } from './coin-tracker.ts'
import { FundingSeries } from './funding-series.ts'
import { HourlyCloses } from './hourly-closes.ts'
import { InterestSeries } from './interest-series.ts'
import { SpreadHistory } from './spread-history.ts'
import { TakerFlow } from './taker-flow.ts'
import { TradeCosts } from './trade-costs.ts'
import { VolatilitySeries } from './volatility-series.ts'

/** Everything that is tracked of one coin. Their order is the order in a checkpoint. */
export function coinTrackers() {
  return {
    funding: new FundingSeries(),
    hourly: new HourlyCloses(),
    interest: new InterestSeries(),
    tradeCosts: new TradeCosts(),
    spreads: new SpreadHistory(),
    volatility: new VolatilitySeries(),
    liquidations: new LiquidationFlow(),
    takerFlow: new TakerFlow(),
  } satisfies Record<string, CoinTracker>
}

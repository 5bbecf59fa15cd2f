import type { Static } from 'typebox'
import type { ArbAnswer } from '../compute/analyses/arb/arb-schema.ts'
import type { BasisAnswer } from '../compute/analyses/basis/basis-schema.ts'
import type { bundleAnswer } from '../compute/analyses/bundle/bundle-schema.ts'
import type { CexDexAnswer } from '../compute/analyses/cex-dex/cex-dex-schema.ts'
import type { CorrelationAnswer } from '../compute/analyses/correlation/correlation-schema.ts'
import type { DepegAnswer } from '../compute/analyses/depeg/depeg-schema.ts'
import type { FundingAnswer } from '../compute/analyses/funding/funding-schema.ts'
import type { LiquidationsAnswer } from '../compute/analyses/liquidations/liquidations-schema.ts'
import type { OpenInterestAnswer } from '../compute/analyses/oi/oi-schema.ts'
import type { PulseAnswer } from '../compute/analyses/pulse/pulse-schema.ts'
import type { ScreenerAnswer } from '../compute/analyses/screener/screener-schema.ts'
import type { SentimentAnswer } from '../compute/analyses/sentiment/sentiment-schema.ts'
import type { SpreadAnswer } from '../compute/analyses/spread/spread-schema.ts'
import type { VolatilityAnswer } from '../compute/analyses/volatility/volatility-schema.ts'

export type { ProblemCode } from '../domain/problem.ts'

type Parts = {
  pulse: typeof PulseAnswer
  sentiment: typeof SentimentAnswer
  funding: typeof FundingAnswer
  spread: typeof SpreadAnswer
}

/**
 * Answers by analysis. For the package `client-types.ts` generates this file from the same schemas, because users of
 * the client have no TypeBox.
 */
export type Answers = {
  pulse: Static<typeof PulseAnswer>
  spread: Static<typeof SpreadAnswer>
  liquidations: Static<typeof LiquidationsAnswer>
  funding: Static<typeof FundingAnswer>
  oi: Static<typeof OpenInterestAnswer>
  basis: Static<typeof BasisAnswer>
  'cex-dex': Static<typeof CexDexAnswer>
  volatility: Static<typeof VolatilityAnswer>
  bundle: Static<ReturnType<typeof bundleAnswer<Parts>>>
  screener: Static<typeof ScreenerAnswer>
  correlation: Static<typeof CorrelationAnswer>
  arb: Static<typeof ArbAnswer>
  depeg: Static<typeof DepegAnswer>
  sentiment: Static<typeof SentimentAnswer>
}

import type { AnalysisContract, DocumentContract } from '../../domain/contract.ts'
import type { Analyses, DocumentKinds } from '../analysis.ts'
import { chart } from '../charts/chart.ts'
import { overview } from '../charts/overview.ts'
import { madeClaimsContract, madeClaimsDocument } from '../track-record/made-claims.ts'
import {
  trackRecordContract,
  trackRecordDocument,
} from '../track-record-statistics/track-record-document.ts'
import { arb } from './arb/arb.ts'
import { basis } from './basis/basis.ts'
import { bundleOf } from './bundle/bundle.ts'
import { cexDex } from './cex-dex/cex-dex.ts'
import { correlation } from './correlation/correlation.ts'
import { depeg } from './depeg/depeg.ts'
import { funding } from './funding/funding.ts'
import { liquidations } from './liquidations/liquidations.ts'
import { oi } from './oi/oi.ts'
import { pulse } from './pulse/pulse.ts'
import { screener } from './screener/screener.ts'
import { sentiment } from './sentiment/sentiment.ts'
import { spread } from './spread/spread.ts'
import { volatility } from './volatility/volatility.ts'

/** All analyses that are sold: about one coin, and about the whole market. */
export const analyses: Analyses = {
  coin: [
    pulse,
    spread,
    liquidations,
    funding,
    oi,
    basis,
    cexDex,
    volatility,
    bundleOf({ pulse, sentiment, funding, spread }),
  ],
  market: [screener, correlation, arb, depeg, sentiment],
}

/** What an engine renders: the analyses, and what is not sold: charts of the console, the track record, and new claims. */
export const documentKinds: DocumentKinds = {
  coin: [...analyses.coin, chart],
  market: [...analyses.market, overview, trackRecordDocument, madeClaimsDocument],
}

export const contracts: readonly AnalysisContract[] = [...analyses.coin, ...analyses.market].map(
  ({ contract }) => contract,
)

/** Of the documents that are not sold. */
export const chartContracts: readonly DocumentContract[] = [
  chart.contract,
  overview.contract,
  trackRecordContract,
]

export const documentContracts: readonly DocumentContract[] = [
  ...contracts,
  ...chartContracts,
  madeClaimsContract,
]

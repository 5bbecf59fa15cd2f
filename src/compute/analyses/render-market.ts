import type { Document } from '../../domain/document.ts'
import type { MarketJob } from '../analysis.ts'
import { analyses } from './registry.ts'

/** Renders a document about the whole market: a pure function of the job. */
export function renderMarket({ analysis: id, gathered, rendering }: MarketJob): Document {
  const analysis = analyses.market.find(({ contract }) => contract.id === id)
  if (analysis === undefined) throw new Error(`${id} is not an analysis of the whole market`)
  return analysis.render(gathered, rendering)
}

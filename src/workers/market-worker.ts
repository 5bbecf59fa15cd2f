import { analyses } from '../compute/analyses/registry.ts'
import type { MarketJob } from '../compute/analysis.ts'
import type { Document } from '../domain/document.ts'

/** Entry of a worker thread: renders a document about all coins. A pure function of the job. */
export function renderMarket({ analysis: id, gathered, rendering }: MarketJob): Document {
  const analysis = analyses.market.find(({ contract }) => contract.id === id)
  if (analysis === undefined) throw new Error(`${id} is no analysis of the whole market`)
  return analysis.render(gathered, rendering)
}

import type { Document } from '../../domain/document.ts'
import type { MarketJob } from '../analysis.ts'
import { documentKinds } from './registry.ts'

/** Renders a document about the whole market: a pure function of the job. */
export function renderMarket({ analysis: id, gathered, rendering }: MarketJob): Document {
  const kind = documentKinds.market.find(({ contract }) => contract.id === id)
  if (kind === undefined) throw new Error(`${id} is not a document about the whole market`)
  return kind.render(gathered, rendering)
}

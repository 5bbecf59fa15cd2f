import { renderMarket } from '../compute/analyses/render-market.ts'
import type { MarketJob } from '../compute/analysis.ts'
import type { Document } from '../domain/document.ts'

/** Renders documents about the whole market. */
export type MarketRenderer = {
  /** Calls exactly one of the two callbacks, once. */
  render(
    job: MarketJob,
    onDone: (document: Document) => void,
    onFailed: (cause: unknown) => void,
  ): void
  close(): void
}

/** Renders in the calling thread before `render` returns, so the order of documents is deterministic. */
export const synchronousRenderer: MarketRenderer = {
  render: (job, onDone) => onDone(renderMarket(job)),
  close: () => {},
}

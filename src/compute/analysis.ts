import type { AnalysisContract } from '../domain/contract.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import type { MarketEvent } from '../domain/event.ts'
import type { CoinMarket } from './market/coin-market.ts'

/** Identity of one rendering. */
export type Rendering = {
  readonly key: DocumentKey
  readonly version: number
  readonly renderedAtMs: number
  /** The same for everything that was rendered from one state of the market. */
  readonly snapshotId: string
  readonly engineVersion: string
}

/**
 * One product: what it promises, which events change it, and how its document is rendered. `render`
 * never fails: where the market cannot support an answer, the document says why.
 */
export type Analysis = {
  readonly contract: AnalysisContract
  readonly inputs: readonly MarketEvent['kind'][]
  render(coin: CoinMarket, rendering: Rendering): Document
}

import type { AnalysisContract } from '../domain/contract.ts'
import type { Document, DocumentKey, NoAnswer } from '../domain/document.ts'
import type { MarketEvent } from '../domain/event.ts'
import type { CoinMarket } from './market/coin-market.ts'
import type { AnyTrackerKind, MarketState } from './market/market-state.ts'
import type { DocumentBuilder, Written } from './render/document-builder.ts'

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
 * One product about one coin: its contract, its input events, and the rendering of its document. `render` does not throw:
 * without an answer the document contains the reason.
 */
export type CoinAnalysis = {
  readonly contract: AnalysisContract & { readonly scope: 'coin' }
  readonly inputs: readonly MarketEvent['kind'][]
  /** State that this analysis derives from events, besides {@link sharedTrackers}; none where absent. */
  readonly trackers?: readonly AnyTrackerKind[]
  /** Not rendered more often than this: a whole number of seconds, one where absent. */
  readonly periodMs?: number
  render(coin: CoinMarket, rendering: Rendering, market: MarketState): Document
}

/**
 * An answer that can stand in a document beside others: its default view, byte by byte as alone, where the
 * rendering is the same.
 */
export type Component<Facts> = {
  readonly contract: AnalysisContract
  readonly trackers?: readonly AnyTrackerKind[]
  write(
    builder: DocumentBuilder,
    coin: CoinMarket,
    rendering: Rendering,
    market: MarketState,
  ): Written<Facts> | NoAnswer
}

/**
 * One product about all coins. `gather` reads the market quickly; `render` is a pure function of the gathered data and
 * runs in a worker thread. The data cross threads, so they are plain objects and typed arrays.
 */
export type MarketAnalysis<Gathered> = {
  readonly contract: AnalysisContract & { readonly scope: 'market' }
  readonly periodMs: number
  /** As of {@link CoinAnalysis}. */
  readonly trackers?: readonly AnyTrackerKind[]
  gather(market: MarketState, nowMs: number): Gathered
  render(gathered: Gathered, rendering: Rendering): Document
}

/** The input of a worker: the data that the analysis gathered. */
export type MarketJob = {
  readonly analysis: string
  readonly gathered: unknown
  readonly rendering: Rendering
}

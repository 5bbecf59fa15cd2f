import type { AnalysisContract, DocumentContract } from '../domain/contract.ts'
import type { Document, DocumentKey, NoAnswer } from '../domain/document.ts'
import type { MarketEvent } from '../domain/event.ts'
import type { Timeframe } from '../domain/timeframe.ts'
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
 * A kind of document about one coin: its form, its input events, and its rendering. `render` does not throw: without an
 * answer the document contains the reason.
 */
export type CoinDocumentKind = {
  readonly contract: DocumentContract & { readonly scope: 'coin' }
  readonly inputs: readonly MarketEvent['kind'][]
  /** State that this kind derives from events, besides {@link sharedTrackers}; none where absent. */
  readonly trackers?: readonly AnyTrackerKind[]
  /** Not rendered more often than this: a whole number of seconds, one where absent. */
  readonly periodMs?: number
  /** When a bar of this timeframe closes, the next rendering does not wait for `periodMs`. */
  readonly atCloseOf?: Timeframe
  render(coin: CoinMarket, rendering: Rendering, market: MarketState): Document
}

/** One product about one coin: a kind of document that is sold. */
export type CoinAnalysis = CoinDocumentKind & {
  readonly contract: AnalysisContract & { readonly scope: 'coin' }
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
 * A kind of document about all coins. `gather` reads the market quickly; `render` is a pure function of the gathered data
 * and runs in a worker thread. The data cross threads, so they are plain objects and typed arrays.
 */
export type MarketDocumentKind<Gathered> = {
  readonly contract: DocumentContract & { readonly scope: 'market' }
  readonly periodMs: number
  /** As of {@link CoinDocumentKind}. */
  readonly trackers?: readonly AnyTrackerKind[]
  gather(market: MarketState, nowMs: number): Gathered
  render(gathered: Gathered, rendering: Rendering): Document
}

/** One product about all coins: a kind of document that is sold. */
export type MarketAnalysis<Gathered> = MarketDocumentKind<Gathered> & {
  readonly contract: AnalysisContract & { readonly scope: 'market' }
}

/** Products about one coin, and about all. */
export type Analyses = {
  readonly coin: readonly CoinAnalysis[]
  readonly market: readonly MarketAnalysis<unknown>[]
}

/** The kinds of documents that an engine renders. */
export type DocumentKinds = {
  readonly coin: readonly CoinDocumentKind[]
  readonly market: readonly MarketDocumentKind<unknown>[]
}

/** The input of a worker: the data that were gathered for a document. */
export type MarketJob = {
  /** Identifier of the kind. */
  readonly analysis: string
  readonly gathered: unknown
  readonly rendering: Rendering
}

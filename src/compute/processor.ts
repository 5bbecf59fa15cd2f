import assert from 'node:assert/strict'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import { documentKey, hasAnswer, snapshotIdOf, WHOLE_MARKET } from '../domain/document.ts'
import type { Batch } from '../domain/event.ts'
import { isExternal } from '../domain/external.ts'
import { LISTINGS_MAX } from '../domain/listing.ts'
import type { Timeframe } from '../domain/timeframe.ts'
import { timeframeMs } from '../domain/timeframe.ts'
import type { DocumentKinds, MarketDocumentKind, MarketJob, Rendering } from './analysis.ts'
import { PulsePool } from './indicators/pulse-series.ts'
import { MarketSampler } from './market/market-sampler.ts'
import type { AnyTrackerKind } from './market/market-state.ts'
import { MarketState } from './market/market-state.ts'
import { MarketRecords } from './market-records.ts'
import { MarketView } from './market-view.ts'
import { DocumentVersions } from './render/document-versions.ts'
import type { Due } from './render-schedule.ts'
import { RenderSchedule } from './render-schedule.ts'
import { RestoreGrace } from './restore-grace.ts'
import { sharedTrackers } from './shared-trackers.ts'

const SERIES_PER_COIN = 3

/**
 * `publish` is called this many times per period and renders another share of the coins each time: about one, because the
 * second one of a call would wait for the first, in the engine and on its way to the gateways.
 */
export const PUBLISH_PHASES = 200
export const PUBLISH_PERIOD_MS = 1_000

/** The trackers of these kinds of documents, each once. */
export function trackersOf({ coin, market }: DocumentKinds): readonly AnyTrackerKind[] {
  const own = [...coin, ...market].flatMap(({ trackers = [] }) => trackers)
  return [...new Set([...sharedTrackers, ...own])]
}

/**
 * Turns batches of events into documents. It is synchronous and has no timers, sockets or clocks, so the same batches
 * published at the same times give the same bytes, live or replayed.
 */
export class Processor {
  readonly view: MarketView
  readonly records: MarketRecords
  readonly restoreGrace = new RestoreGrace()
  readonly #market: MarketState
  readonly #sampler = new MarketSampler()
  readonly #versions = new DocumentVersions()
  readonly #schedule: RenderSchedule
  readonly #marketKinds: readonly MarketDocumentKind<unknown>[]
  readonly #engineVersion: string

  constructor({ coin, market }: DocumentKinds, engineVersion: string) {
    this.#market = new MarketState(
      new PulsePool(LISTINGS_MAX * SERIES_PER_COIN),
      trackersOf({ coin, market }),
    )
    this.view = new MarketView(this.#market)
    this.records = new MarketRecords(this.#market, this.#sampler, this.#versions)
    this.#schedule = new RenderSchedule(coin, {
      phases: PUBLISH_PHASES,
      periodMs: PUBLISH_PERIOD_MS,
    })
    this.#marketKinds = market
    this.#engineVersion = engineVersion
  }

  process(batch: Batch): void {
    const [first] = batch
    // External events have other clocks than the venue.
    if (first !== undefined && !isExternal(first)) this.#sampler.observe(first, this.#market)
    for (const event of batch) {
      const coin = this.#market.apply(event)
      if (event.kind === 'universe')
        for (const { listing } of this.#market.coins()) this.#schedule.add(listing.coin)
      else if (coin !== null) this.#schedule.markDirty(coin.listing.coin, event.kind)
    }
  }

  /** Closes the bars that have ended, and what follows from them. */
  advance(nowMs: number): void {
    this.#market.advance(nowMs)
  }

  /** Renders the changed documents of this call's share of the coins. */
  *publish(nowMs: number): Generator<Document> {
    if (this.#schedule.isAdvanceDue) this.advance(nowMs)
    yield* this.#schedule.next(this.restoreGrace.isActive(nowMs), {
      render: (due) => this.#render(due, nowMs),
      closedBars: (coin, timeframe) => this.#closedBars(coin, timeframe),
    })
  }

  /** Reads the market for a document about all coins, which a worker renders. */
  gather(id: string, nowMs: number): MarketJob {
    const kind = this.#marketKinds.find(({ contract }) => contract.id === id)
    assert(kind !== undefined, `${id} is a document about the whole market`)
    this.#market.advance(nowMs)
    return {
      analysis: id,
      gathered: kind.gather(this.#market, nowMs),
      rendering: this.#rendering(documentKey(id, WHOLE_MARKET), nowMs),
    }
  }

  restore(checkpoint: Checkpoint, nowMs: number): void {
    const times = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
    this.process([{ kind: 'universe', listings: checkpoint.listings, ...times }])
    // A coin in the format of another version is not restored, and is loaded from the venue.
    for (const [name, saved] of checkpoint.coins) this.#market.coin(name)?.restore(saved, nowMs)
    const savedMarket = checkpoint.coins.get(WHOLE_MARKET)
    if (savedMarket !== undefined) this.#market.restore(savedMarket)
    this.#versions.restore(checkpoint.version)
    this.#schedule.hurry()
    this.restoreGrace.begin(nowMs)
  }

  #render({ coin: name, kind }: Due, nowMs: number) {
    const coin = this.#market.coin(name)
    if (coin === undefined) return null
    const rendering = this.#rendering(documentKey(kind.contract.id, name), nowMs)
    const document = kind.render(coin, rendering, this.#market)
    return { document, hasAnswer: hasAnswer(document) }
  }

  /** Number of the last closed bar since the Unix epoch; NaN before any history. */
  #closedBars(name: string, timeframe: Timeframe): number {
    const closedUntilMs = this.#market.coin(name)?.ladder.closedUntilMs ?? Number.NaN
    return Math.floor(closedUntilMs / timeframeMs[timeframe])
  }

  #rendering(key: DocumentKey, nowMs: number): Rendering {
    return {
      key,
      version: this.#versions.next(nowMs),
      renderedAtMs: nowMs,
      snapshotId: snapshotIdOf(nowMs),
      engineVersion: this.#engineVersion,
    }
  }
}

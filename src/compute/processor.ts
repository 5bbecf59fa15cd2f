import assert from 'node:assert/strict'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import { documentKey, hasAnswer, snapshotIdOf, WHOLE_MARKET } from '../domain/document.ts'
import type { Batch, FeedStatusEvent, MarketEvent } from '../domain/event.ts'
import type { SourceStatusEvent } from '../domain/external.ts'
import { isExternal } from '../domain/external.ts'
import type { ClosedBar, HistoryBatch } from '../domain/history.ts'
import type { Listing } from '../domain/listing.ts'
import { LISTINGS_MAX, tradableOf } from '../domain/listing.ts'
import type { CoinAnalysis, MarketAnalysis, MarketJob, Rendering } from './analysis.ts'
import type { HistoryNeed } from './candles/candle-ladder.ts'
import { PulsePool } from './indicators/pulse-series.ts'
import { MarketSampler } from './market/market-sampler.ts'
import type { AnyTrackerKind } from './market/market-state.ts'
import { MarketState } from './market/market-state.ts'
import { takerFlow } from './market/taker-flow.ts'
import { sharedTrackers } from './shared-trackers.ts'
import { hourlyCloses } from './volatility/hourly-closes.ts'

const SERIES_PER_COIN = 3

/** `publish` is called this many times per period and renders another share of the coins each time. */
export const PUBLISH_PHASES = 100
export const PUBLISH_PERIOD_MS = 1_000
/** Time passes for the market as a whole in fewer steps: it has no shares. */
const ADVANCE_EVERY = PUBLISH_PHASES / 25
/** A month of history is read by then. */
const HURRIED_PUBLISHES = 5 * PUBLISH_PHASES
const HURRIED_EVERY = PUBLISH_PHASES / 5

/** Each external source has reported by then. */
const REMEMBERING_MS = 30_000

/** When a coin is rendered: the phase of each round and, for what need not be every round, which of them. */
type Turn = {
  readonly coin: string
  readonly phase: number
  readonly round: number
  /** Analyses to render again, a bit for each. */
  dirty: number
  /** Analyses of which it was not said that there is no answer; see {@link Processor.isRemembering}. */
  heldBack: number
}

/** Analyses that have a bit. */
const ANALYSES_MAX = 31

/** The products that a processor makes. */
export type Analyses = {
  readonly coin: readonly CoinAnalysis[]
  readonly market: readonly MarketAnalysis<unknown>[]
}

/** Everything that is tracked for some analyses, each once. */
export function trackersOf({ coin, market }: Analyses): readonly AnyTrackerKind[] {
  const own = [...coin, ...market].flatMap(({ trackers = [] }) => trackers)
  return [...new Set([...sharedTrackers, ...own])]
}

/**
 * The synchronous heart: batches in, documents out. It holds no timers, sockets or clocks, so the same
 * batches published at the same times give the same bytes, live or replayed.
 */
export class Processor {
  readonly #market: MarketState
  readonly #sampler = new MarketSampler()
  readonly #analyses: readonly CoinAnalysis[]
  readonly #marketAnalyses: readonly MarketAnalysis<unknown>[]
  readonly #engineVersion: string
  /** The bits of the analyses that look at a kind of event. */
  readonly #dirtiedBy = new Map<MarketEvent['kind'], number>()
  readonly #turnOf = new Map<string, Turn>()
  /** Turns by their phase. */
  readonly #turnsIn: readonly Turn[][] = Array.from({ length: PUBLISH_PHASES }, () => [])
  /** The round before which a coin is not rendered again, per analysis: for those that need not be every second. */
  readonly #notBefore: readonly Map<string, number>[]
  /** Some turn holds something back. */
  #isHoldingBack = false
  #version = 0
  /** How many more calls of `publish` come soon after a restore. */
  #hurried = 0
  #restoredMs = Number.NEGATIVE_INFINITY
  #phase = 0
  /** How often all phases were gone through. */
  #round = 0

  constructor({ coin, market }: Analyses, engineVersion: string) {
    this.#market = new MarketState(
      new PulsePool(LISTINGS_MAX * SERIES_PER_COIN),
      trackersOf({ coin, market }),
    )
    this.#analyses = coin
    this.#marketAnalyses = market
    this.#engineVersion = engineVersion
    assert(coin.length <= ANALYSES_MAX, 'each analysis of a coin has a bit')
    this.#notBefore = coin.map(() => new Map())
  }

  get listings(): readonly Listing[] {
    return this.#market.listings
  }

  /** Coins that trade, in the venue's order. */
  get tradable(): readonly string[] {
    return tradableOf(this.#market.listings)
  }

  get feed(): FeedStatusEvent | null {
    return this.#market.feed
  }

  /** The newest status of each external source that is configured. */
  get sources(): readonly SourceStatusEvent[] {
    return this.#market.external.sources()
  }

  process(batch: Batch): void {
    const [first] = batch
    // External events have other clocks than the venue.
    if (first !== undefined && !isExternal(first)) this.#sampler.observe(first, this.#market)
    for (const event of batch) {
      const coin = this.#market.apply(event)
      if (event.kind === 'universe') this.#admit()
      else if (coin !== null) this.#markDirty(coin.listing.coin, event.kind)
    }
  }

  /**
   * Whether something that was known before a restart may still come back any moment. That there is no answer is
   * not said meanwhile of what this engine has not answered yet: what was answered before stays, with its age.
   */
  isRemembering(nowMs: number): boolean {
    const passedMs = nowMs - this.#restoredMs
    return passedMs >= 0 && passedMs < REMEMBERING_MS
  }

  /** Which past bars must be asked of the venue for a coin. */
  historyOf(coin: string, nowMs: number): readonly HistoryNeed[] {
    return this.#market.coin(coin)?.ladder.needs(nowMs) ?? []
  }

  /** Which closed bars of a coin are to be compared with the venue's own account of them. */
  auditOf(coin: string): HistoryNeed | null {
    return this.#market.coin(coin)?.ladder.audit() ?? null
  }

  /** Of the newest trade of a coin that was counted, by the venue's clock; NaN for none. */
  tradesUntilMs(coin: string): number {
    return this.#market.coin(coin)?.of(takerFlow).newestTradeMs ?? Number.NaN
  }

  /** From which open time on closed 1h bars of a coin are lacking; null for none. */
  hourlyFromMs(name: string, nowMs: number): number | null {
    const coin = this.#market.coin(name)
    if (coin === undefined) return null
    const depthFromMs = coin.ladder.depthFromMs(nowMs)
    const closesFromMs = coin.of(hourlyCloses).needFromMs(nowMs)
    if (depthFromMs === null || closesFromMs === null) return depthFromMs ?? closesFromMs
    return Math.min(depthFromMs, closesFromMs)
  }

  /**
   * Renders what changed among this call's share of the coins; in the first seconds after a restore also
   * what can be answered at last, so that nobody waits for a coin's turn.
   */
  *publish(nowMs: number): Generator<Document> {
    const isHurried = this.#hurried > 0 && this.#hurried % HURRIED_EVERY === 0
    this.#hurried = Math.max(0, this.#hurried - 1)
    const isRemembering = this.isRemembering(nowMs)
    if (this.#phase % ADVANCE_EVERY === 0) this.#market.advance(nowMs)
    this.#phase = (this.#phase + 1) % PUBLISH_PHASES
    if (this.#phase === 0) this.#round += 1
    if (!isRemembering) this.#sayWhatWasHeldBack()
    const turns = isHurried ? [...this.#turnOf.values()] : (this.#turnsIn[this.#phase] ?? [])
    for (const [at, analysis] of this.#analyses.entries()) {
      const bit = 1 << at
      for (const turn of turns) {
        if ((turn.dirty & bit) === 0) continue
        const { coin: name } = turn
        const notBefore = this.#notBefore[at]?.get(name)
        const isItsTurn = turn.phase === this.#phase
        if (!isItsTurn && !(isHurried && notBefore === undefined)) continue
        if (this.#round < (notBefore ?? 0)) continue
        const coin = this.#market.coin(name)
        if (coin === undefined) {
          turn.dirty &= ~bit
          continue
        }
        const key = documentKey(analysis.contract.id, name)
        const document = analysis.render(coin, this.#rendering(key, nowMs), this.#market)
        // What lacks an answer is looked at every second: what it waits for may be there any moment.
        if (hasAnswer(document))
          this.#notBefore[at]?.set(name, this.#nextRound(analysis, turn.round + at))
        else if (isRemembering && notBefore === undefined) {
          if (isItsTurn) {
            turn.dirty &= ~bit
            turn.heldBack |= bit
            this.#isHoldingBack = true
          }
          continue
        }
        turn.dirty &= ~bit
        yield document
      }
    }
  }

  /** What a document about all coins is made of, as of now; to be made by a worker. */
  gather(id: string, nowMs: number): MarketJob {
    const analysis = this.#marketAnalyses.find(({ contract }) => contract.id === id)
    assert(analysis !== undefined, `${id} is an analysis of the whole market`)
    this.#market.advance(nowMs)
    return {
      analysis: id,
      gathered: analysis.gather(this.#market, nowMs),
      rendering: this.#rendering(documentKey(id, WHOLE_MARKET), nowMs),
    }
  }

  /** What became history since the last call. A checkpoint of now knows no bar that is not in it. */
  takeHistory(): HistoryBatch {
    const { samples, fundings, dropped } = this.#sampler.take()
    const bars: ClosedBar[] = []
    let droppedRows = dropped
    for (const { listing, ladder } of this.#market.coins()) {
      const closed = ladder.takeClosed()
      for (const { timeframe, bar } of closed.bars)
        bars.push({ coin: listing.coin, timeframe, bar })
      droppedRows += closed.dropped
    }
    const measured = this.#market.log.take()
    droppedRows += measured.dropped
    return { bars, samples, fundings, measures: measured.minutes, droppedRows }
  }

  /** Of a whole checkpoint at once. What its rows know is in {@link takeHistory} of the same instant. */
  checkpoint(nowMs: number): Checkpoint {
    const coins = new Map<string, Float64Array>()
    for (const name of this.savedNames()) {
      const saved = this.saved(name, nowMs)
      if (saved !== null) coins.set(name, saved)
    }
    return { version: this.#version, listings: this.#market.listings, coins }
  }

  get version(): number {
    return this.#version
  }

  /** What a checkpoint has a row of. */
  savedNames(): readonly string[] {
    return [...Array.from(this.#market.coins(), ({ listing }) => listing.coin), WHOLE_MARKET]
  }

  /** One row of a checkpoint; null where the coin was delisted meanwhile. */
  saved(name: string, nowMs: number): Float64Array | null {
    if (name === WHOLE_MARKET) return this.#market.save()
    return this.#market.coin(name)?.save(nowMs) ?? null
  }

  restore(checkpoint: Checkpoint, nowMs: number): void {
    this.process([
      {
        kind: 'universe',
        listings: checkpoint.listings,
        timeExchangeMs: nowMs,
        timeReceivedMs: nowMs,
      },
    ])
    // A coin that another version saved warms up from the venue instead.
    for (const [name, saved] of checkpoint.coins) this.#market.coin(name)?.restore(saved, nowMs)
    const savedMarket = checkpoint.coins.get(WHOLE_MARKET)
    if (savedMarket !== undefined) this.#market.restore(savedMarket)
    this.#version = checkpoint.version + UNSAVED_VERSIONS
    this.#hurried = HURRIED_PUBLISHES
    this.#restoredMs = nowMs
  }

  #sayWhatWasHeldBack(): void {
    if (!this.#isHoldingBack) return
    this.#isHoldingBack = false
    for (const turn of this.#turnOf.values()) {
      turn.dirty |= turn.heldBack
      turn.heldBack = 0
    }
  }

  #rendering(key: DocumentKey, nowMs: number): Rendering {
    // Time-based, so that versions rise across restarts even where no checkpoint was written.
    this.#version = Math.max(this.#version + 1, nowMs * VERSIONS_PER_MS)
    return {
      key,
      version: this.#version,
      renderedAtMs: nowMs,
      snapshotId: snapshotIdOf(nowMs),
      engineVersion: this.#engineVersion,
    }
  }

  #admit(): void {
    for (const coin of this.#market.coins()) {
      const name = coin.listing.coin
      if (this.#turnOf.has(name)) continue
      const { size } = this.#turnOf
      const turn = {
        coin: name,
        phase: size % PUBLISH_PHASES,
        round: Math.floor(size / PUBLISH_PHASES),
        dirty: bitsOf(this.#analyses, () => true),
        heldBack: 0,
      }
      this.#turnOf.set(name, turn)
      this.#turnsIn[turn.phase]?.push(turn)
    }
  }

  /** What is rendered every few rounds has the same of them every time, so that not all of it falls into one. */
  #nextRound({ periodMs = PUBLISH_PERIOD_MS }: CoinAnalysis, shift: number): number {
    const rounds = Math.round(periodMs / PUBLISH_PERIOD_MS)
    return this.#round + rounds - ((this.#round + shift) % rounds)
  }

  #markDirty(coin: string, kind: MarketEvent['kind']): void {
    let interested = this.#dirtiedBy.get(kind)
    if (interested === undefined) {
      interested = bitsOf(this.#analyses, ({ inputs }) => inputs.includes(kind))
      this.#dirtiedBy.set(kind, interested)
    }
    const turn = this.#turnOf.get(coin)
    if (turn !== undefined) turn.dirty |= interested
  }
}

function bitsOf<T>(all: readonly T[], isMeant: (one: T) => boolean): number {
  return all.reduce((bits, one, at) => (isMeant(one) ? bits | (1 << at) : bits), 0)
}

const VERSIONS_PER_MS = 1_000
/** More than are given between two checkpoints, of which the last one may not have been written. */
const UNSAVED_VERSIONS = 60_000 * VERSIONS_PER_MS

import type { MarketEvent } from '../../../domain/event.ts'
import type { Exchange } from '../../../domain/external.ts'
import { exchanges } from '../../../domain/external.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import { joinSections, splitSections } from '../../market/saved-sections.ts'
import type { PegEvidence } from './peg-evidence.ts'
import { pegEvidenceOf } from './peg-evidence.ts'
import { PEG_GAP_MS_MAX, PegLevel } from './peg-level.ts'
import type { PegPrice } from './peg-price.ts'
import { pegPriceOf } from './peg-price.ts'
import { PegStatus } from './peg-status.ts'

const STEP_MS = 1_000
const MINUTE_MS = 60_000
const CLOCK_BACK_SECONDS_MAX = 2
/** Raised whenever the meaning of a saved number changes. */
const LAYOUT = 1

/** Stored minutes: last price of each, lowest and highest. */
export const depegSeries = { price: 'depeg/price', low: 'depeg/low', high: 'depeg/high' } as const

/** Result of one instant. `price` is null without a fresh class of sources. */
export type PegSample = {
  readonly atMs: number
  readonly evidence: PegEvidence
  readonly price: PegPrice | null
}

type PegMarket = Pick<MarketState, 'external' | 'log'>

/** Price of USDC, every second, with its level and status over time. */
export class DepegMeasure implements MarketTracker {
  readonly inputs = ['exchange-quote', 'source-status'] as const
  #level = new PegLevel()
  #status = new PegStatus()
  /** Last measured second. */
  #second = Number.NaN
  readonly #heardAtMs = new Map<Exchange, number>()
  #sample: PegSample | null = null
  /** Time of the last price; NaN for none. */
  #pricedMs = Number.NaN
  /** The current minute. */
  #open: OpenMinute | null = null
  /** False after a restart, when the log lacks the current minute. */
  #isLogged = true

  get sample(): PegSample | null {
    return this.#sample
  }

  get level(): Readonly<Pick<PegLevel, 'level' | 'sinceMs' | 'spellSeconds'>> {
    return this.#level
  }

  get status(): Readonly<Pick<PegStatus, 'name' | 'sinceMs'>> {
    return this.#status
  }

  /** Whether the peg is broken enough for market stress; undefined where unknown. */
  isBroken(nowMs: number): boolean | undefined {
    if (!(nowMs - this.#pricedMs <= PEG_GAP_MS_MAX)) return undefined
    return this.#status.name === 'WARNING' || this.#status.name === 'CRITICAL'
  }

  apply(event: MarketEvent): void {
    if (event.kind === 'exchange-quote') this.#hear(event.exchange, event.timeReceivedMs)
    if (event.kind !== 'source-status' || event.state === 'up') return
    const exchange = exchanges.find((name) => name === event.source)
    if (exchange !== undefined) this.#heardAtMs.delete(exchange)
  }

  advance({ external, log }: PegMarket, nowMs: number): void {
    const second = Math.floor(nowMs / STEP_MS)
    // After a small step back of the clock the measure pauses.
    if (second <= this.#second && second >= this.#second - CLOCK_BACK_SECONDS_MAX) return
    this.#second = second
    // After a step back of the clock a time is ahead, and would stay.
    for (const [exchange, heardMs] of this.#heardAtMs)
      this.#heardAtMs.set(exchange, Math.min(heardMs, nowMs))
    const heardAt = (exchange: Exchange) => this.#heardAtMs.get(exchange) ?? Number.NaN
    const evidence = pegEvidenceOf(external, heardAt, nowMs)
    const price = pegPriceOf(evidence.classes)
    this.#sample = { atMs: nowMs, evidence, price }
    if (price === null) return
    this.#pricedMs = nowMs
    const used = evidence.sources.filter(({ fault }) => fault === null)
    const heardMs = Math.max(...used.map(({ receivedAtMs }) => receivedAtMs))
    this.#level.step(nowMs, Math.abs(price.adjustedBps), price.calledLevel)
    this.#status.step(nowMs, price, heardMs)
    this.#record(log, price.priceUsd, nowMs)
  }

  save(): Float64Array {
    const { minute, priceUsd, lowUsd, highUsd } = this.#open ?? NO_MINUTE
    return joinSections([
      [LAYOUT, this.#pricedMs, minute, priceUsd, lowUsd, highUsd],
      this.#level.save(),
      this.#status.save(),
    ])
  }

  restore(saved: Float64Array): boolean {
    const [own, level, status, ...others] = splitSections(saved) ?? []
    if (own === undefined || level === undefined || status === undefined) return false
    if (own.length !== OWN_FIELDS || others.length > 0) return false
    const [layout, pricedMs, minute, priceUsd, lowUsd, highUsd] = own as unknown as OwnNumbers
    if (layout !== LAYOUT) return false
    const [restoredLevel, restoredStatus] = [new PegLevel(), new PegStatus()]
    if (!restoredLevel.restore(level) || !restoredStatus.restore(status)) return false
    this.#level = restoredLevel
    this.#status = restoredStatus
    this.#pricedMs = pricedMs
    this.#open = Number.isNaN(minute) ? null : { minute, priceUsd, lowUsd, highUsd }
    this.#isLogged = false
    return true
  }

  /** A quote that was old at its arrival has its own time. */
  #hear(exchange: Exchange, atMs: number): void {
    this.#heardAtMs.set(exchange, Math.max(this.#heardAtMs.get(exchange) ?? atMs, atMs))
  }

  #record(log: PegMarket['log'], priceUsd: number, nowMs: number): void {
    if (!this.#isLogged && this.#open !== null) write(log, this.#open)
    this.#isLogged = true
    const minute = Math.floor(nowMs / MINUTE_MS)
    const known = minute === this.#open?.minute ? this.#open : null
    const lowUsd = Math.min(known?.lowUsd ?? priceUsd, priceUsd)
    const highUsd = Math.max(known?.highUsd ?? priceUsd, priceUsd)
    this.#open = { minute, priceUsd, lowUsd, highUsd }
    write(log, this.#open)
  }
}

type OpenMinute = {
  readonly minute: number
  /** Last price of the minute. */
  readonly priceUsd: number
  readonly lowUsd: number
  readonly highUsd: number
}

const NO_MINUTE: OpenMinute = {
  minute: Number.NaN,
  priceUsd: Number.NaN,
  lowUsd: Number.NaN,
  highUsd: Number.NaN,
}
type OwnNumbers = readonly [number, number, number, number, number, number]
const OWN_FIELDS = 6

function write(log: PegMarket['log'], { minute, priceUsd, lowUsd, highUsd }: OpenMinute): void {
  log.record(depegSeries.price, minute * MINUTE_MS, priceUsd)
  log.record(depegSeries.low, minute * MINUTE_MS, lowUsd)
  log.record(depegSeries.high, minute * MINUTE_MS, highUsd)
}

export const depegMeasure = marketTracker('market/depeg', () => new DepegMeasure())

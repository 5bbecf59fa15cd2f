import type { CoinEvent, TradeEvent } from '../../domain/event.ts'
import { StepRing } from '../statistics/step-ring.ts'
import type { CoinTracker } from './coin-tracker.ts'
import { coinTracker } from './coin-tracker.ts'
import { joinSections, splitSections } from './saved-sections.ts'

const STEP_MS = 5 * 60_000
export const TAKER_WINDOW_STEPS = 48
const STEPS_KEPT = TAKER_WINDOW_STEPS + 1
const [BUY_USD, SELL_USD] = [0, 1]

/** Raised whenever the meaning of a saved number changes. */
const LAYOUT = 4_302
const HEADER_FIELDS = 4
const ROW_FIELDS = 3

/** Taker volume of the last four hours, USD. */
export type TakerVolume = {
  readonly buyUsd: number
  readonly sellUsd: number
  /** Five-minute steps of the window with a trade, of 48. */
  readonly steps: number
  /** False where trades of the window were lost or are older than the first known one, so the sums are too low. */
  readonly isWhole: boolean
}

/** Taker buys and sells of one coin by exchange time, in steps of five minutes. */
export class TakerFlow implements CoinTracker {
  readonly inputs = ['trade', 'trade-gap'] as const
  readonly #volumes = new StepRing(STEP_MS, STEPS_KEPT, 2)
  #newestTradeMs = Number.NEGATIVE_INFINITY
  /** Older trades were counted before, or belong to a gap. */
  #countedUntilMs = Number.NEGATIVE_INFINITY
  /** End of the newest gap. */
  #lostUntilMs = Number.NEGATIVE_INFINITY
  /** Time of the first known trade: those before the start of the service are unknown. */
  #firstTradeMs = Number.POSITIVE_INFINITY

  /** Time of the newest counted trade; NaN before any. */
  get newestTradeMs(): number {
    return Number.isFinite(this.#newestTradeMs) ? this.#newestTradeMs : Number.NaN
  }

  /** @param atMs by the venue's clock */
  volume(atMs: number): TakerVolume {
    const last = this.#volumes.stepOf(atMs)
    const first = last - TAKER_WINDOW_STEPS + 1
    const steps = this.#volumes.steps(first, last)
    const sumOf = (field: number) =>
      steps.reduce((sum, step) => sum + this.#volumes.at(step, field), 0)
    return {
      buyUsd: sumOf(BUY_USD),
      sellUsd: sumOf(SELL_USD),
      steps: steps.length,
      isWhole: this.#unknownUntilMs < first * STEP_MS,
    }
  }

  apply(event: CoinEvent): void {
    if (event.kind === 'trade') this.#trade(event)
    else if (event.kind === 'trade-gap') {
      this.#countedUntilMs = Math.max(this.#countedUntilMs, event.toMs)
      this.#lostUntilMs = Math.max(this.#lostUntilMs, event.toMs)
    }
  }

  save(): Float64Array {
    const rows = this.#volumes.steps().flatMap((step) => [step, ...this.#volumes.row(step)])
    const header = [LAYOUT, this.#newestTradeMs, this.#countedUntilMs, this.#unknownUntilMs]
    return joinSections([header, rows])
  }

  restore(saved: Float64Array): boolean {
    const [header, rows, ...others] = splitSections(saved) ?? []
    if (header?.[0] !== LAYOUT || header.length !== HEADER_FIELDS || !rows || others.length > 0)
      return false
    if (rows.length % ROW_FIELDS !== 0) return false
    this.#newestTradeMs = header[1] as number
    // The venue repeats these trades after a reconnection.
    this.#countedUntilMs = Math.max(this.#newestTradeMs, header[2] as number)
    this.#lostUntilMs = header[3] as number
    if (Number.isFinite(this.#newestTradeMs)) this.#firstTradeMs = Number.NEGATIVE_INFINITY
    for (let at = 0; at < rows.length; at += ROW_FIELDS)
      this.#volumes.set(rows[at] as number, [...rows.subarray(at + 1, at + ROW_FIELDS)])
    return true
  }

  /** A coin without any trade lacks none. */
  get #unknownUntilMs(): number {
    const isTraded = Number.isFinite(this.#firstTradeMs)
    return isTraded ? Math.max(this.#lostUntilMs, this.#firstTradeMs) : this.#lostUntilMs
  }

  #trade({ timeExchangeMs: timeMs, takerSide, price, sizeBase }: TradeEvent): void {
    if (timeMs <= this.#countedUntilMs) return
    this.#newestTradeMs = Math.max(this.#newestTradeMs, timeMs)
    this.#firstTradeMs = Math.min(this.#firstTradeMs, timeMs)
    const usd = price * sizeBase
    this.#volumes.add(this.#volumes.stepOf(timeMs), takerSide === 'buy' ? [usd, 0] : [0, usd])
  }
}

export const takerFlow = coinTracker('market/taker-flow', () => new TakerFlow())

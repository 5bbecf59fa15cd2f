import type {
  BookEvent,
  BookLevel,
  CoinEvent,
  TopOfBookEvent,
  TradeEvent,
  TradeGapEvent,
} from '../../domain/event.ts'
import type { BookSide } from '../book/book-walk.ts'
import { walk } from '../book/book-walk.ts'
import type { CoinTracker } from '../market/coin-tracker.ts'
import { coinTracker } from '../market/coin-tracker.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import { StepRing } from '../statistics/step-ring.ts'
import { FirstCosts } from './first-costs.ts'
import { RecentMids } from './recent-mids.ts'
import { RecentValues } from './recent-values.ts'

const BPS = 10_000
const MINUTE_MS = 60_000

/** Older quotes are not used to measure a trade. */
const QUOTE_AGE_MS_MAX = 1_000
/** Maximum age of a book before the next one, which is what an answer was rendered from. */
const BOOK_AGE_MS_MAX = 6_000
/** Realized spread uses the first mid price from here on ... */
const REALIZED_AFTER_MS = 10_000
/** ... up to this much later; whole books arrive every 5.4 s. */
const REALIZED_LATE_MS_MAX = 6_000

/** Window length, including the present minute. */
export const WINDOW_MINUTES = 60
/** Executions needed for a mean. */
export const EXECUTIONS_MIN = 20

/** Smaller executions rarely exceed the best level and would hide the error of estimates. */
export const CALIBRATED_USD_MIN = 1_000
const ERRORS_MAX = 256
export const CALIBRATIONS_MIN = 20
const RATIOS_MAX = 64
/** Executions beyond the visible book needed before the model is scaled. */
export const MODEL_RATIOS_MIN = 20
const MODEL_SCALE_MIN = 0.5
const MODEL_SCALE_MAX = 3

/** Bound of executions that wait for a later mid price, over twice the largest burst seen; the oldest is dropped. */
const PENDING_MAX = 1_024

/** A larger step back is a corrected venue clock, not quotes out of order. */
const CLOCK_BACK_MS_MAX = 60_000

/** Increased when the meaning of a saved number changes. */
const LAYOUT = 4_102
const HEADER_FIELDS = 5

/** Costs of takers, notional-weighted, in bps of the mid price before the execution. */
export type TakerCosts = {
  /** 2 x abs(price - mid) / mid; null below {@link EXECUTIONS_MIN}. */
  readonly effectiveBps: number | null
  readonly n: number
  readonly notionalUsd: number
  /** 2 x side x (price - mid 10 s later) / mid: revenue of the maker; null likewise. */
  readonly realizedBps: number | null
  readonly realizedN: number
  /** From the oldest minute with an execution to the newest event; 0 without executions. */
  readonly windowSeconds: number
  /** false if trades of the last hour, or later mid prices of some, are missing. */
  readonly isWhole: boolean
}

/** Errors of slippage estimates against actual executions. */
export type SlippageCalibration = {
  readonly n: number
  /** null below {@link CALIBRATIONS_MIN}, like the next two. */
  readonly medianAbsErrorBps: number | null
  /** 90th percentile of the absolute errors. */
  readonly p90AbsErrorBps: number | null
  /** Positive: executions cost more than was estimated. */
  readonly medianErrorBps: number | null
  /** Time of the newest execution compared, by the venue's clock; null before any. */
  readonly asOfMs: number | null
  /** Executions beyond the visible book, and the factor that they give the model. */
  readonly modelN: number
  readonly modelScale: number
}

export type CostQuantiles = {
  readonly byBook: readonly number[]
  readonly byRootLaw: readonly number[]
}

/**
 * All trades with one timestamp and side: one order, or several of one block. They are measured together, because a
 * second order would otherwise be compared with a book that the first has already taken from.
 */
type Execution = {
  readonly timeMs: number
  readonly direction: 1 | -1
  /** Mid of the last quote before it; NaN without a recent one. */
  readonly midBefore: number
  /** Side of the last whole book before it; null likewise. */
  readonly side: BookSide | null
  notionalUsd: number
  sizeBase: number
  /** Sums of notional x price and notional x distance from mid. */
  usdPrice: number
  usdDistance: number
}

/** An execution that waits for the later mid price. */
type Pending = Pick<Execution, 'timeMs' | 'direction' | 'midBefore' | 'notionalUsd' | 'usdPrice'>

/** Sums of one minute, notional-weighted, in bps of the mid before. */
type Sums = readonly [
  n: number,
  notionalUsd: number,
  effective: number,
  realizedN: number,
  realizedUsd: number,
  realized: number,
]
const MINUTE_FIELDS = 6

/**
 * Costs of the trades of one coin, by the venue's timestamps. A trade is measured against the last quote strictly
 * before it: the venue stamps quotes and trades by block, and a quote with the same timestamp already lacks what the
 * trade took (of 10,964 recorded trades 98 % lie at or beyond the quote before, 61 % at or beyond the one with their
 * own timestamp). Trades without a recent two-sided quote are left out.
 */
export class TradeCosts implements CoinTracker {
  readonly inputs = ['trade', 'book', 'top-of-book', 'trade-gap', 'silence'] as const
  #minutes = new StepRing(MINUTE_MS, WINDOW_MINUTES, MINUTE_FIELDS)
  readonly #errors = new RecentValues(ERRORS_MAX)
  readonly #ratios = new RecentValues(RATIOS_MAX)
  /** Costs of the same executions, each divided by the root of its notional. */
  readonly #rootRatios = new RecentValues(ERRORS_MAX)
  #firstCosts = new FirstCosts()
  #modelScale = 1
  /** Cached until an execution changes it. */
  #calibration: SlippageCalibration | null = null
  #calibratedAtMs = Number.NaN
  readonly #mids = new RecentMids()
  #book: BookEvent | null = null
  #bookBefore: BookEvent | null = null
  #open: Execution | null = null
  #pending: Pending[] = []
  #newestTradeMs = Number.NEGATIVE_INFINITY
  /** Trades up to here are counted already, or belong to a gap. */
  #countedUntilMs = Number.NEGATIVE_INFINITY
  /** End of the newest gap, or the newest execution dropped by {@link PENDING_MAX}. */
  #lostUntilMs = Number.NEGATIVE_INFINITY
  /** Newest timestamp of any event. */
  #newestMs = Number.NEGATIVE_INFINITY

  apply(event: CoinEvent): void {
    switch (event.kind) {
      case 'trade':
        this.#trade(event)
        break
      case 'book':
        this.#quote(event.timeExchangeMs, midOfBest(event.bids[0], event.asks[0]))
        this.#keepBook(event)
        break
      case 'top-of-book':
        this.#quote(event.timeExchangeMs, midOfTop(event))
        break
      case 'trade-gap':
        this.#gap(event)
        break
      case 'silence':
        // Its other trades may be missing.
        this.#open = null
        break
      default:
    }
  }

  costs(): TakerCosts {
    const sums = new Float64Array(MINUTE_FIELDS)
    const steps = this.#stepsOfWindow()
    for (const step of steps)
      for (let field = 0; field < MINUTE_FIELDS; field += 1)
        sums[field] = (sums[field] as number) + this.#minutes.at(step, field)
    const [n, notionalUsd, effective, realizedN, realizedUsd, realized] = sums as unknown as Sums
    return {
      effectiveBps: n < EXECUTIONS_MIN ? null : effective / notionalUsd,
      n,
      notionalUsd,
      realizedBps: realizedN < EXECUTIONS_MIN ? null : realized / realizedUsd,
      realizedN,
      windowSeconds: steps[0] === undefined ? 0 : (this.#newestMs - steps[0] * MINUTE_MS) / 1_000,
      isWhole: !Number.isFinite(this.#lostUntilMs) || this.#lostUntilMs < this.#windowStartMs,
    }
  }

  calibration(): SlippageCalibration {
    this.#calibration ??= this.#calibrated()
    return this.#calibration
  }

  /** Costs by size and quarter of an hour. */
  get firstCosts(): Pick<FirstCosts, 'at' | 'sizesSeen'> {
    return this.#firstCosts
  }

  /**
   * Quantiles of what an order costs, bps: by the book, with the errors of past estimates, and by the square-root law,
   * with the coefficients that the same executions had. null without a book and with fewer than
   * {@link CALIBRATIONS_MIN} executions.
   */
  costQuantiles(side: BookSide, notional: number, levels: readonly number[]): CostQuantiles | null {
    const { slippageBps } = walk(side, notional, this.#modelScale)
    if (slippageBps === null) return null
    if (Math.min(this.#errors.count, this.#rootRatios.count) < CALIBRATIONS_MIN) return null
    const root = Math.sqrt(notional)
    return {
      byBook: levels.map((level) => slippageBps + this.#errors.quantile(level)),
      byRootLaw: levels.map((level) => root * this.#rootRatios.quantile(level)),
    }
  }

  /** Without quotes, which are too old after a restart. */
  save(): Float64Array {
    return joinSections([
      [LAYOUT, this.#newestTradeMs, this.#newestMs, this.#calibratedAtMs, this.#lostUntilMs],
      this.#stepsOfWindow().flatMap((step) => [step, ...this.#minutes.row(step)]),
      this.#errors.save(),
      this.#ratios.save(),
      this.#pending.flatMap(pendingFields),
      this.#open === null ? [] : openFields(this.#open),
      this.#firstCosts.save(),
      this.#rootRatios.save(),
    ])
  }

  restore(saved: Float64Array): boolean {
    const [header, minutes, errors, ratios, pending, open, ...claimed] = splitSections(saved) ?? []
    if (header?.length !== HEADER_FIELDS || header[0] !== LAYOUT) return false
    // Version 0.1.0 has none of the last two sections.
    const [firstCosts, rootRatios, ...others] = claimed
    if (others.length > 0) return false
    if (!minutes || !errors || !ratios || !pending || !open) return false
    this.#newestTradeMs = header[1] as number
    // The venue may replay them.
    this.#countedUntilMs = this.#newestTradeMs
    this.#newestMs = header[2] as number
    this.#calibratedAtMs = header[3] as number
    this.#lostUntilMs = header[4] as number
    for (const [step, ...row] of rowsOf(minutes, 1 + MINUTE_FIELDS))
      this.#minutes.set(step as number, row)
    this.#errors.restore(errors)
    this.#ratios.restore(ratios)
    this.#firstCosts.restore(firstCosts ?? [])
    this.#rootRatios.restore(rootRatios ?? new Float64Array())
    this.#scaleModel()
    this.#calibration = null
    this.#pending = rowsOf(pending, PENDING_FIELDS).map(pendingOf)
    this.#open = open.length === 0 ? null : openOf([...open])
    return true
  }

  #trade({ timeExchangeMs: timeMs, takerSide, price, sizeBase }: TradeEvent): void {
    // A trade older than the newest one comes from a replay.
    if (timeMs < this.#newestTradeMs || timeMs <= this.#countedUntilMs) return
    this.#newestTradeMs = timeMs
    this.#newestMs = Math.max(this.#newestMs, timeMs)
    const direction = takerSide === 'buy' ? 1 : -1
    let open = this.#open
    if (open === null || open.timeMs !== timeMs || open.direction !== direction) {
      this.#close()
      open = {
        timeMs,
        direction,
        midBefore: this.#mids.before(timeMs, QUOTE_AGE_MS_MAX),
        side: this.#sideBefore(timeMs, direction),
        notionalUsd: 0,
        sizeBase: 0,
        usdPrice: 0,
        usdDistance: 0,
      }
      this.#open = open
    }
    const usd = price * sizeBase
    open.notionalUsd += usd
    open.sizeBase += sizeBase
    open.usdPrice += usd * price
    open.usdDistance += usd * Math.abs(price - open.midBefore)
  }

  #quote(timeMs: number, mid: number): void {
    if (timeMs < this.#newestMs - CLOCK_BACK_MS_MAX) this.#startOver(timeMs)
    // A whole book may arrive after quotes of later blocks.
    if (timeMs < this.#mids.newestMs) return
    this.#newestMs = Math.max(this.#newestMs, timeMs)
    if (this.#open !== null && this.#open.timeMs < timeMs) this.#close()
    this.#realize(timeMs, mid)
    this.#mids.add(timeMs, mid)
  }

  /** The venue's clock was set back, so the order of events is unknown. */
  #startOver(timeMs: number): void {
    this.#minutes = new StepRing(MINUTE_MS, WINDOW_MINUTES, MINUTE_FIELDS)
    this.#mids.clear()
    this.#book = null
    this.#bookBefore = null
    this.#open = null
    this.#pending = []
    this.#newestTradeMs = Number.NEGATIVE_INFINITY
    this.#countedUntilMs = Number.NEGATIVE_INFINITY
    this.#lostUntilMs = Number.NEGATIVE_INFINITY
    this.#firstCosts = new FirstCosts()
    this.#newestMs = timeMs
  }

  #keepBook(book: BookEvent): void {
    if (this.#book !== null && book.timeExchangeMs < this.#book.timeExchangeMs) return
    if (book.timeExchangeMs !== this.#book?.timeExchangeMs) this.#bookBefore = this.#book
    this.#book = book
  }

  /** Replayed trades up to the end of the gap may be incomplete. */
  #gap({ fromMs, toMs }: TradeGapEvent): void {
    this.#open = null
    this.#firstCosts.lose(fromMs, toMs)
    this.#countedUntilMs = Math.max(this.#countedUntilMs, toMs)
    this.#lostUntilMs = Math.max(this.#lostUntilMs, toMs)
  }

  #calibrated(): SlippageCalibration {
    const isEnough = this.#errors.count >= CALIBRATIONS_MIN
    return {
      n: this.#errors.count,
      medianAbsErrorBps: isEnough ? this.#errors.median(Math.abs) : null,
      p90AbsErrorBps: isEnough ? this.#errors.quantile(0.9, Math.abs) : null,
      medianErrorBps: isEnough ? this.#errors.median() : null,
      asOfMs: Number.isNaN(this.#calibratedAtMs) ? null : this.#calibratedAtMs,
      modelN: this.#ratios.count,
      modelScale: this.#modelScale,
    }
  }

  #sideBefore(timeMs: number, direction: 1 | -1): BookSide | null {
    const isBefore = this.#book !== null && this.#book.timeExchangeMs < timeMs
    const book = isBefore ? this.#book : this.#bookBefore
    const ageMs = timeMs - (book?.timeExchangeMs ?? Number.NaN)
    return book !== null && ageMs > 0 && ageMs <= BOOK_AGE_MS_MAX ? sideOf(book, direction) : null
  }

  /** Called when the execution is complete. */
  #close(): void {
    const execution = this.#open
    this.#open = null
    if (execution === null || Number.isNaN(execution.midBefore)) return
    const { timeMs, direction, midBefore, notionalUsd, sizeBase, usdDistance } = execution
    this.#add(timeMs, [1, notionalUsd, ((2 * usdDistance) / midBefore) * BPS, 0, 0, 0])
    const paidBps = direction * (notionalUsd / sizeBase / midBefore - 1) * BPS
    this.#firstCosts.add(timeMs, direction, notionalUsd, paidBps)
    this.#calibrate(execution, paidBps)
    const { usdPrice } = execution
    this.#pending.push({ timeMs, direction, midBefore, notionalUsd, usdPrice })
    if (this.#pending.length <= PENDING_MAX) return
    const dropped = this.#pending.shift()
    this.#lostUntilMs = Math.max(this.#lostUntilMs, dropped?.timeMs ?? timeMs)
  }

  #realize(timeMs: number, mid: number): void {
    if (Number.isNaN(mid)) return
    let done = 0
    for (const execution of this.#pending) {
      const afterMs = timeMs - execution.timeMs
      if (afterMs < REALIZED_AFTER_MS) break
      done += 1
      if (afterMs > REALIZED_AFTER_MS + REALIZED_LATE_MS_MAX) continue
      const { direction, midBefore, notionalUsd, usdPrice } = execution
      const kept = ((2 * direction * (usdPrice - notionalUsd * mid)) / midBefore) * BPS
      this.#add(execution.timeMs, [0, 0, 0, 1, notionalUsd, kept])
    }
    if (done > 0) this.#pending.splice(0, done)
  }

  #calibrate({ side, notionalUsd, timeMs }: Execution, paidBps: number): void {
    if (side === null || notionalUsd < CALIBRATED_USD_MIN) return
    const estimate = walk(side, notionalUsd, this.#modelScale)
    const unscaledBps = walk(side, notionalUsd).slippageBps
    if (estimate.slippageBps === null || unscaledBps === null) return
    this.#errors.push(paidBps - estimate.slippageBps)
    this.#rootRatios.push(paidBps / Math.sqrt(notionalUsd))
    this.#calibratedAtMs = timeMs
    this.#calibration = null
    if (estimate.method !== 'model' || unscaledBps <= 0) return
    this.#ratios.push(paidBps / unscaledBps)
    this.#scaleModel()
  }

  #scaleModel(): void {
    const ratio = this.#ratios.count < MODEL_RATIOS_MIN ? 1 : this.#ratios.median()
    this.#modelScale = Math.min(MODEL_SCALE_MAX, Math.max(MODEL_SCALE_MIN, ratio))
  }

  #add(timeMs: number, row: Sums): void {
    this.#minutes.add(this.#minutes.stepOf(timeMs), row)
  }

  /** Start of the window. */
  get #windowStartMs(): number {
    return (this.#minutes.stepOf(this.#newestMs) - WINDOW_MINUTES + 1) * MINUTE_MS
  }

  /** Minutes with executions, oldest first. */
  #stepsOfWindow(): number[] {
    const newest = this.#minutes.stepOf(this.#newestMs)
    return this.#minutes.steps(newest - WINDOW_MINUTES + 1, newest)
  }
}

/** The side of the book that a taker of that direction meets; null for a one-sided book. */
export function sideOf({ bids, asks }: BookEvent, direction: 1 | -1): BookSide | null {
  const mid = midOfBest(bids[0], asks[0])
  return Number.isNaN(mid) ? null : { levels: direction === 1 ? asks : bids, mid, direction }
}

function midOfTop({ bid, ask }: TopOfBookEvent): number {
  return midOfBest(bid ?? undefined, ask ?? undefined)
}

/** NaN for a one-sided or crossed book. */
function midOfBest(
  bid: { readonly price: number } | undefined,
  ask: { readonly price: number } | undefined,
): number {
  if (bid === undefined || ask === undefined || bid.price >= ask.price) return Number.NaN
  return (bid.price + ask.price) / 2
}

const PENDING_FIELDS = 5

function pendingFields(execution: Pending): readonly number[] {
  const { timeMs, direction, midBefore, notionalUsd, usdPrice } = execution
  return [timeMs, direction, midBefore, notionalUsd, usdPrice]
}

function pendingOf(row: readonly number[]): Pending {
  const [timeMs, direction, midBefore, notionalUsd, usdPrice] = row
  return { timeMs, direction, midBefore, notionalUsd, usdPrice } as Pending
}

/** Ends with the mid and the levels of the side, if there is one. */
function openFields(execution: Execution): readonly number[] {
  const { sizeBase, usdDistance, side } = execution
  const levels = side?.levels.flatMap((level) => [level.price, level.sizeBase]) ?? []
  return [
    ...pendingFields(execution),
    sizeBase,
    usdDistance,
    ...(side === null ? [] : [side.mid, ...levels]),
  ]
}

function openOf(row: readonly number[]): Execution {
  const pending = pendingOf(row)
  const [sizeBase, usdDistance, mid, ...levels] = row.slice(PENDING_FIELDS)
  const side = mid === undefined ? null : { mid, levels: levelsOf(levels) }
  return {
    ...pending,
    side: side && { ...side, direction: pending.direction },
    sizeBase: sizeBase as number,
    usdDistance: usdDistance as number,
  }
}

function levelsOf(numbers: readonly number[]): readonly BookLevel[] {
  return rowsOf(numbers, 2).map(([price, sizeBase]) => ({ price, sizeBase }) as BookLevel)
}

function rowsOf(numbers: ArrayLike<number>, width: number): number[][] {
  return Array.from({ length: Math.floor(numbers.length / width) }, (_, row) =>
    Array.from({ length: width }, (_, field) => numbers[row * width + field] as number),
  )
}

export const tradeCosts = coinTracker('spread/trade-costs', () => new TradeCosts())

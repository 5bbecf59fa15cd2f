import type {
  BookEvent,
  CandleEvent,
  ContextEvent,
  MarkEvent,
  TopOfBookEvent,
  TradeEvent,
} from '../../../domain/event.ts'

/** Less than the cadence of contexts, and more than the copies of one frame are apart. */
const DOUBTED_MS = 5_000
/** No price of a market is so many times the one before, some seconds earlier ... */
const PRICE_FACTOR_MAX = 2
/** ... no open interest, unless somebody opened the first of it ... */
const INTEREST_FACTOR_MAX = 10
/** ... and no bar reaches so far from the price at its end. */
const REACH_FACTOR_MAX = 4
/** A mark that is older is no measure of what comes now. */
const MARK_AGE_MS_MAX = 60_000
/** Nobody trades so many times what is open and what a day turns over, ... */
const SIZE_FACTOR_MAX = 10
/** ... where that is anything at all. */
const SIZE_USD_MIN = 1e6

/** `waits`: nobody knows yet. `refuted`: it is believed, and what was told before it was broken. */
export type Verdict = 'believed' | 'waits' | 'refuted'

/** NaN where it was not told. */
type Figures = {
  readonly markPrice: number
  readonly oraclePrice: number
  readonly midPrice: number
  readonly openInterestBase: number
}

type Known = {
  believed: Figures | null
  believedMs: number
  dayNotionalUsd: number
  /** What contradicts it, and since when that is told. */
  doubted: { readonly figures: Figures; readonly sinceMs: number } | null
}

/**
 * Figures that are sound by themselves and cannot be true: a decimal point that was lost, nothing open in a coin.
 * Where they are true all the same, the venue tells them again; a figure that broke on its way, it does not.
 */
export class Doubt {
  readonly #coins = new Map<string, Known>()

  context(event: ContextEvent, nowMs: number): Verdict {
    const { coin, markPrice, oraclePrice, openInterestBase } = event
    const midPrice = event.midPrice ?? Number.NaN
    const known = this.#knownOf(coin)
    const verdict = judged(known, { markPrice, oraclePrice, midPrice, openInterestBase }, nowMs)
    if (verdict !== 'waits') known.dayNotionalUsd = event.dayNotionalUsd
    return verdict
  }

  mark({ coin, markPrice = Number.NaN, midPrice }: MarkEvent, nowMs: number): Verdict {
    const untold = { oraclePrice: Number.NaN, openInterestBase: Number.NaN }
    return judged(
      this.#knownOf(coin),
      { ...untold, markPrice, midPrice: midPrice ?? Number.NaN },
      nowMs,
    )
  }

  /** Whether somebody bids, or asks, what nobody would in a market at that mark. */
  isBookOff(event: BookEvent | TopOfBookEvent, nowMs: number): boolean {
    const bid = event.kind === 'book' ? event.bids[0] : event.bid
    const ask = event.kind === 'book' ? event.asks[0] : event.ask
    const markPrice = this.#markOf(event.coin, nowMs)
    if (bid && bid.price > markPrice * PRICE_FACTOR_MAX) return true
    return ask != null && ask.price < markPrice / PRICE_FACTOR_MAX
  }

  isTradeOff({ coin, price, sizeBase }: TradeEvent, nowMs: number): boolean {
    return (
      !isNear(price, this.#markOf(coin, nowMs), PRICE_FACTOR_MAX) ||
      this.#isTooMuch(coin, price * sizeBase)
    )
  }

  isCandleOff({ coin, bar }: CandleEvent, nowMs: number): boolean {
    const { high, low, close, volumeBase } = bar
    const markPrice = this.#markOf(coin, nowMs)
    return (
      !isNear(close, markPrice, PRICE_FACTOR_MAX) ||
      high > markPrice * REACH_FACTOR_MAX ||
      low < markPrice / REACH_FACTOR_MAX ||
      this.#isTooMuch(coin, volumeBase * close)
    )
  }

  #isTooMuch(coin: string, notionalUsd: number): boolean {
    const known = this.#coins.get(coin)
    if (known?.believed == null) return false
    const { markPrice, openInterestBase } = known.believed
    const usualUsd = known.dayNotionalUsd + markPrice * openInterestBase
    return notionalUsd > Math.max(SIZE_USD_MIN, SIZE_FACTOR_MAX * usualUsd)
  }

  /** NaN where none is known: then nothing is doubted by it. */
  #markOf(coin: string, nowMs: number): number {
    const known = this.#coins.get(coin)
    const isYoung = known !== undefined && nowMs - known.believedMs <= MARK_AGE_MS_MAX
    return isYoung ? (known.believed?.markPrice ?? Number.NaN) : Number.NaN
  }

  #knownOf(coin: string): Known {
    let known = this.#coins.get(coin)
    if (known === undefined) {
      known = { believed: null, believedMs: Number.NaN, dayNotionalUsd: Number.NaN, doubted: null }
      this.#coins.set(coin, known)
    }
    return known
  }
}

function judged(known: Known, figures: Figures, nowMs: number): Verdict {
  const { believed, doubted } = known
  const isCredible = believed === null ? isCredibleAlone(figures) : isLike(figures, believed)
  if (!isCredible) {
    const isToldAgain = doubted !== null && isLike(figures, doubted.figures)
    if (!isToldAgain) known.doubted = { figures, sinceMs: nowMs }
    if (!isToldAgain || nowMs - doubted.sinceMs < DOUBTED_MS) return 'waits'
  }
  known.believed = believed === null ? figures : merged(figures, believed)
  known.believedMs = nowMs
  known.doubted = null
  return isCredible && doubted !== null ? 'refuted' : 'believed'
}

/** With nothing to compare it with. */
function isCredibleAlone({ markPrice, oraclePrice, midPrice, openInterestBase }: Figures): boolean {
  return (
    openInterestBase !== 0 &&
    isNear(oraclePrice, markPrice, PRICE_FACTOR_MAX) &&
    isNear(midPrice, markPrice, PRICE_FACTOR_MAX)
  )
}

function isLike(figures: Figures, others: Figures): boolean {
  return (
    isNear(figures.markPrice, others.markPrice, PRICE_FACTOR_MAX) &&
    isNear(figures.oraclePrice, others.oraclePrice, PRICE_FACTOR_MAX) &&
    isNear(figures.midPrice, others.midPrice, PRICE_FACTOR_MAX) &&
    isInterestLike(figures.openInterestBase, others.openInterestBase)
  )
}

/** Somebody may open the first of it; that nobody has anything open any more, or is heard to, is another matter. */
function isInterestLike(one: number, other: number): boolean {
  if (one === 0 || other === 0) return other === 0
  return isNear(one, other, INTEREST_FACTOR_MAX)
}

/** True as well where one of them is not known. */
function isNear(one: number, other: number, factorMax: number): boolean {
  return !(one > other * factorMax || one < other / factorMax)
}

function merged(figures: Figures, before: Figures): Figures {
  const newer = (name: keyof Figures) =>
    Number.isNaN(figures[name]) ? before[name] : figures[name]
  return {
    markPrice: newer('markPrice'),
    oraclePrice: newer('oraclePrice'),
    midPrice: newer('midPrice'),
    openInterestBase: newer('openInterestBase'),
  }
}

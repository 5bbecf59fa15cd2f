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
/** ... and no bar reaches, and nobody trades, so far from the mark. */
const REACH_FACTOR_MAX = 4
/** Funding is a mean over an hour: nobody pays, in a second, so much more or less of it an hour ... */
const FUNDING_STEP_MAX = 0.001
/** ... and no premium moves so far, as a fraction of the oracle price, or lies so far from that of the mark. */
const PREMIUM_STEP_MAX = 0.05
/** Nobody trades so many times what is open and what a day turns over, ... */
const SIZE_FACTOR_MAX = 10
/** ... where that is anything at all. */
const SIZE_USD_MIN = 1e6
/** What was told longer ago is no measure of what comes now. */
const MEASURE_AGE_MS_MAX = 60_000

/** `waits`: nobody knows yet. `refuted`: it is believed, and what was told before it was broken. */
export type Verdict = 'believed' | 'waits' | 'refuted'

/** Of what is strange: by one word, or by several of the last seconds; `none` as well once it was told for long enough. */
export type Strangeness = 'none' | 'new' | 'again'

type Known = {
  readonly markPrice: DoubtedFigure
  readonly oraclePrice: DoubtedFigure
  readonly midPrice: DoubtedFigure
  readonly impactBid: DoubtedFigure
  readonly impactAsk: DoubtedFigure
  readonly prevDayPrice: DoubtedFigure
  readonly premium: DoubtedFigure
  readonly fundingRateHourly: DoubtedFigure
  readonly openInterestBase: DoubtedFigure
  readonly dayNotionalUsd: DoubtedFigure
  /** What would be no part of this market, by what tells of it. */
  readonly strange: { book: Told | null; candle: Told | null }
  /** Also what is doubted where it is more: as a limit, too much does no harm. */
  turnoverUsdMax: number
  contextMs: number
}

/** One thing that contradicts what is known, and since when it is told. */
type Told = { readonly figures: readonly number[]; readonly sinceMs: number }

/**
 * Figures that are sound by themselves and cannot be true: a decimal point that was lost, nothing open in a coin.
 * Where they are true all the same, the venue tells them again; a figure that broke on its way, it does not.
 */
export class PlausibilityFilter {
  readonly #coins = new Map<string, Known>()

  context(event: ContextEvent, nowMs: number): Verdict {
    const { coin, markPrice, oraclePrice, midPrice, openInterestBase, dayNotionalUsd } = event
    const { impactBid, impactAsk, premium, fundingRateHourly, prevDayPrice } = event
    const known = this.#knownOf(coin)
    // The first of all has nothing to be compared with but the others.
    const isMarkSound = isNear(markPrice, oraclePrice, PRICE_FACTOR_MAX)
    const isMidSound = midPrice === null || isNear(midPrice, markPrice, PRICE_FACTOR_MAX)
    const isReached = (price: number | null) =>
      price === null || isNear(price, markPrice, REACH_FACTOR_MAX)
    // A figure that broke on its way has no price beside it that says the same; a premium in a crash has.
    const isBacked = isPremiumLike(premium ?? 0, markPrice / oraclePrice - 1)
    const isCalm = Math.abs(fundingRateHourly) <= FUNDING_STEP_MAX
    const verdict = together([
      known.markPrice.judge(markPrice, nowMs, isMarkSound),
      known.oraclePrice.judge(oraclePrice, nowMs, isMarkSound),
      judgeIfTold(known.midPrice, midPrice, nowMs, isMidSound),
      judgeIfTold(known.impactBid, impactBid, nowMs, isReached(impactBid)),
      judgeIfTold(known.impactAsk, impactAsk, nowMs, isReached(impactAsk)),
      judgeIfTold(known.premium, premium, nowMs, isPremiumLike(premium ?? 0, 0), isBacked),
      judgeIfTold(known.prevDayPrice, prevDayPrice, nowMs),
      known.fundingRateHourly.judge(fundingRateHourly, nowMs, isCalm),
      known.openInterestBase.judge(openInterestBase, nowMs, openInterestBase !== 0),
      known.dayNotionalUsd.judge(dayNotionalUsd, nowMs),
    ])
    const isMore = !(dayNotionalUsd <= known.turnoverUsdMax)
    if (verdict !== 'waits' || isMore) known.turnoverUsdMax = dayNotionalUsd
    known.contextMs = nowMs
    return verdict
  }

  /** Whether open interest of a coin was believed before: without, a first figure contradicts nothing. */
  knowsContextOf(coin: string): boolean {
    return !Number.isNaN(this.#coins.get(coin)?.openInterestBase.value ?? Number.NaN)
  }

  mark({ coin, markPrice, midPrice }: MarkEvent, nowMs: number): Verdict {
    const known = this.#knownOf(coin)
    return together([
      judgeIfTold(known.markPrice, markPrice, nowMs),
      judgeIfTold(known.midPrice, midPrice, nowMs),
    ])
  }

  /** Whether somebody bids, or asks, what nobody would in a market at that mark. */
  book(event: BookEvent | TopOfBookEvent, nowMs: number): Strangeness {
    const bid = (event.kind === 'book' ? event.bids[0] : event.bid)?.price ?? Number.NaN
    const ask = (event.kind === 'book' ? event.asks[0] : event.ask)?.price ?? Number.NaN
    const known = this.#coins.get(event.coin)
    if (known === undefined) return 'none'
    const markPrice = markOf(known, nowMs)
    const isStrange = bid > markPrice * PRICE_FACTOR_MAX || ask < markPrice / PRICE_FACTOR_MAX
    return isStrange ? strangeness(known, 'book', [bid, ask], nowMs) : notStrange(known, 'book')
  }

  /** A trade is told once, so one that is no part of this market is left out for good. */
  isTradeStrange({ coin, price, sizeBase }: TradeEvent, nowMs: number): boolean {
    const known = this.#coins.get(coin)
    if (known === undefined) return false
    return (
      !isNear(price, markOf(known, nowMs), REACH_FACTOR_MAX) ||
      isTooMuch(known, price * sizeBase, nowMs)
    )
  }

  candle({ coin, bar }: CandleEvent, nowMs: number): Strangeness {
    const known = this.#coins.get(coin)
    if (known === undefined) return 'none'
    const { high, low, close, volumeBase } = bar
    const markPrice = markOf(known, nowMs)
    const isMuch = isTooMuch(known, volumeBase * close, nowMs)
    const isStrange =
      isMuch ||
      !isNear(close, markPrice, PRICE_FACTOR_MAX) ||
      high > markPrice * REACH_FACTOR_MAX ||
      low < markPrice / REACH_FACTOR_MAX
    if (!isStrange) return notStrange(known, 'candle')
    return strangeness(known, 'candle', [high, low, close, isMuch ? volumeBase : Number.NaN], nowMs)
  }

  #knownOf(coin: string): Known {
    let known = this.#coins.get(coin)
    if (known === undefined) {
      known = {
        markPrice: new DoubtedFigure(isPriceLike),
        oraclePrice: new DoubtedFigure(isPriceLike),
        midPrice: new DoubtedFigure(isPriceLike),
        impactBid: new DoubtedFigure(isPriceLike),
        impactAsk: new DoubtedFigure(isPriceLike),
        prevDayPrice: new DoubtedFigure(isPriceLike),
        premium: new DoubtedFigure(isPremiumLike),
        fundingRateHourly: new DoubtedFigure(isFundingLike),
        openInterestBase: new DoubtedFigure(isInterestLike),
        dayNotionalUsd: new DoubtedFigure(isTurnoverLike),
        strange: { book: null, candle: null },
        turnoverUsdMax: Number.NaN,
        contextMs: Number.NaN,
      }
      this.#coins.set(coin, known)
    }
    return known
  }
}

/** One figure of a coin: each is believed or doubted by itself, because they are told together and apart. */
class DoubtedFigure {
  readonly #isLike: (one: number, before: number) => boolean
  #value = Number.NaN
  #toldMs = Number.NaN
  #doubted: { readonly value: number; readonly sinceMs: number } | null = null

  constructor(isLike: (one: number, before: number) => boolean) {
    this.#isLike = isLike
  }

  /** As it was believed last; NaN before. */
  get value(): number {
    return this.#value
  }

  get toldMs(): number {
    return this.#toldMs
  }

  /**
   * @param isSound whether it would be believed as the first of all
   * @param isBacked whether others say the same, so that it is believed whatever was told before
   */
  judge(value: number, nowMs: number, isSound = true, isBacked = false): Verdict {
    const doubted = this.#doubted
    const isUsual = Number.isNaN(this.#value) ? isSound : this.#isLike(value, this.#value)
    const isCredible = isBacked || isUsual
    if (!isCredible) {
      const isAgain =
        doubted !== null && this.#isLike(value, doubted.value) && this.#isLike(doubted.value, value)
      if (!isAgain) this.#doubted = { value, sinceMs: nowMs }
      if (!isAgain || nowMs - doubted.sinceMs < DOUBTED_MS) return 'waits'
    }
    this.#value = value
    this.#toldMs = nowMs
    this.#doubted = null
    return isCredible && doubted !== null ? 'refuted' : 'believed'
  }
}

/** As {@link DoubtedFigure.judge}; what was not told is not doubted. */
function judgeIfTold(
  figure: DoubtedFigure,
  value: number | null | undefined,
  nowMs: number,
  isSound?: boolean,
  isBacked?: boolean,
): Verdict {
  return value == null ? 'believed' : figure.judge(value, nowMs, isSound, isBacked)
}

function notStrange({ strange }: Known, by: 'book' | 'candle'): Strangeness {
  if (strange[by] !== null) strange[by] = null
  return 'none'
}

function strangeness(
  { strange }: Known,
  by: 'book' | 'candle',
  figures: readonly number[],
  nowMs: number,
): Strangeness {
  const told = strange[by]
  const isAgain = told?.figures.every((figure, at) =>
    isNear(figures[at] ?? Number.NaN, figure, PRICE_FACTOR_MAX),
  )
  const sinceMs = told !== null && isAgain === true ? told.sinceMs : nowMs
  strange[by] = { figures, sinceMs }
  if (nowMs - sinceMs >= DOUBTED_MS) return 'none'
  return sinceMs === nowMs ? 'new' : 'again'
}

function isTooMuch(known: Known, notionalUsd: number, nowMs: number): boolean {
  if (!(nowMs - known.contextMs <= MEASURE_AGE_MS_MAX)) return false
  const openUsd = known.markPrice.value * known.openInterestBase.value
  const usualUsd = known.turnoverUsdMax + openUsd
  return notionalUsd > Math.max(SIZE_USD_MIN, SIZE_FACTOR_MAX * usualUsd)
}

/** NaN where none is known: then nothing is doubted by it. */
function markOf({ markPrice }: Known, nowMs: number): number {
  return nowMs - markPrice.toldMs <= MEASURE_AGE_MS_MAX ? markPrice.value : Number.NaN
}

/** What comes in one word is believed as a whole. */
function together(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('waits')) return 'waits'
  return verdicts.includes('refuted') ? 'refuted' : 'believed'
}

function isPriceLike(one: number, before: number): boolean {
  return isNear(one, before, PRICE_FACTOR_MAX)
}

/** Somebody may open the first of it; that nobody has anything open any more is another matter. */
function isInterestLike(one: number, before: number): boolean {
  if (one === 0 || before === 0) return before === 0
  return isNear(one, before, INTEREST_FACTOR_MAX)
}

/** A coin that hardly trades turns over many times as much by one trade. */
function isTurnoverLike(one: number, before: number): boolean {
  return isNear(Math.max(one, SIZE_USD_MIN), Math.max(before, SIZE_USD_MIN), INTEREST_FACTOR_MAX)
}

function isFundingLike(one: number, before: number): boolean {
  return Math.abs(one - before) <= FUNDING_STEP_MAX
}

function isPremiumLike(one: number, before: number): boolean {
  return Math.abs(one - before) <= PREMIUM_STEP_MAX
}

/** True as well where one of them is not known. */
function isNear(one: number, other: number, factorMax: number): boolean {
  return !(one > other * factorMax || one < other / factorMax)
}

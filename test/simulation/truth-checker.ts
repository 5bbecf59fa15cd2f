import type { PulseIndicators } from '../../src/compute/indicators/pulse-indicators.ts'
import { orNull, percent, price } from '../../src/compute/render/significance.ts'
import type { Timeframe } from '../../src/domain/timeframe.ts'
import { timeframeMs, timeframes } from '../../src/domain/timeframe.ts'
import { isContextOf, isQuoteOf, isSpreadOf } from './book-truth.ts'
import type { Beginning } from './candle-truth.ts'
import { CandleTruth } from './candle-truth.ts'
import type { FaultLog } from './fault-log.ts'
import type { FaultKind } from './fault-script.ts'
import type { Findings } from './findings.ts'
import type { ObservedMarket, Seen } from './observed-market.ts'
import { REMEMBERED_MS } from './observed-market.ts'
import { AGE_TOLERANCE_MS, AUDIT_MS, CLOSING_MS, noticedWithinMs } from './promises.ts'
import type { Answered } from './reading.ts'
import { statedAgeMs } from './reading.ts'

/** What an answer says about one thing, held against what was true. */
type Verdict =
  /** It was true until that instant; Infinity where it still is. */
  | { readonly kind: 'true'; readonly untilMs: number }
  | { readonly kind: 'wrong'; readonly detail: string }
  /** Older than what the simulation remembers. */
  | { readonly kind: 'unknown' }

type Subject = 'candles' | 'book' | 'context'

/** How long ago frames about it can have gone wrong and still show; candles remember for good. */
const echoMs: Readonly<Record<Subject, number>> = {
  candles: Number.POSITIVE_INFINITY,
  book: 30_000,
  context: 60_000,
}

/** Why an answer may be wrong, or younger by its own word, for a while. */
type Excuse = 'frames lost or bent' | 'a silence not noticed yet' | 'a delay not noticed yet'

/** A bar that closed during a silence is taken back, and told anew, within this time. */
const RETOLD_MS = 10_000

/** A trade within this time of a candle may be in it: the venue tells either one first. */
const TRADE_COVERED_MS = 2_000

/** So often the day's volume has to rise unexplained before it tells of anything. */
const VOLUME_RISES = 3

/** Which of several faults is named, where an age is wrong. */
const suspects: readonly FaultKind[] = [
  'clock-step',
  'sleep',
  'clock-skew',
  'delay-frames',
  'half-open',
  'stall',
  'engine-crash',
  'refuse-connections',
  'drop-connections',
]

/**
 * The promise that matters most: the numbers are right, and no older than they say. Every figure of an
 * answer is looked up among the states that the venue had; none may be of a state that never was, and
 * none of one that was over, by more than a tolerance, when the answer's input was confirmed.
 */
export class TruthChecker {
  readonly #market: ObservedMarket
  readonly #log: FaultLog
  readonly #findings: Findings
  readonly #beginnings: BeginningsOf
  readonly #candles = new Map<string, CandleTruth>()
  /** Subjects of answers that are wrong at present with an excuse, and since when. */
  readonly #wrong = new Map<string, { readonly sinceMs: number; readonly excuse: Excuse }>()

  constructor(options: {
    readonly market: ObservedMarket
    readonly log: FaultLog
    readonly findings: Findings
    readonly beginningsOf: BeginningsOf
  }) {
    this.#market = options.market
    this.#log = options.log
    this.#findings = options.findings
    this.#beginnings = options.beginningsOf
  }

  /** Answers that are wrong at present: `analysis/coin subject`. */
  get wrongNow(): readonly string[] {
    return [...this.#wrong.keys()]
  }

  check(answered: Answered): void {
    if (answered.analysis === 'spread') {
      const seen = this.#market.booksSeen(answered.coin)
      this.#judge(answered, 'book', 'book', ofSeen(answered, 'book', seen, isSpreadOf))
      return
    }
    // What the others say is proven by their own tests; here it is held against its schema alone.
    if (answered.analysis !== 'pulse') return
    const shown = timeframes.filter((timeframe) => answered.body.timeframes?.[timeframe])
    this.#judge(answered, 'candles', `candles_${shown[0]}`, this.#ofCandles(answered, shown))
    const contexts = this.#market.contextsSeen(answered.coin)
    this.#judge(answered, 'context', 'funding', ofSeen(answered, 'funding', contexts, isContextOf))
    if (answered.body.meta.as_of['book'] !== undefined)
      this.#judge(answered, 'book', 'book', this.#ofQuote(answered))
  }

  /** Ends what is still open, for the counts. */
  finish(nowMs: number): void {
    for (const [key, { sinceMs }] of this.#wrong)
      this.#findings.excuse(`wrong to the end: ${subjectOf(key)}`, nowMs - sinceMs)
  }

  forget(coin: string): void {
    for (const key of this.#wrong.keys()) if (key.includes(`/${coin} `)) this.#wrong.delete(key)
  }

  /** A quote is the newer of whole book and best levels. */
  #ofQuote(answered: Answered): Verdict {
    const ofBook = ofSeen(answered, 'book', this.#market.booksSeen(answered.coin), isQuoteOf)
    const ofTop = ofSeen(answered, 'book', this.#market.topsSeen(answered.coin), isQuoteOf)
    if (ofBook.kind !== 'true') return ofTop.kind === 'true' ? ofTop : ofBook
    if (ofTop.kind !== 'true') return ofBook
    return { kind: 'true', untilMs: Math.max(ofBook.untilMs, ofTop.untilMs) }
  }

  #ofCandles(answered: Answered, shown: readonly Timeframe[]): Verdict {
    const { coin, body, trueMs } = answered
    let truth = this.#candles.get(coin)
    if (truth === undefined) {
      truth = new CandleTruth(this.#market, coin)
      this.#candles.set(coin, truth)
    }
    const states = truth.states(trueMs)
    const beginnings = this.#beginnings(coin)
    for (let at = states.length - 1; at >= 0; at -= 1) {
      const state = states[at]
      if (state === undefined) break
      for (const from of beginnings) {
        const isTrue = shown.every((timeframe) => {
          const indicators = truth.indicators(timeframe, state, from)
          const stated = body.timeframes?.[timeframe]?.indicators
          return indicators !== null && stated !== undefined && differs(stated, indicators) === null
        })
        if (isTrue) return { kind: 'true', untilMs: state.untilMs }
      }
    }
    const oldest = states[0]
    const ageMs = statedAgeMs(answered, `candles_${shown[0]}`) ?? 0
    if (oldest !== undefined && trueMs - ageMs - CLOSING_MS < oldest.fromMs)
      return { kind: 'unknown' }
    return { kind: 'wrong', detail: this.#difference(answered, shown, truth) }
  }

  /** What distinguishes the answer from the present truth, for a reader. */
  #difference({ coin, body, trueMs }: Answered, shown: readonly Timeframe[], truth: CandleTruth) {
    const now = truth.states(trueMs).at(-1)
    const from = this.#beginnings(coin).at(-1)
    if (now === undefined || from === undefined) return 'no history was ever asked'
    return shown
      .map((timeframe) => {
        const indicators = truth.indicators(timeframe, now, from)
        const stated = body.timeframes?.[timeframe]?.indicators
        if (indicators === null || stated === undefined) return `${timeframe}: no bars`
        return `${timeframe}: ${differs(stated, indicators) ?? 'as now'}`
      })
      .join('; ')
  }

  #judge(answered: Answered, subject: Subject, input: string, verdict: Verdict): void {
    const ageMs = statedAgeMs(answered, input)
    if (verdict.kind === 'unknown' || ageMs === undefined) return
    const key = `${answered.analysis}/${answered.coin} ${subject}`
    if (verdict.kind === 'wrong') this.#judgeWrong(answered, subject, key, ageMs, verdict.detail)
    else {
      const tooYoungMs = answered.trueMs - ageMs - verdict.untilMs
      const isBarEnd = subject === 'candles' && verdict.untilMs % timeframeMs['15m'] === 0
      const isAged = tooYoungMs <= AGE_TOLERANCE_MS + (isBarEnd ? CLOSING_MS : 0)
      // What is wrong can look, by chance, like something that was.
      if (!isAged && this.#wrong.has(key)) return
      this.#right(key, answered.trueMs)
      if (!isAged) this.#judgeAge(answered, subject, ageMs, tooYoungMs)
    }
  }

  #judgeWrong(
    answered: Answered,
    subject: Subject,
    key: string,
    ageMs: number,
    detail: string,
  ): void {
    const { trueMs, coin, body } = answered
    if (body.meta.warnings.includes('partial_data')) {
      this.#findings.excuse(`wrong, and says so: ${subject}`, 0)
      return
    }
    const sinceMs = this.#wrong.get(key)?.sinceMs ?? trueMs
    const lastsMs = trueMs - sinceMs
    const silenceMs = this.#log.silenceMs(sinceMs - ageMs, trueMs, coin)
    let excuse: Excuse | null = null
    let isExcused = false
    if (this.#log.wasSilent(sinceMs - ageMs - echoMs[subject], trueMs, coin)) {
      excuse = 'frames lost or bent'
      // What is bent again and again has its time from the last time on.
      isExcused = lastsMs < AUDIT_MS || this.#log.wasSilent(trueMs - AUDIT_MS, trueMs, coin)
    } else if (silenceMs !== null) {
      excuse = 'a silence not noticed yet'
      isExcused = lastsMs < silenceMs + RETOLD_MS
    }
    if (excuse !== null) this.#wrong.set(key, { sinceMs, excuse })
    if (isExcused) return
    this.#findings.violation({
      checker: 'numbers',
      atMs: trueMs,
      coin,
      what:
        excuse === null
          ? `${subject} never were so`
          : `${subject} wrong for too long, by ${excuse}`,
      detail: `${answered.analysis}?${answered.view}, ${ageMs} ms old by its own word: ${detail}`,
      during: this.#log.kindsBetween(trueMs - ageMs - 60_000, trueMs, coin),
    })
  }

  #right(key: string, nowMs: number): void {
    const wrong = this.#wrong.get(key)
    if (wrong === undefined) return
    this.#wrong.delete(key)
    const { sinceMs, excuse } = wrong
    this.#findings.excuse(`wrong for a while, by ${excuse}: ${subjectOf(key)}`, nowMs - sinceMs)
  }

  #judgeAge(answered: Answered, subject: Subject, ageMs: number, tooYoungMs: number): void {
    const { trueMs, coin } = answered
    const untilMs = trueMs - ageMs - tooYoungMs
    const excuse = this.#ageExcuse(answered, subject, { tooYoungMs, untilMs, ageMs })
    if (excuse !== null) {
      this.#findings.excuse(`too young, by ${excuse}: ${subject}`, tooYoungMs)
      return
    }
    const during = this.#log.kindsBetween(untilMs - 1_000, trueMs, coin)
    const suspect = suspects.find((kind) => during.includes(kind))
    this.#findings.violation({
      checker: 'ages',
      atMs: trueMs,
      coin,
      what: `${subject} younger by their own word, near ${suspect ?? 'nothing in particular'}`,
      detail:
        `${answered.analysis}?${answered.view}, ${ageMs} ms old by its own word, was over ` +
        `${trueMs - untilMs} ms before it was read`,
      during,
    })
  }

  /**
   * By when a silence has to be noticed in which something was over at an instant; null where nothing tells of it.
   * Candles are missed by a trade that comes too long after the last of them: one right after it may be what that
   * candle told of. Candles and trades together are missed by the day's volume, which has to rise three times.
   */
  #silenceMs({ trueMs, coin }: Answered, subject: Subject, untilMs: number): number | null {
    const silenceMs = this.#log.silenceMs(trueMs, trueMs, coin)
    const { candles, candlesAndTrades } = noticedWithinMs
    if (silenceMs === candlesAndTrades && subject === 'candles')
      return this.#market.trades(coin, untilMs, trueMs).length < VOLUME_RISES ? null : silenceMs
    if (silenceMs !== candles) return silenceMs
    const missed = this.#market.trades(coin, untilMs + TRADE_COVERED_MS, trueMs - candles)
    return missed.length === 0 ? candlesAndTrades : candles
  }

  #ageExcuse(
    answered: Answered,
    subject: Subject,
    {
      tooYoungMs,
      untilMs,
      ageMs,
    }: { readonly tooYoungMs: number; readonly untilMs: number; readonly ageMs: number },
  ): Excuse | null {
    const { trueMs, coin } = answered
    const silenceMs = this.#silenceMs(answered, subject, untilMs)
    if (silenceMs !== null && tooYoungMs <= silenceMs) return 'a silence not noticed yet'
    // What was taken for young when it came keeps that age until something newer comes.
    const unnoticedMs = [trueMs, trueMs - ageMs].map((atMs) => this.#log.unnoticedDelayMs(atMs))
    if (tooYoungMs <= Math.max(...unnoticedMs)) return 'a delay not noticed yet'
    // While it goes on it has to be noticed; what was lost in one that is over, nobody can.
    const isOver = silenceMs === null || !this.#log.isSilentThroughout(untilMs, trueMs, coin)
    const isLost =
      (isOver && this.#log.wasSilent(untilMs - 1_000, trueMs, coin)) ||
      // Nor can it be noticed by a silence in which this was lost on top.
      this.#log.wereFramesLost(untilMs)
    return isLost && tooYoungMs <= AUDIT_MS ? 'frames lost or bent' : null
  }
}

type BeginningsOf = (coin: string) => readonly Beginning[]

function ofSeen<Value>(
  answered: Answered,
  input: string,
  seen: readonly Seen<Value>[],
  isOf: (body: Answered['body'], value: Value) => boolean,
): Verdict {
  for (let at = seen.length - 1; at >= 0; at -= 1) {
    const state = seen[at]
    if (state === undefined || !isOf(answered.body, state.value)) continue
    return { kind: 'true', untilMs: seen[at + 1]?.atMs ?? Number.POSITIVE_INFINITY }
  }
  const ageMs = statedAgeMs(answered, input) ?? 0
  return ageMs > REMEMBERED_MS / 2
    ? { kind: 'unknown' }
    : { kind: 'wrong', detail: JSON.stringify(answered.body).slice(0, 600) }
}

/** @returns the first figure that differs, or null. */
function differs(stated: object, indicators: PulseIndicators): string | null {
  const shown = flat(stated)
  for (const [name, value] of Object.entries(flat(rounded(indicators))))
    if (shown[name] !== value) return `${name} is ${shown[name]}, not ${value}`
  return null
}

/** With the digits that an answer shows. */
function rounded(indicators: PulseIndicators): object {
  const { bollinger } = indicators
  return {
    ema_20: orNull(indicators.ema_20, price),
    ema_50: orNull(indicators.ema_50, price),
    ema_200: orNull(indicators.ema_200, price),
    vwap_20: orNull(indicators.vwap_20, price),
    rsi_14: orNull(indicators.rsi_14, percent),
    rsi_zone: indicators.rsi_zone,
    atr_14: orNull(indicators.atr_14, price),
    atr_pct: orNull(indicators.atr_pct, percent),
    zscore_100: orNull(indicators.zscore_100, percent),
    bollinger: {
      upper: orNull(bollinger.upper, price),
      middle: orNull(bollinger.middle, price),
      lower: orNull(bollinger.lower, price),
      width_pct: orNull(bollinger.width_pct, percent),
      position_pct: orNull(bollinger.position_pct, percent),
    },
    trend: indicators.trend,
  }
}

function flat(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      typeof member === 'object' && member !== null
        ? Object.entries(member).map(([inner, leaf]) => [`${name}.${inner}`, leaf])
        : [[name, member]],
    ),
  )
}

function subjectOf(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1)
}

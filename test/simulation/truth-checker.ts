import { timeframeMs } from '../../src/domain/timeframe.ts'
import type { BeginningsOf, Claim, Subject } from './claims.ts'
import { Claims } from './claims.ts'
import type { FaultLog } from './fault-log.ts'
import type { FaultKind } from './fault-script.ts'
import type { Findings, Judgement } from './findings.ts'
import type { ObservedMarket } from './observed-market.ts'
import {
  AGE_TOLERANCE_MS,
  AUDIT_MS,
  CLOSING_MS,
  noticedWithinMs,
  wrongShareMax,
} from './promises.ts'
import type { Answered } from './reading.ts'

/** How long a wrong frame can affect a subject; candles keep it for good. */
const echoMs: Readonly<Record<Subject, number>> = {
  candles: Number.POSITIVE_INFINITY,
  book: 30_000,
  context: 60_000,
  settlements: 0,
}

/** Time after the last lost or garbled frame in which its errors are corrected. */
const putRightWithinMs: Readonly<Record<Subject, number>> = {
  candles: AUDIT_MS,
  book: 15_000,
  context: 30_000,
  settlements: 0,
}

/** Reason why an answer may be wrong, or state too young an age, for a while. */
type Excuse = 'frames lost or bent' | 'a silence not noticed yet' | 'a delay not noticed yet'

/** A bar that closed during a silence is withdrawn and published again within this time. */
const REPUBLISHED_MS = 10_000

/** A trade within this time of a candle may be part of it; the venue sends them in either order. */
const TRADE_COVERED_MS = 2_000

/** Unexplained rises of the day volume that reveal a loss. */
const VOLUME_RISES = 3

/** Order in which a fault is named for a wrong age. */
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
 * The most important promise: numbers are right and no older than stated. Every figure of an answer is
 * looked up among the states of the venue; it must match a state that existed, and that had not ended, by
 * more than a tolerance, when the answer's input was confirmed.
 */
export class TruthChecker {
  readonly #market: ObservedMarket
  readonly #log: FaultLog
  readonly #findings: Findings
  readonly #claims: Claims
  /** Subjects of answers that are wrong now with an excuse, and since when. */
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
    this.#claims = new Claims(options.market, options.beginningsOf)
  }

  /** Answers that are wrong now: `analysis/coin subject`. */
  get wrongNow(): readonly string[] {
    return [...this.#wrong.keys()]
  }

  check(answered: Answered): void {
    for (const claim of this.#claims.of(answered))
      this.#findings.judged(claim.subject, this.#judge(answered, claim))
  }

  /** Closes open errors for the counts, and reports subjects with too many excuses. */
  finish(nowMs: number): void {
    for (const [subject, { right, wrong }] of Object.entries(this.#findings.held)) {
      const share = wrong / (right + wrong)
      if (share > (wrongShareMax[subject] ?? 0))
        this.#findings.violation({
          checker: 'numbers',
          atMs: nowMs,
          coin: null,
          what: `${subject} were wrong too often, whatever the excuses`,
          detail: `${wrong} of ${right + wrong}`,
          during: [],
        })
    }
    for (const [key, { sinceMs }] of this.#wrong)
      this.#findings.excuse(`wrong to the end: ${subjectOf(key)}`, nowMs - sinceMs)
  }

  forget(coin: string): void {
    for (const key of this.#wrong.keys()) if (key.includes(`/${coin} `)) this.#wrong.delete(key)
  }

  #judge(answered: Answered, claim: Claim): Judgement {
    const { subject, ageMs, verdict } = claim
    if (verdict.kind === 'unknown') return 'unknown'
    const key = `${claim.of}/${answered.coin} ${subject}`
    if (verdict.kind === 'wrong') {
      this.#judgeWrong(answered, claim, key, verdict.detail)
      return 'wrong'
    }
    const tooYoungMs = answered.trueMs - ageMs - verdict.untilMs
    const isBarEnd = subject === 'candles' && verdict.untilMs % timeframeMs['15m'] === 0
    const isAged = tooYoungMs <= AGE_TOLERANCE_MS + (isBarEnd ? CLOSING_MS : 0)
    // A wrong figure can match an earlier state by chance.
    if (!isAged && this.#wrong.has(key)) return 'wrong'
    this.#right(key, answered.trueMs)
    if (isAged) return 'right'
    this.#judgeAge(answered, claim, tooYoungMs)
    return 'wrong'
  }

  #judgeWrong(answered: Answered, { subject, ageMs }: Claim, key: string, detail: string): void {
    const { trueMs, coin } = answered
    const sinceMs = this.#wrong.get(key)?.sinceMs ?? trueMs
    const lastsMs = trueMs - sinceMs
    const silence = this.#log.silence(sinceMs - ageMs, trueMs, coin)
    let excuse: Excuse | null = null
    let isExcused = false
    if (this.#log.mayBeLost(sinceMs - ageMs - echoMs[subject], trueMs, coin)) {
      excuse = 'frames lost or bent'
      // After repeated losses the time counts from the last one; the newest frame is as old as stated.
      const putRightMs = putRightWithinMs[subject]
      const fromMs = trueMs - ageMs - putRightMs
      isExcused = lastsMs < putRightMs || this.#log.mayBeLost(fromMs, trueMs, coin)
    } else if (silence !== null) {
      excuse = 'a silence not noticed yet'
      isExcused = lastsMs < noticedWithinMs[silence] + REPUBLISHED_MS
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

  #judgeAge(answered: Answered, { subject, ageMs }: Claim, tooYoungMs: number): void {
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
   * Time within which a silence that hid the end of a state must be detected; null if it cannot be. Missing candles
   * are detected by a trade long after the last candle; a trade right after it may be part of that candle. Missing
   * candles and trades are detected by three rises of the day volume.
   */
  #silenceMs({ trueMs, coin }: Answered, subject: Subject, untilMs: number): number | null {
    const silence = this.#log.silence(trueMs, trueMs, coin)
    if (silence === null) return null
    const { candles, candlesAndTrades } = noticedWithinMs
    if (silence === 'candlesAndTrades' && subject === 'candles')
      return this.#market.trades(coin, untilMs, trueMs).length < VOLUME_RISES
        ? null
        : candlesAndTrades
    if (silence !== 'candles') return noticedWithinMs[silence]
    const missed = this.#market.trades(coin, untilMs + TRADE_COVERED_MS, trueMs - candles)
    // A trade whose own frame was lost reveals nothing.
    const isRevealed = missed.some(({ timeMs }) => !this.#log.wereFramesLost(timeMs))
    return isRevealed ? candles : candlesAndTrades
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
    // Data that was dated too young on arrival keeps that age until newer data arrives.
    const unnoticedMs = [trueMs, trueMs - ageMs].map((atMs) => this.#log.unnoticedDelayMs(atMs))
    if (tooYoungMs <= Math.max(...unnoticedMs)) return 'a delay not noticed yet'
    // A continuing silence must be detected; losses in a silence that is over cannot be.
    const isOver = silenceMs === null || !this.#log.isSilentThroughout(untilMs, trueMs, coin)
    const isLost =
      (isOver && this.#log.mayBeLost(untilMs - 1_000, trueMs, coin)) ||
      // Nor can frames that were also lost otherwise, or in another silence that is over.
      this.#log.wasLost(untilMs, coin, trueMs)
    return isLost && tooYoungMs <= AUDIT_MS ? 'frames lost or bent' : null
  }
}

function subjectOf(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1)
}

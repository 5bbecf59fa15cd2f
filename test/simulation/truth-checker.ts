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

/** How long ago frames about it can have gone wrong and still show; candles remember for good. */
const echoMs: Readonly<Record<Subject, number>> = {
  candles: Number.POSITIVE_INFINITY,
  book: 30_000,
  context: 60_000,
  settlements: 0,
}

/** Within this time after the last frame that was lost or bent, what it made wrong is right again. */
const putRightWithinMs: Readonly<Record<Subject, number>> = {
  candles: AUDIT_MS,
  book: 15_000,
  context: 30_000,
  settlements: 0,
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
  readonly #claims: Claims
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
    this.#claims = new Claims(options.market, options.beginningsOf)
  }

  /** Answers that are wrong at present: `analysis/coin subject`. */
  get wrongNow(): readonly string[] {
    return [...this.#wrong.keys()]
  }

  check(answered: Answered): void {
    for (const claim of this.#claims.of(answered))
      this.#findings.judged(claim.subject, this.#judge(answered, claim))
  }

  /** Ends what is still open, for the counts; and says where excuses were the rule. */
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
    // What is wrong can look, by chance, like something that was.
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
      // What is bent again and again has its time from the last time on, and what came last is as old as it says.
      const putRightMs = putRightWithinMs[subject]
      const fromMs = trueMs - ageMs - putRightMs
      isExcused = lastsMs < putRightMs || this.#log.mayBeLost(fromMs, trueMs, coin)
    } else if (silence !== null) {
      excuse = 'a silence not noticed yet'
      isExcused = lastsMs < noticedWithinMs[silence] + RETOLD_MS
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
   * By when a silence has to be noticed in which something was over at an instant; null where nothing tells of it.
   * Candles are missed by a trade that comes too long after the last of them: one right after it may be what that
   * candle told of. Candles and trades together are missed by the day's volume, which has to rise three times.
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
    // What was not told itself tells of nothing.
    const isTold = missed.some(({ timeMs }) => !this.#log.wereFramesLost(timeMs))
    return isTold ? candles : candlesAndTrades
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
      (isOver && this.#log.mayBeLost(untilMs - 1_000, trueMs, coin)) ||
      // Nor can it be noticed by a silence in which this was lost on top, or in another one that is over.
      this.#log.wasLost(untilMs, coin, trueMs)
    return isLost && tooYoungMs <= AUDIT_MS ? 'frames lost or bent' : null
  }
}

function subjectOf(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1)
}

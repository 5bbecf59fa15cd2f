import { TokenBucket } from '../../token-bucket.ts'

/** What we plan with; the venue allows 1,200 a minute and address. */
export const WEIGHT_PER_MINUTE_DEFAULT = 1_000

/**
 * What can be spent at once, as a share of a minute's plan: 1,000 + 60 + the largest late debit (84, of
 * 5,000 bars) leave room below 1,200 in any minute for two engines that begin anew.
 */
const BURST_SHARE = 0.06
const BURST_WEIGHT_MIN = 60

/** One request: an engine that is started anew does not know what the one before has used. */
const INITIAL_WEIGHT = 20

const PAUSE_MS_MIN = 10_000
const PAUSE_MS_MAX = 60_000

/** What one account's positions cost, whatever it holds; every other request of ours costs more. */
export const ACCOUNT_WEIGHT = 2
/** Of what we plan with, for the positions of accounts: 60 of 1,000 a minute, 300 accounts in ten. */
export const ACCOUNTS_SHARE = 0.06

/** What each followed coin costs all the time: one `fundingHistory` an hour. */
const COIN_WEIGHT_PER_MINUTE = 20 / 60
/** Of what we plan with, for that; the rest is for lists, audits, accounts and the history of what is new. */
const COINS_SHARE = 0.5

/** How many coins can be followed with this weight, whatever the venue's other limits are. */
export function coinsByWeight(weightPerMinute: number): number {
  return Math.floor((COINS_SHARE * weightPerMinute) / COIN_WEIGHT_PER_MINUTE)
}

/** Candles of a reply that cost one further weight. */
const CANDLES_PER_WEIGHT = 60
const FUNDINGS_PER_WEIGHT = 20

/** What the venue answers at most. Whoever says more has not charged us for it. */
const CANDLES_MAX = 5_000
const FUNDINGS_MAX = 500

/** What the reply to a `candleSnapshot` costs on top of its request, known only once it has arrived. */
export function candlesWeight(body: string): number {
  return Math.floor(Math.min(CANDLES_MAX, countOf('"t":', body)) / CANDLES_PER_WEIGHT)
}

/** The same of `fundingHistory`. */
export function fundingsWeight(body: string): number {
  return Math.floor(Math.min(FUNDINGS_MAX, countOf('"time":', body)) / FUNDINGS_PER_WEIGHT)
}

function countOf(text: string, body: string): number {
  return body.split(text).length - 1
}

/**
 * The REST weight that we may spend at the venue. Requests that are paid for late, by the rows of their reply, are made
 * one after the other: the debit of several at once could pass the limit. Those that cost the same whatever is
 * answered may be on their way beside them.
 */
export class WeightBudget {
  readonly #bucket: TokenBucket
  #pausedUntilMs = 0

  constructor(perMinute: number, nowMs: number) {
    const capacity = Math.max(BURST_WEIGHT_MIN, perMinute * BURST_SHARE)
    this.#bucket = new TokenBucket({ capacity, perMinute, initial: INITIAL_WEIGHT }, nowMs)
  }

  /** @returns 0 when the weight was taken, else the milliseconds after which to ask again. */
  take(weight: number, nowMs: number): number {
    if (nowMs < this.#pausedUntilMs) return this.#pausedUntilMs - nowMs
    return this.#bucket.take(weight, nowMs)
  }

  debit(weight: number, nowMs: number): void {
    this.#bucket.debit(weight, nowMs)
  }

  /**
   * The venue said 429: nothing is taken for a while.
   * @param chance uniform in [0, 1), so that several addresses do not return in step
   * @returns the length of the pause in milliseconds
   */
  pause(nowMs: number, chance: number): number {
    const pauseMs = PAUSE_MS_MIN + chance * (PAUSE_MS_MAX - PAUSE_MS_MIN)
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs)
    return pauseMs
  }
}

import { TokenBucket } from '../../token-bucket.ts'
import { FILLS_MAX } from '../wire/liquidation-fills.ts'

/** Planned REST weight; the venue allows 1,200 per minute and IP address. */
export const WEIGHT_PER_MINUTE_DEFAULT = 1_000

/**
 * Burst as a share of a minute: 1,000 + 60 + the largest late debit (84, for 5,000 bars) leave room below 1,200 for two
 * restarts of the engine in any minute.
 */
const BURST_SHARE = 0.06
const BURST_WEIGHT_MIN = 60

/** One request: a restarted engine does not know what its predecessor used. */
const INITIAL_WEIGHT = 20

const PAUSE_MS_MIN = 10_000
const PAUSE_MS_MAX = 60_000

/** Weight of `clearinghouseState`. */
export const ACCOUNT_WEIGHT = 2
/** Share for positions of accounts: 60 of 1,000 per minute, 300 accounts in ten minutes. */
export const ACCOUNTS_SHARE = 0.06

/** Share for fills that may contain liquidations: 4 requests a minute of 1,000. */
export const LIQUIDATIONS_SHARE = 0.1

/** Each followed coin needs one `fundingHistory` per hour. */
const COIN_WEIGHT_PER_MINUTE = 20 / 60
/** Share for that; the remainder is for universes, audits, accounts and new history. */
const COINS_SHARE = 0.5

/** The number of coins that this weight permits. */
export function coinsByWeight(weightPerMinute: number): number {
  return Math.floor((COINS_SHARE * weightPerMinute) / COIN_WEIGHT_PER_MINUTE)
}

/** Rows of a reply per additional weight. */
const CANDLES_PER_WEIGHT = 60
const FUNDINGS_PER_WEIGHT = 20
const FILLS_PER_WEIGHT = 20

/** The venue's limits of rows per reply. */
const CANDLES_MAX = 5_000
const FUNDINGS_MAX = 500

/** The additional weight of a reply to `candleSnapshot`, known when it arrives. */
export function candlesWeight(body: string): number {
  return Math.floor(Math.min(CANDLES_MAX, countOf('"t":', body)) / CANDLES_PER_WEIGHT)
}

/** The additional weight of a reply to `fundingHistory`. */
export function fundingsWeight(body: string): number {
  return Math.floor(Math.min(FUNDINGS_MAX, countOf('"time":', body)) / FUNDINGS_PER_WEIGHT)
}

/** The additional weight of a reply to `userFillsByTime`. */
export function fillsWeight(body: string): number {
  return Math.floor(Math.min(FILLS_MAX, countOf('"tid":', body)) / FILLS_PER_WEIGHT)
}

function countOf(text: string, body: string): number {
  return body.split(text).length - 1
}

/**
 * The REST weight budget. Requests whose weight depends on the reply are made one at a time: several late debits at once
 * could exceed the limit. Requests of fixed weight may overlap them.
 */
export class WeightBudget {
  readonly #bucket: TokenBucket
  #pausedUntilMs = 0

  constructor(perMinute: number, nowMs: number) {
    const capacity = Math.max(BURST_WEIGHT_MIN, perMinute * BURST_SHARE)
    this.#bucket = new TokenBucket({ capacity, perMinute, initial: INITIAL_WEIGHT }, nowMs)
  }

  /** @returns 0 if the weight was taken, otherwise the milliseconds until the next attempt */
  take(weight: number, nowMs: number): number {
    if (nowMs < this.#pausedUntilMs) return this.#pausedUntilMs - nowMs
    return this.#bucket.take(weight, nowMs)
  }

  debit(weight: number, nowMs: number): void {
    this.#bucket.debit(weight, nowMs)
  }

  /**
   * The venue answered 429: no request for a while.
   * @param chance uniform in [0, 1): jitter
   * @returns the length of the pause in milliseconds
   */
  pause(nowMs: number, chance: number): number {
    const pauseMs = PAUSE_MS_MIN + chance * (PAUSE_MS_MAX - PAUSE_MS_MIN)
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs)
    return pauseMs
  }
}

import { coinSubscriptions } from '../wire/subscription.ts'

/** The venue drops whoever subscribes an unknown name 0.1 to 0.2 s later; this is well beyond. */
const SURVIVAL_MS = 500
const ANSWER_MS_MAX = 10_000
const RETRY_MS_MIN = 60_000
const RETRY_MS_MAX = 3_600_000
/** When the venue was not to be had at all, which says nothing about the coin: the first time, then twice this, ... */
const UNTRIED_RETRY_MS_MIN = 5_000
const UNTRIED_RETRY_MS_MAX = 60_000

type Entry = { dueMs: number; failures: number; untried: number }

/**
 * Coins that were being subscribed when the venue dropped the connection. One of them may be a name
 * that its metadata lists and its websocket does not know; a single such name would end the
 * subscriptions of all others again and again. So they are tried one by one, on a socket of their own.
 */
export class Quarantine {
  readonly #coins = new Map<string, Entry>()

  add(coins: readonly string[], nowMs: number): void {
    for (const coin of coins)
      if (!this.#coins.has(coin)) this.#coins.set(coin, { dueMs: nowMs, failures: 0, untried: 0 })
  }

  has(coin: string): boolean {
    return this.#coins.has(coin)
  }

  /** Forgets what is not followed any more. */
  keep(isFollowed: (coin: string) => boolean): void {
    for (const coin of this.#coins.keys()) if (!isFollowed(coin)) this.#coins.delete(coin)
  }

  /** The next coin to be tried, if one is due. */
  next(nowMs: number): string | undefined {
    for (const [coin, { dueMs }] of this.#coins) if (dueMs <= nowMs) return coin
    return undefined
  }

  accepted(coin: string): void {
    this.#coins.delete(coin)
  }

  /** There was no connection to try anybody on: whoever is due waits, and longer every time. */
  untried(nowMs: number): void {
    for (const [coin, { dueMs }] of this.#coins)
      if (dueMs <= nowMs) this.refused(coin, false, nowMs)
  }

  /** @param isEvidence false where the venue dropped every connection, and not only this one, or said nothing */
  refused(coin: string, isEvidence: boolean, nowMs: number): void {
    const entry = this.#coins.get(coin)
    if (entry === undefined) return
    if (!isEvidence) {
      const waitMs = UNTRIED_RETRY_MS_MIN * 2 ** Math.min(entry.untried, 10)
      entry.dueMs = nowMs + Math.min(UNTRIED_RETRY_MS_MAX, waitMs)
      entry.untried += 1
      return
    }
    entry.dueMs = nowMs + Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(entry.failures, 10))
    entry.failures += 1
  }
}

/** What the socket for trying coins has said and heard: one coin at a time. */
export class Probe {
  readonly #quarantine: Quarantine
  #trial: { readonly coin: string; readonly sentMs: number; answeredMs: number } | null = null

  constructor(quarantine: Quarantine) {
    this.#quarantine = quarantine
  }

  /** The coin that is being tried. */
  get coin(): string | null {
    return this.#trial?.coin ?? null
  }

  acknowledged(channel: string, coin: string | null, nowMs: number): void {
    // The one that is subscribed last: the others were taken before.
    if (this.#trial !== null && channel === 'l2Book' && coin === this.#trial.coin)
      this.#trial.answeredMs = nowMs
  }

  /** How it stands with the present coin; null while there is none. */
  state(nowMs: number): 'waits' | 'accepted' | 'unanswered' | null {
    if (this.#trial === null) return null
    const { sentMs, answeredMs } = this.#trial
    if (nowMs - answeredMs >= SURVIVAL_MS) return 'accepted'
    return Number.isNaN(answeredMs) && nowMs - sentMs >= ANSWER_MS_MAX ? 'unanswered' : 'waits'
  }

  /** Frames that end the trial of a coin. */
  end(): readonly string[] {
    const frames = this.#trial === null ? [] : framesOf('unsubscribe', this.#trial.coin)
    this.#trial = null
    return frames
  }

  /** Frames that begin the trial of the next coin; none while none is due. */
  begin(nowMs: number): readonly string[] {
    const coin = this.#quarantine.next(nowMs)
    if (coin === undefined) return []
    this.#trial = { coin, sentMs: nowMs, answeredMs: Number.NaN }
    return framesOf('subscribe', coin)
  }
}

function framesOf(method: 'subscribe' | 'unsubscribe', coin: string): readonly string[] {
  return coinSubscriptions(coin).map((subscription) => JSON.stringify({ method, subscription }))
}

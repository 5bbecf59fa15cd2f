import type { VenueChannel } from '../wire/channels.ts'
import { venueChannels } from '../wire/channels.ts'
import { coinSubscriptions } from '../wire/subscription.ts'
import { isForEveryCoin } from './subscription-plan.ts'

/** The venue closes a socket 0.1 to 0.2 s after the subscription of an unknown name. */
const SURVIVAL_MS = 500
const ANSWER_MS_MAX = 10_000
const RETRY_MS_MIN = 60_000
const RETRY_MS_MAX = 3_600_000
/** After a failed connection, which says nothing about the coin. */
const UNTRIED_RETRY_MS_MIN = 5_000
const UNTRIED_RETRY_MS_MAX = 60_000

type Entry = { dueMs: number; failures: number; untried: number }

/**
 * Coins whose subscription was sent just before the venue closed the connection. One of them may be listed and unknown to
 * the WebSocket server, which would end the subscriptions of all others again and again. They are probed one by one.
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

  /** Removes coins that are no longer followed. */
  keep(isFollowed: (coin: string) => boolean): void {
    for (const coin of this.#coins.keys()) if (!isFollowed(coin)) this.#coins.delete(coin)
  }

  /** The next coin that is due. */
  next(nowMs: number): string | undefined {
    for (const [coin, { dueMs }] of this.#coins) if (dueMs <= nowMs) return coin
    return undefined
  }

  accepted(coin: string): void {
    this.#coins.delete(coin)
  }

  /** No connection was available: all due coins wait, longer each time. */
  untried(nowMs: number): void {
    for (const [coin, { dueMs }] of this.#coins)
      if (dueMs <= nowMs) this.refused(coin, false, nowMs)
  }

  /** @param isEvidence false if the venue closed all connections, or did not answer */
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

/** The state of the probing connection: one coin at a time. */
export class Probe {
  readonly #quarantine: Quarantine
  readonly #channels: readonly VenueChannel[]
  #trial: { readonly coin: string; readonly sentMs: number; answeredMs: number } | null = null

  constructor(quarantine: Quarantine, channels: readonly VenueChannel[] = venueChannels) {
    this.#quarantine = quarantine
    this.#channels = channels.filter(isForEveryCoin)
  }

  get coin(): string | null {
    return this.#trial?.coin ?? null
  }

  acknowledged(channel: string, coin: string | null, nowMs: number): void {
    const isLast = channel === this.#channels.at(-1)?.name
    if (this.#trial !== null && isLast && coin === this.#trial.coin) this.#trial.answeredMs = nowMs
  }

  /** The state of the present trial; null without one. */
  state(nowMs: number): 'waits' | 'accepted' | 'unanswered' | null {
    if (this.#trial === null) return null
    const { sentMs, answeredMs } = this.#trial
    if (nowMs - answeredMs >= SURVIVAL_MS) return 'accepted'
    return Number.isNaN(answeredMs) && nowMs - sentMs >= ANSWER_MS_MAX ? 'unanswered' : 'waits'
  }

  /** Ends the trial. @returns its unsubscriptions */
  end(): readonly string[] {
    const frames = this.#trial === null ? [] : this.#frames('unsubscribe', this.#trial.coin)
    this.#trial = null
    return frames
  }

  /** Begins the trial of the next due coin. @returns its subscriptions */
  begin(nowMs: number): readonly string[] {
    const coin = this.#quarantine.next(nowMs)
    if (coin === undefined) return []
    this.#trial = { coin, sentMs: nowMs, answeredMs: Number.NaN }
    return this.#frames('subscribe', coin)
  }

  #frames(method: 'subscribe' | 'unsubscribe', coin: string): readonly string[] {
    return coinSubscriptions(coin, this.#channels).map((subscription) =>
      JSON.stringify({ method, subscription }),
    )
  }
}

import type { RateLimiterRes } from 'rate-limiter-flexible'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import type { Clock } from '../domain/clock.ts'
import type { LimitPolicy, RateAllowance, RateLimit, RateLimits } from './rate-limit.ts'
import { allowance, consumed, limitPolicy, remaining, WINDOW_SECONDS } from './rate-limit.ts'
import { withTimeout } from './with-timeout.ts'

/** The part of a client of `@redis/client` that counts. */
type CountClient = {
  readonly isReady: boolean
  eval(
    script: string,
    options: { readonly keys: string[]; readonly arguments: string[] },
  ): Promise<unknown>
}

export type SharedRateLimitsOptions = { readonly client: CountClient; readonly clock: Clock }

/** Longest wait of a call for the broker. Above the delay of this process in a flood, which is no sign of the broker. */
const WAIT_MS_MAX = 500
/** After a failed wait no call waits for this long. */
const AWAY_MS = 1_000
/** Counts on their way to the broker that no call waits for. Calls beyond them are counted here only. */
const UNCONFIRMED_MAX = 1_000

/**
 * Limits that several gateways count together in a Valkey or Redis server. While it is away each gateway limits by what
 * it knows; if it loses its data a new window begins.
 */
export function sharedRateLimits(options: SharedRateLimitsOptions): RateLimits {
  const counts = new Counts(options)
  return (name, perMinute, shareWithoutWait = 0) =>
    new SharedRateLimit(name, perMinute, perMinute * shareWithoutWait, counts)
}

/** The counts in the broker, with bounded waits. */
class Counts {
  readonly client: CountClient
  readonly #clock: Clock
  #awayUntilMs = 0
  #unconfirmed = 0

  constructor({ client, clock }: SharedRateLimitsOptions) {
    this.client = client
    this.#clock = clock
  }

  get isAway(): boolean {
    return !this.client.isReady || this.#clock.nowMs() < this.#awayUntilMs
  }

  /** @returns null if the broker is away or does not answer in time */
  async ask<Reply>(count: () => Promise<Reply>): Promise<Reply | null> {
    if (this.isAway) return null
    const reply = await withTimeout(this.#clock, WAIT_MS_MAX, count().catch(nothing), null)
    if (reply === null) this.#awayUntilMs = this.#clock.nowMs() + AWAY_MS
    return reply
  }

  /** As `ask`, for a count that no call waits for. */
  async report<Reply>(count: () => Promise<Reply>): Promise<Reply | null> {
    if (this.#unconfirmed >= UNCONFIRMED_MAX) return null
    this.#unconfirmed += 1
    const reply = await this.ask(count)
    this.#unconfirmed -= 1
    return reply
  }
}

class SharedRateLimit implements RateLimit {
  readonly headers: LimitPolicy['headers']
  readonly #perMinute: number
  /** Calls that do not wait, as counted here. */
  readonly #withoutWait: number
  readonly #counts: Counts
  readonly #shared: RateLimiterRedis
  /** Newest known counts: those of the broker with the unconfirmed ones. It decides while the broker is away. */
  readonly #known: RateLimiterMemory
  /** Calls by key on their way to the broker. */
  readonly #unconfirmed = new Map<string, number>()
  /** Calls by key that the next report counts; present while a report of the key is on its way. */
  readonly #unreported = new Map<string, number>()

  constructor(name: string, perMinute: number, withoutWait: number, counts: Counts) {
    const limits = {
      points: perMinute,
      duration: WINDOW_SECONDS,
      keyPrefix: `perpscope:rate:${name}`,
    }
    this.headers = limitPolicy(name, perMinute).headers
    this.#perMinute = perMinute
    this.#withoutWait = withoutWait
    this.#counts = counts
    this.#known = new RateLimiterMemory(limits)
    this.#shared = new RateLimiterRedis({
      ...limits,
      storeClient: counts.client,
      useRedisPackage: true,
    })
  }

  async take(key: string): Promise<RateAllowance> {
    // Counted here before anything is awaited, so that calls at once see each other.
    this.#addUnconfirmed(key, 1)
    const here = await consumed(this.#known, key)
    if (here.consumedPoints > this.#perMinute) this.#addUnconfirmed(key, -1)
    else if (here.consumedPoints <= this.#withoutWait) void this.#report(key)
    else {
      const shared = await this.#confirmed(key, 1, (count) => this.#counts.ask(count))
      if (shared !== null) return allowance(shared, this.#perMinute)
    }
    return allowance(here, this.#perMinute)
  }

  /** By the counts of other gateways as of the last count here: a call that only looks never waits. */
  async peek(key: string): Promise<RateAllowance> {
    return remaining(await this.#known.get(key), this.#perMinute)
  }

  async giveBack(key: string): Promise<void> {
    const state = await this.#known.get(key)
    if (state === null || state.consumedPoints <= 0) return
    await this.#known.reward(key)
    void this.#counts.report(() => this.#shared.reward(key))
  }

  /**
   * Counts a call that does not wait. Those that come during a report are counted together by the next one, so that a
   * busy key costs one round trip for many calls.
   */
  async #report(key: string): Promise<void> {
    const unreported = this.#unreported.get(key)
    this.#unreported.set(key, (unreported ?? 0) + 1)
    if (unreported !== undefined) return
    while ((this.#unreported.get(key) ?? 0) > 0)
      await this.#confirmed(key, 0, (count) => this.#counts.report(count))
    this.#unreported.delete(key)
  }

  /**
   * Counts calls in the broker, after those that are not reported yet, and learns the count of all gateways.
   * @returns null without an answer
   */
  async #confirmed(
    key: string,
    waiting: number,
    ask: (count: () => Promise<RateLimiterRes>) => Promise<RateLimiterRes | null>,
  ): Promise<RateLimiterRes | null> {
    const unreported = this.#unreported.get(key)
    if (unreported !== undefined) this.#unreported.set(key, 0)
    const calls = waiting + (unreported ?? 0)
    const state = await ask(() => consumed(this.#shared, key, calls))
    this.#addUnconfirmed(key, -calls)
    if (state === null) return null
    const count = state.consumedPoints + (this.#unconfirmed.get(key) ?? 0)
    await this.#known.set(key, count, Math.max(1, state.msBeforeNext) / 1_000)
    return state
  }

  #addUnconfirmed(key: string, calls: number): void {
    const count = (this.#unconfirmed.get(key) ?? 0) + calls
    if (count === 0) this.#unconfirmed.delete(key)
    else this.#unconfirmed.set(key, count)
  }
}

function nothing(): null {
  return null
}

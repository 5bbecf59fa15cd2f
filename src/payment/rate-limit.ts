import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** State of a caller within a limit. */
export type RateAllowance = {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetSeconds: number
}

/** Response headers of a limit. */
export type LimitPolicy = {
  headers(allowance: RateAllowance): Readonly<Record<string, string>>
}

export const WINDOW_SECONDS = 60

/** `RateLimit` and `RateLimit-Policy` as structured fields. */
export function limitPolicy(name: string, perMinute: number): LimitPolicy {
  return {
    headers: ({ remaining, resetSeconds }) => ({
      'ratelimit-policy': `"${name}";q=${perMinute};w=${WINDOW_SECONDS}`,
      ratelimit: `"${name}";r=${remaining};t=${resetSeconds}`,
    }),
  }
}

/** Calls per minute and key. */
export interface RateLimit extends LimitPolicy {
  /** Counts one call. */
  take(key: string): Promise<RateAllowance>
  /** Reads without counting. */
  peek(key: string): Promise<RateAllowance>
  /** Undoes one counted call of the current window. */
  giveBack(key: string): Promise<void>
}

/**
 * Opens the limit with this name; gateways that share their counts share those of equal names.
 * @param shareWithoutWait share of the limit, as used by all gateways, below which a call does not wait for a shared
 * count; 0 by default. Gateways together can allow more by this share for each gateway after the first.
 */
export type RateLimits = (name: string, perMinute: number, shareWithoutWait?: number) => RateLimit

/** Limits that are counted in this process. */
export const localRateLimits: RateLimits = (name, perMinute) => new LocalRateLimit(name, perMinute)

class LocalRateLimit implements RateLimit {
  readonly #limiter: RateLimiterMemory
  readonly #perMinute: number
  readonly headers: LimitPolicy['headers']

  constructor(name: string, perMinute: number) {
    this.headers = limitPolicy(name, perMinute).headers
    this.#perMinute = perMinute
    this.#limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  }

  async take(key: string): Promise<RateAllowance> {
    return allowance(await consumed(this.#limiter, key), this.#perMinute)
  }

  async peek(key: string): Promise<RateAllowance> {
    return remaining(await this.#limiter.get(key), this.#perMinute)
  }

  async giveBack(key: string): Promise<void> {
    const state = await this.#limiter.get(key)
    if (state !== null && state.consumedPoints > 0) await this.#limiter.reward(key)
  }
}

/** Counts calls. @returns the state with them, also above the limit */
export async function consumed(
  limiter: RateLimiterAbstract,
  key: string,
  calls = 1,
): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, calls)
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal
    throw refusal
  }
}

/** @param state with the call that asks */
export function allowance(state: RateLimiterRes, perMinute: number): RateAllowance {
  return {
    allowed: state.consumedPoints <= perMinute,
    remaining: Math.max(0, perMinute - state.consumedPoints),
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1_000)),
  }
}

/** Whether another call is allowed. @param state null without a call in this window */
export function remaining(state: RateLimiterRes | null, perMinute: number): RateAllowance {
  if (state === null) return { allowed: true, remaining: perMinute, resetSeconds: WINDOW_SECONDS }
  return { ...allowance(state, perMinute), allowed: state.consumedPoints < perMinute }
}

/** Limits count IPv6 addresses by their /64, because one household owns all addresses of it. */
export function callerKey(ip: string): string {
  if (!ip.includes(':') || ip.startsWith('::ffff:')) return ip
  const [head = '', tail = ''] = ip.split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = tail.split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  const groups = ip.includes('::') ? [...left, ...zeros, ...right] : left
  return groups.slice(0, 4).join(':')
}

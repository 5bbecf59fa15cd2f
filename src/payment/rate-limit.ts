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

/** Calls per minute and key, counted in this process. */
export class RateLimit implements LimitPolicy {
  readonly #limiter: RateLimiterMemory
  readonly #policy: LimitPolicy
  readonly #perMinute: number

  constructor(name: string, perMinute: number) {
    this.#policy = limitPolicy(name, perMinute)
    this.#perMinute = perMinute
    this.#limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  }

  /** Counts one call. */
  async take(key: string): Promise<RateAllowance> {
    try {
      return allowance(await this.#limiter.consume(key), true)
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return allowance(refusal, false)
      throw refusal
    }
  }

  /** Reads without counting. */
  async peek(key: string): Promise<RateAllowance> {
    const state = await this.#limiter.get(key)
    return state === null
      ? { allowed: true, remaining: this.#perMinute, resetSeconds: WINDOW_SECONDS }
      : allowance(state, state.remainingPoints > 0)
  }

  /** Undoes one counted call of the current window. */
  async giveBack(key: string): Promise<void> {
    const state = await this.#limiter.get(key)
    if (state !== null && state.consumedPoints > 0) await this.#limiter.reward(key)
  }

  headers(allowance: RateAllowance): Readonly<Record<string, string>> {
    return this.#policy.headers(allowance)
  }
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

function allowance(state: RateLimiterRes, allowed: boolean): RateAllowance {
  return {
    allowed,
    remaining: Math.max(0, state.remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1_000)),
  }
}

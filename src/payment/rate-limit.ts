import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** Where a caller stands with a limit. */
export type Allowance = {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetSeconds: number
}

const WINDOW_SECONDS = 60

/** So many calls a minute and key, counted in this process. Keys are forgotten with their window. */
export class RateLimit {
  readonly #limiter: RateLimiterMemory
  readonly #policy: string
  readonly #perMinute: number

  constructor(policy: string, perMinute: number) {
    this.#policy = policy
    this.#perMinute = perMinute
    this.#limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  }

  /** Counts one call. */
  async take(key: string): Promise<Allowance> {
    try {
      return allowance(await this.#limiter.consume(key), true)
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return allowance(refusal, false)
      throw refusal
    }
  }

  /** Looks without counting. */
  async peek(key: string): Promise<Allowance> {
    const state = await this.#limiter.get(key)
    return state === null
      ? { allowed: true, remaining: this.#perMinute, resetSeconds: WINDOW_SECONDS }
      : allowance(state, state.remainingPoints > 0)
  }

  /** `RateLimit` and `RateLimit-Policy` as structured fields. */
  headers({ remaining, resetSeconds }: Allowance): Readonly<Record<string, string>> {
    return {
      'ratelimit-policy': `"${this.#policy}";q=${this.#perMinute};w=${WINDOW_SECONDS}`,
      ratelimit: `"${this.#policy}";r=${remaining};t=${resetSeconds}`,
    }
  }
}

/** One household, not one address, has an IPv6 /64: counting addresses there would limit nobody. */
export function callerKey(ip: string): string {
  if (!ip.includes(':') || ip.startsWith('::ffff:')) return ip
  const [head = '', tail = ''] = ip.split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = tail.split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  const groups = ip.includes('::') ? [...left, ...zeros, ...right] : left
  return groups.slice(0, 4).join(':')
}

function allowance(state: RateLimiterRes, allowed: boolean): Allowance {
  return {
    allowed,
    remaining: Math.max(0, state.remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1_000)),
  }
}

import { PerpscopeClient, UnpayableError } from '../../client/client.ts'
import type { PaymentPayload, PaymentRequired } from '../../client/x402.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { CheckResult } from './check-window.ts'
import type { Times } from './free-checks.ts'
import { ageOf } from './free-checks.ts'

const DAY_MS = 86_400_000

type Purchases = {
  readonly url: string
  readonly path: string
  /** Highest sum of one day, USDC. */
  readonly budgetUsd: number
  readonly payees: readonly string[] | undefined
  readonly pay: (quote: PaymentRequired) => Promise<PaymentPayload>
}

/** A service that never answers must not hold up the other checks. */
const CALL_MS_MAX = 30_000

/** Buys one path again and again, for at most the budget of each day in UTC. */
export class PurchaseChecks {
  readonly #purchases: Purchases
  readonly #times: Times
  #day = Number.NaN
  #client: PerpscopeClient | null = null
  #payees: readonly string[] | undefined
  /** Of the last purchase, USDC: the next one is expected to cost as much. */
  #priceUsd = 0
  /** Amount of the last signed payment, USDC. The amount spent may not change: a payment is re-sent or released. */
  #signedUsd = 0
  #spentBefore = 0

  constructor(purchases: Purchases, times: Times) {
    this.#purchases = purchases
    this.#payees = purchases.payees
    this.#times = times
  }

  /** Spent since the start, USDC; signed payments included that may still be charged. */
  get spentUsd(): number {
    return this.#spentBefore + (this.#client?.spentUsd ?? 0)
  }

  async check(): Promise<CheckResult> {
    const { path, budgetUsd } = this.#purchases
    const { nowMs, monotonicMs } = this.#times
    const atMs = nowMs()
    const client = this.#clientOf(Math.floor(atMs / DAY_MS))
    if (client.spentUsd + this.#priceUsd > budgetUsd + 1e-9)
      return {
        ...{ check: 'buy', atMs, latencyMs: null, ageSeconds: null, outcome: 'skipped' },
        reason: 'the budget of the day is used',
      }
    const beganMs = monotonicMs()
    try {
      const { answer, receipt } = await client.call(path)
      const latencyMs = monotonicMs() - beganMs
      const of = { check: 'buy', atMs, latencyMs, ageSeconds: ageOf(answer) } as const
      if (receipt === null)
        return {
          ...of,
          outcome: 'failed',
          reason: 'answered without a payment: nothing is sold there',
        }
      this.#priceUsd = this.#signedUsd
      return { ...of, outcome: 'ok', reason: null }
    } catch (cause) {
      const latencyMs = cause instanceof UnpayableError ? null : monotonicMs() - beganMs
      return {
        ...{ check: 'buy', atMs, outcome: 'failed', latencyMs, ageSeconds: null },
        reason: reasonOf(cause),
      }
    }
  }

  /** One client per day, which holds the budget of it. */
  #clientOf(day: number): PerpscopeClient {
    const { url, budgetUsd, pay } = this.#purchases
    if (this.#client !== null && day === this.#day) return this.#client
    this.#spentBefore = this.spentUsd
    this.#day = day
    this.#client = new PerpscopeClient({
      ...{ url, nowMs: this.#times.nowMs },
      pay: async (quote) => {
        // Of the first quote, also on later days.
        this.#payees ??= quote.accepts.map(({ payTo }) => payTo)
        const payment = await pay(quote)
        this.#signedUsd = Number(payment.accepted.amount) / 1e6
        return payment
      },
      fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(CALL_MS_MAX) }),
      budget: { maxUsdPerCall: budgetUsd, totalUsd: budgetUsd },
      ...(this.#payees && { payTo: this.#payees }),
    })
    return this.#client
  }
}

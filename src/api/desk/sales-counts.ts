import type { FastifyInstance } from 'fastify'
import type { PaymentEvent } from '../../payment/payment-event.ts'
import { sentCodeOf } from '../send-problem.ts'

/** Reasons of facilitators are free text; further ones are counted together. */
const REASONS_MAX = 64
const OTHER_REASON = 'other'

/** Events that refuse a payment without a reason of a bounded list. */
const REFUSING: ReadonlySet<PaymentEvent['kind']> = new Set([
  ...(['malformed', 'limited', 'conflict', 'unavailable', 'uncharged', 'open'] as const),
])

/** Quotes, sales and refusals since the start of this process. */
export class SalesCounts {
  readonly #quotes = new Map<string, number>()
  readonly #sales = new Map<string, number>()
  readonly #refusals = new Map<string, number>()

  /** Counts the refused calls of the analyses of this server from now on. */
  observe(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      const code = sentCodeOf(reply)
      if (code !== undefined && request.routeOptions.config.x402 !== undefined) this.refused(code)
      done()
    })
  }

  /** Receives every payment event. */
  readonly record = ({ kind, route, reason, tookMs }: PaymentEvent): void => {
    if (kind === 'quoted') increment(this.#quotes, route ?? '')
    // Without a duration it is the later outcome of a sale that was counted, or refused, before.
    else if (tookMs !== undefined && (kind === 'settled' || kind === 'trusted'))
      increment(this.#sales, route ?? '')
    else if (kind === 'rejected') this.refused(reason ?? kind)
    else if (REFUSING.has(kind)) this.refused(`payment_${kind}`)
  }

  /** Counts a refusal by its error code. */
  refused(reason: string): void {
    const isKnown = this.#refusals.has(reason) || this.#refusals.size < REASONS_MAX
    increment(this.#refusals, isKnown ? reason : OTHER_REASON)
  }

  quotesOf(route: string): number {
    return this.#quotes.get(route) ?? 0
  }

  salesOf(route: string): number {
    return this.#sales.get(route) ?? 0
  }

  /** The most frequent first. */
  refusals(): readonly { readonly reason: string; readonly count: number }[] {
    return [...this.#refusals]
      .map(([reason, count]) => ({ reason, count }))
      .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1))
  }
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

import type { PaymentPayload } from '@x402/core/types'
import { BoundedMap } from '../domain/bounded-map.ts'
import type { Clock } from '../domain/clock.ts'
import type { Ledger, OpenPayment } from './ledger/ledger.ts'
import type { Payment, PaymentMethod } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import { paymentId } from './presented-payment.ts'
import type { SettlementCoordinator, SettlementVerdict } from './settlement-coordinator.ts'
import { EXPIRED_FOR_SURE_SECONDS } from './settlement-coordinator.ts'

export type ReconcilerOptions = {
  readonly ledger: Ledger
  readonly coordinator: SettlementCoordinator
  readonly methods: readonly PaymentMethod[]
  readonly clock: Clock
  /** Whether a request with this payment is in progress, which resolves the payment itself. */
  readonly isAtWork: (payment: OpenPayment) => boolean
  readonly emit: (event: PaymentEvent) => void
}

const PERIOD_MS = 5_000
/** Payments that were updated more recently are skipped. */
const UNTOUCHED_MS = 5_000
/** Sequential, so that a node is not flooded. */
const PAYMENTS_A_PASS_MAX = 50
/** Between two reports of why the outcome of one payment stays open. */
const REPORT_MS = 3_600_000
const REPORTED_MAX = 1_000

/**
 * Follows up open payments after crashes, lost replies and unconfirmed transfers, at the start and periodically, until
 * the ledger agrees with the chain. No buyer has to return for that.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions
  /** Networks without a node that could be asked: their payments rest in the ledger once they have expired. */
  readonly #withoutNode = new Set<string>()
  /** Time of the last report of each open payment. */
  readonly #reportedMs = new BoundedMap<string, number>(REPORTED_MAX)
  #cancel = () => {}
  #isStopped = false

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  start(): void {
    void this.#pass()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  async #pass(): Promise<void> {
    const { ledger, clock, emit } = this.#options
    try {
      const untouchedSinceMs = clock.nowMs() - UNTOUCHED_MS
      await ledger.interrupted(clock.nowMs())
      for (let payments = 0; payments < PAYMENTS_A_PASS_MAX; payments += 1) {
        if (this.#isStopped) return
        const open = await ledger.nextOpen(untouchedSinceMs, clock.nowMs(), {
          networks: [...this.#withoutNode],
          validBeforeMs: clock.nowMs() - EXPIRED_FOR_SURE_SECONDS * 1_000,
        })
        if (open === null) break
        await this.#followUp(open)
      }
    } catch (cause) {
      // After the stop the ledger may be closed.
      if (!this.#isStopped) emit({ kind: 'failed', route: null, cause })
    }
    if (!this.#isStopped) this.#cancel = clock.after(PERIOD_MS, () => void this.#pass())
  }

  async #followUp(open: OpenPayment): Promise<void> {
    const { coordinator, methods, isAtWork, emit } = this.#options
    const payment = revived(open.wire, methods)
    if (methods.every(({ network }) => network !== open.key.network))
      this.#withoutNode.add(open.key.network)
    if (payment === null || isAtWork(open)) return
    const verdict = await coordinator.followUp(open, payment)
    if (verdict.kind === 'open') return this.#stillOpen(open, verdict)
    const kind = eventOf(verdict, open)
    if (kind === null) return
    const transaction = verdict.kind === 'paid' ? { transaction: verdict.transaction } : {}
    const { payer, network } = open.key
    // What was trusted was earned when its answer was sent.
    const isMoney = kind === 'lost' || (kind === 'settled' && open.state === 'unknown')
    const amount = isMoney ? { amount: payment.requirement.amount } : {}
    emit({ kind, route: open.route, payer, network, ...amount, ...transaction })
  }

  /** Reports why the chain did not show the outcome, so that an operator sees which node errs. */
  #stillOpen({ key, route }: OpenPayment, { unanswered }: OpenVerdict): void {
    if (unanswered === undefined) return
    const { clock, emit } = this.#options
    const { payer, network } = key
    if (unanswered.isLasting === true) this.#withoutNode.add(network)
    const id = paymentId(key)
    if (clock.nowMs() - (this.#reportedMs.get(id) ?? -Infinity) < REPORT_MS) return
    this.#reportedMs.set(id, clock.nowMs())
    emit({ kind: 'open', route, payer, network, reason: unanswered.reason })
  }
}

type OpenVerdict = Extract<SettlementVerdict, { kind: 'open' }>

function eventOf(verdict: SettlementVerdict, { state }: OpenPayment): PaymentEvent['kind'] | null {
  if (verdict.kind === 'paid') return 'settled'
  if (verdict.kind !== 'refused') return null
  return state === 'unconfirmed' ? 'lost' : 'uncharged'
}

/** Reads a stored payment. null if its method is no longer configured. */
function revived(wire: PaymentPayload, methods: readonly PaymentMethod[]): Payment | null {
  const { scheme, network, amount } = wire.accepted
  const method = methods.find((one) => one.scheme === scheme && one.network === network)
  if (method === undefined) return null
  const requirement = { method, amount: BigInt(amount), wire: wire.accepted }
  return method.read(wire.payload, { requirement, resourceUrl: wire.resource?.url ?? '' })
}

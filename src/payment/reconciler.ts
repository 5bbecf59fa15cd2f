import type { PaymentPayload } from '@x402/core/types'
import type { Clock } from '../domain/clock.ts'
import type { OpenPayment, PaymentLedger } from './ledger.ts'
import type { Payment, PaymentMethod } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import type { SettlementCoordinator, SettlementVerdict } from './settlement-coordinator.ts'

export type ReconcilerOptions = {
  readonly ledger: PaymentLedger
  readonly coordinator: SettlementCoordinator
  readonly methods: readonly PaymentMethod[]
  readonly clock: Clock
  /** Whether a buyer is being served by that very payment: then it is cleared up there. */
  readonly isAtWork: (payment: OpenPayment) => boolean
  readonly emit: (event: PaymentEvent) => void
}

const PERIOD_MS = 5_000
/** What somebody has just touched is left alone for as long. */
const UNTOUCHED_MS = 5_000
/** One after the other, so that a node is never flooded by what we have forgotten. */
const PAYMENTS_A_PASS_MAX = 50

/**
 * Clears up what crashes, lost replies and answers given on trust leave behind, at start and from then on:
 * the ledger ends at what the chain says, whether a buyer comes back or not.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions
  #cancel = () => {}
  #isStopped = false

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.ledger.interrupted()
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
      for (const open of ledger.open(untouchedSinceMs, PAYMENTS_A_PASS_MAX)) {
        if (this.#isStopped) return
        await this.#followUp(open)
      }
    } catch (cause) {
      // After the stop the ledger may be closed.
      if (!this.#isStopped) emit({ kind: 'failed', route: null, cause })
    }
    if (!this.#isStopped) this.#cancel = clock.after(PERIOD_MS, () => void this.#pass())
  }

  async #followUp(open: OpenPayment): Promise<void> {
    const { ledger, coordinator, clock, methods, isAtWork, emit } = this.#options
    ledger.lookedAt(open, clock.nowMs())
    const payment = revived(open.wire, methods)
    if (payment === null || isAtWork(open)) return
    const verdict = await coordinator.followUp(open, payment)
    const kind = eventOf(verdict, open)
    if (kind === null) return
    const transaction = verdict.kind === 'paid' ? { transaction: verdict.transaction } : {}
    emit({ kind, route: open.route, payer: open.key.payer, ...transaction })
  }
}

function eventOf(verdict: SettlementVerdict, { state }: OpenPayment): PaymentEvent['kind'] | null {
  if (verdict.kind === 'paid') return 'settled'
  if (verdict.kind !== 'refused') return null
  return state === 'unconfirmed' ? 'lost' : 'uncharged'
}

/** A payment of which only what its buyer sent is left. null when it cannot be paid that way any more. */
function revived(wire: PaymentPayload, methods: readonly PaymentMethod[]): Payment | null {
  const { scheme, network, amount } = wire.accepted
  const method = methods.find((one) => one.scheme === scheme && one.network === network)
  if (method === undefined) return null
  const requirement = { method, amount: BigInt(amount), wire: wire.accepted }
  return method.read(wire.payload, { requirement, resourceUrl: wire.resource?.url ?? '' })
}

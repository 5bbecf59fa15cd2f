import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { Answer } from './answer.ts'
import type { Claim, Claims } from './claims.ts'
import type { Finality } from './finality.ts'
import type { LedgerRow, PaymentKey, PaymentLedger } from './ledger.ts'
import { decodeEnvelope, MalformedPayment, paymentHeader } from './payload.ts'
import type { Payment, Requirement } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import { callerKey, RateLimit } from './rate-limit.ts'
import { receiptHeaders, refusalHeaders } from './receipt.ts'
import {
  crowded,
  failed,
  inFlight,
  lapsed,
  limited,
  malformed,
  outcomeOpen,
  unavailable,
  usedElsewhere,
} from './refusals.ts'
import type { Rejection } from './rejection.ts'
import { checkAccepted, requirementFor } from './requirement.ts'
import { binding, resourceUrl } from './resource.ts'
import type { Terms } from './terms.ts'
import type { Till, Verdict } from './till.ts'
import { within } from './within.ts'

export type PaymentLimits = {
  readonly paidCallsPerWalletPerMinute: number
  readonly failedPaymentsPerAddressPerMinute: number
}

export type CheckoutOptions = {
  readonly till: Till
  readonly claims: Claims
  readonly ledger: PaymentLedger
  readonly clock: Clock
  readonly publicUrl: string
  readonly limits: PaymentLimits
  /** How sure of its money a price must be before its answer leaves. */
  readonly finality: (amount: bigint) => Finality
  readonly exposure: ExposureLimits
  readonly emit: (event: PaymentEvent) => void
}

/** What may be owed to us at a time by answers that were given for a `broadcast`, in USDC atoms. */
export type ExposureLimits = { readonly payerMax: bigint; readonly totalMax: bigint }

/** A payment that can be read, and what it shall buy. */
type Offer = {
  readonly key: PaymentKey
  /** `key` as one text. */
  readonly id: string
  readonly binding: string
  readonly payloadHash: string
  readonly payment: Payment
  readonly terms: Terms
}

/** An offer that was accepted: the handler may work for it. */
export type Sale = Offer & {
  readonly claim: Claim
  /** The transaction of a payment that was taken before it came here. */
  readonly prepaid: string | null
  readonly verifyMs: number
  readonly admittedAtMs: number
  readonly cancelLapse: () => void
}

const COPY_WAIT_MS_MAX = 30_000
/** A handler that has not answered by then has lost its sale: the payment is free again. */
const HANDLER_MS_MAX = 60_000

/**
 * Decides for every payment: whose work it pays for, whether it was used before, and what the buyer is
 * told. Two laws hold whatever fails: no answer leaves without its money, no money without its answer.
 */
export class Checkout {
  readonly #options: CheckoutOptions
  readonly #till: Till
  readonly #claims: Claims
  readonly #lapsed = new WeakSet<Claim>()
  readonly #wallets: RateLimit
  readonly #failures: RateLimit

  constructor(options: CheckoutOptions) {
    const { till, claims, limits } = options
    this.#options = options
    this.#till = till
    this.#claims = claims
    this.#wallets = new RateLimit('wallet', limits.paidCallsPerWalletPerMinute)
    this.#failures = new RateLimit('failed-payments', limits.failedPaymentsPerAddressPerMinute)
  }

  isAtWork(key: PaymentKey): boolean {
    return this.#claims.find(idOf(key)) !== undefined
  }

  quote(request: FastifyRequest, terms: Terms, rejected?: Rejection): Answer {
    const { header, body } = terms.quote(resourceUrl(request, this.#options.publicUrl), rejected)
    return {
      status: 402,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'payment-required': header,
      },
      body: Buffer.from(body),
    }
  }

  /**
   * The answer that this very payment bought here before. It needs nothing of the host, so it is given
   * before any check that only a new sale must pass.
   */
  async recall(request: FastifyRequest, terms: Terms): Promise<Answer | null> {
    let offer: Offer
    try {
      const envelope = decodeEnvelope(paymentHeader(request.headers) ?? '')
      const requirement = requirementFor(envelope, terms.requirements)
      if ('reason' in requirement) return null
      offer = this.#offer(request, terms, requirement, envelope.payload)
    } catch (cause) {
      // What is wrong with it is told in its turn.
      if (cause instanceof MalformedPayment) return null
      throw cause
    }
    const before = this.#claims.find(offer.id) ?? this.#row(offer.key)
    const isSame = before?.payloadHash === offer.payloadHash && before.binding === offer.binding
    return isSame ? this.#earlier(request, offer) : null
  }

  /** @returns the sale that the handler shall work for, or the answer that ends the request */
  async admit(request: FastifyRequest, terms: Terms): Promise<Sale | Answer> {
    const caller = callerKey(request.ip)
    let misfit: Rejection | null
    let offer: Offer
    try {
      const envelope = decodeEnvelope(paymentHeader(request.headers) ?? '')
      const requirement = requirementFor(envelope, terms.requirements)
      if ('reason' in requirement) return await this.#faulty(request, caller, terms, requirement)
      misfit = checkAccepted(envelope, requirement)
      offer = this.#offer(request, terms, requirement, envelope.payload)
    } catch (cause) {
      if (!(cause instanceof MalformedPayment)) throw cause
      const allowance = await this.#failures.take(caller)
      if (!allowance.allowed) return this.#limited(request, this.#failures, allowance)
      this.#emit(request, { kind: 'malformed', reason: cause.message })
      return malformed(request, cause.message)
    }
    // A payment that was accepted before is known by its hash; its signature was right then.
    const known = this.#earlier(request, offer)
    if (known !== null) return known

    const standing = await this.#failures.peek(caller)
    if (!standing.allowed) return this.#limited(request, this.#failures, standing)
    const wrong = misfit ?? (await offer.payment.check(this.#options.clock.nowMs()))
    if (wrong !== null) return this.#faulty(request, caller, terms, wrong)
    const wallet = await this.#wallets.take(offer.key.payer)
    if (!wallet.allowed) return this.#limited(request, this.#wallets, wallet)

    // From here to the claim nothing waits, so that of many copies one wins.
    const meanwhile = this.#earlier(request, offer) ?? this.#nonceConflict(request, offer)
    if (meanwhile !== null) return meanwhile
    if (this.#claims.full) return crowded(request)
    const claim = this.#claims.open(offer.id, offer.binding, offer.payloadHash)
    return this.#verified(request, offer, claim)
  }

  /** Nothing is sold: the payment is free again, and copies get what this request gets. */
  cancel(request: FastifyRequest, sale: Sale, answer: Answer | null): void {
    sale.cancelLapse()
    sale.claim.close(answer ?? failed(request))
    this.#emit(request, { kind: 'uncharged', payer: sale.key.payer, reason: statusOf(answer) })
  }

  /** Takes the money for an answer. @returns what may be sent in its place: the answer, if it is paid */
  async complete(request: FastifyRequest, sale: Sale, answer: Answer): Promise<Answer> {
    sale.cancelLapse()
    const final = this.#lapsed.has(sale.claim)
      ? lapsed(request)
      : await this.#charged(request, sale, answer)
    sale.claim.close(final)
    return final
  }

  /** An answer that must not be sold is a fault of ours. */
  fail(request: FastifyRequest, sale: Sale, cause: unknown): Answer {
    const answer = failed(request)
    this.#emit(request, { kind: 'failed', cause })
    this.cancel(request, sale, answer)
    return answer
  }

  async #verified(request: FastifyRequest, offer: Offer, claim: Claim): Promise<Sale | Answer> {
    let refusal: Answer
    try {
      const beganMs = this.#options.clock.nowMs()
      const admission = await this.#till.verify(offer.payment)
      const tookMs = this.#options.clock.nowMs() - beganMs
      if (admission.kind === 'valid' || admission.kind === 'paid') {
        this.#emit(request, { kind: 'verified', payer: offer.key.payer, tookMs })
        const prepaid = admission.kind === 'paid' ? admission.transaction : null
        return this.#sale(request, { ...offer, claim, prepaid, verifyMs: tookMs })
      }
      if (admission.kind === 'refused') await this.#failures.take(callerKey(request.ip))
      refusal = this.#unpaid(request, offer, admission)
    } catch (cause) {
      this.#emit(request, { kind: 'failed', cause })
      refusal = failed(request)
    }
    claim.close(refusal)
    return refusal
  }

  #sale(request: FastifyRequest, sale: Omit<Sale, 'admittedAtMs' | 'cancelLapse'>): Sale {
    const { clock } = this.#options
    const { claim } = sale
    const cancelLapse = clock.after(HANDLER_MS_MAX, () => {
      this.#lapsed.add(claim)
      claim.close(lapsed(request))
    })
    return { ...sale, admittedAtMs: clock.nowMs(), cancelLapse }
  }

  /** A payer whose transfer failed once, or who owes enough, waits for the block like everybody. */
  #finality({ key, payment }: Sale): Finality {
    const { finality, ledger, exposure } = this.#options
    const { amount } = payment.requirement
    const wished = finality(amount)
    if (wished === 'confirmed' || ledger.hasLost(key.payer)) return 'confirmed'
    if (wished === 'preconfirmed') return wished
    const owed = ledger.exposure(key.payer)
    const isWithin =
      owed.payer + amount <= exposure.payerMax && owed.total + amount <= exposure.totalMax
    return isWithin ? 'broadcast' : 'confirmed'
  }

  async #charged(request: FastifyRequest, sale: Sale, answer: Answer): Promise<Answer> {
    const { ledger, clock } = this.#options
    const { key, payment, prepaid } = sale
    const beganMs = clock.nowMs()
    let finality: Finality
    try {
      finality = this.#finality(sale)
      ledger.begin(
        {
          ...sale,
          route: request.routeOptions.url ?? '',
          identifier: null,
          amount: payment.requirement.amount,
          finality,
          validBeforeSeconds: payment.validBeforeSeconds,
          wire: payment.wire,
          answer,
        },
        clock.nowMs(),
      )
    } catch (cause) {
      this.#emit(request, { kind: 'failed', cause })
      return failed(request)
    }
    try {
      const verdict =
        prepaid === null
          ? await this.#till.settle(key, payment, finality)
          : this.#till.settled(key, prepaid)
      return this.#concluded(request, sale, verdict, answer, clock.nowMs() - beganMs)
    } catch (cause) {
      this.#emit(request, { kind: 'failed', cause })
      return outcomeOpen(request, null)
    }
  }

  /** What happened to the same payment before, if anything did: wait for it, repeat it or clear it up. */
  #earlier(request: FastifyRequest, offer: Offer): Promise<Answer> | null {
    const before = this.#claims.find(offer.id) ?? this.#row(offer.key)
    if (before === null || before.payloadHash !== offer.payloadHash) return null
    if (before.binding !== offer.binding) {
      return Promise.resolve(this.#usedElsewhere(request, offer))
    }
    if (!('state' in before)) return this.#copied(request, before)
    if (before.answer === null) return null
    if (before.state !== 'settled' && before.state !== 'unconfirmed') {
      return this.#reconciled(request, offer, before, before.answer)
    }
    this.#emit(request, { kind: 'replayed', payer: offer.key.payer })
    return Promise.resolve(withReceipt(offer.payment, before.answer, before.transaction ?? ''))
  }

  /** The nonce belongs to another authorization of the same payer. */
  #nonceConflict(request: FastifyRequest, offer: Offer): Answer | null {
    const before = this.#claims.find(offer.id) ?? this.#row(offer.key)
    return before === null ? null : this.#usedElsewhere(request, offer)
  }

  async #copied(request: FastifyRequest, claim: Claim): Promise<Answer> {
    const answer = await within(this.#options.clock, COPY_WAIT_MS_MAX, claim.answer, null)
    return answer ?? inFlight(request)
  }

  async #reconciled(
    request: FastifyRequest,
    offer: Offer,
    row: LedgerRow,
    stored: Answer,
  ): Promise<Answer> {
    if (this.#claims.full) return crowded(request)
    const claim = this.#claims.open(offer.id, offer.binding, offer.payloadHash)
    let answer: Answer
    try {
      const verdict = await this.#till.reconcile(offer.key, offer.payment)
      answer = this.#concluded(request, offer, verdict, stored)
    } catch (cause) {
      this.#emit(request, { kind: 'failed', cause })
      answer = outcomeOpen(request, row.transaction)
    }
    claim.close(answer)
    return answer
  }

  #concluded(
    request: FastifyRequest,
    offer: Offer,
    verdict: Verdict,
    answer: Answer,
    tookMs?: number,
  ): Answer {
    if (verdict.kind !== 'paid' && verdict.kind !== 'trusted') {
      return this.#unpaid(request, offer, verdict)
    }
    const { transaction } = verdict
    const kind = verdict.kind === 'paid' ? 'settled' : 'trusted'
    const took = tookMs === undefined ? {} : { tookMs }
    this.#emit(request, { kind, payer: offer.key.payer, transaction, ...took })
    return withReceipt(offer.payment, answer, transaction)
  }

  #unpaid(
    request: FastifyRequest,
    { payment, terms }: Offer,
    verdict: Exclude<Verdict, { kind: 'paid' | 'trusted' }>,
  ): Answer {
    const { payer } = payment
    switch (verdict.kind) {
      case 'refused': {
        const { reason } = verdict.rejection
        this.#emit(request, { kind: 'rejected', payer, reason })
        const answer = this.quote(request, terms, verdict.rejection)
        return { ...answer, headers: { ...answer.headers, ...refusalHeaders(payment, reason) } }
      }
      case 'unavailable':
        this.#emit(request, { kind: 'unavailable', payer, reason: verdict.reason })
        return unavailable(request)
      case 'open':
        this.#emit(request, { kind: 'open', payer, reason: verdict.reason })
        return outcomeOpen(request, verdict.transaction)
      default:
        return verdict satisfies never
    }
  }

  async #faulty(
    request: FastifyRequest,
    caller: string,
    terms: Terms,
    rejected: Rejection,
  ): Promise<Answer> {
    const allowance = await this.#failures.take(caller)
    if (!allowance.allowed) return this.#limited(request, this.#failures, allowance)
    this.#emit(request, { kind: 'rejected', reason: rejected.reason })
    return this.quote(request, terms, rejected)
  }

  #limited(...[request, limit, allowance]: Parameters<typeof limited>): Answer {
    this.#emit(request, { kind: 'limited' })
    return limited(request, limit, allowance)
  }

  #usedElsewhere(request: FastifyRequest, offer: Offer): Answer {
    this.#emit(request, { kind: 'conflict', payer: offer.key.payer })
    return usedElsewhere(request)
  }

  #offer(
    request: FastifyRequest,
    terms: Terms,
    requirement: Requirement,
    payload: Readonly<Record<string, unknown>>,
  ): Offer {
    const { network, asset } = requirement.method
    const purchase = {
      requirement,
      resourceUrl: resourceUrl(request, this.#options.publicUrl),
    }
    const payment = requirement.method.read(payload, purchase)
    const { payer, nonce } = payment
    const key = { network, asset, payer, nonce }
    return {
      key,
      id: idOf(key),
      binding: binding(request),
      payloadHash: payment.hash,
      payment,
      terms,
    }
  }

  /** A payment that was refused is as good as new, whether its answer was given or not. */
  #row(key: PaymentKey): LedgerRow | null {
    const row = this.#options.ledger.find(key)
    return row?.state === 'released' || row?.state === 'lost' ? null : row
  }

  #emit(request: FastifyRequest, event: Omit<PaymentEvent, 'route'>): void {
    this.#options.emit({ ...event, route: request.routeOptions.url ?? null })
  }
}

function idOf({ network, asset, payer, nonce }: PaymentKey): string {
  return [network, asset, payer, nonce].join('|')
}

function withReceipt(payment: Payment, answer: Answer, transaction: string): Answer {
  return { ...answer, headers: { ...answer.headers, ...receiptHeaders(payment, transaction) } }
}

function statusOf(answer: Answer | null): string {
  return answer === null ? 'no body' : `status ${answer.status}`
}

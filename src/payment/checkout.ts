import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import { OperatingError } from '../domain/errors.ts'
import type { Answer } from './answer.ts'
import type { Claim, Claims } from './claims.ts'
import { isNamedBy } from './entity-tag.ts'
import type { Extensions } from './extensions/extensions.ts'
import type { OfferReceipts } from './extensions/offer-receipt.ts'
import { identifierIn } from './extensions/payment-identifier.ts'
import type { LimitHit } from './failed-payments.ts'
import { FailedPayments } from './failed-payments.ts'
import type { Finality } from './finality.ts'
import type { LedgerRow, PaymentKey, PaymentLedger } from './ledger.ts'
import type { PaymentEnvelope } from './payload.ts'
import { decodeEnvelope, MalformedPayment, paymentHeader } from './payload.ts'
import type { Payment, Requirement, Settlement } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import { callerKey, RateLimit } from './rate-limit.ts'
import { receiptHeaders, refusalHeaders } from './receipt.ts'
import {
  crowded,
  failed,
  failedTooOften,
  identifierTaken,
  inFlight,
  lapsed,
  limited,
  malformed,
  notModified,
  outcomeOpen,
  unavailable,
  usedElsewhere,
  usedUp,
} from './refusals.ts'
import type { Rejection } from './rejection.ts'
import { facilitatorRejection } from './rejection.ts'
import { checkAccepted, requirementFor } from './requirement.ts'
import { binding, resourceUrl } from './resource.ts'
import type { Quoted, Terms } from './terms.ts'
import type { Till, Verdict } from './till.ts'
import { within } from './within.ts'

export type PaymentLimits = {
  readonly paidCallsPerWalletPerMinute: number
  readonly failedPaymentsPerAddressPerMinute: number
  /** Of one wallet, from one address, for one reason. */
  readonly identicalFailuresPerMinute: number
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
  /** Signs offers for those who ask, and receipts; null where no key was given. */
  readonly receipts: OfferReceipts | null
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
  /** The buyer's own name for the payment. */
  readonly identifier: string | null
  /** What the buyer sent along, unsigned. */
  readonly extensions: Extensions | null
  readonly payment: Payment
  readonly terms: Terms
}

/** An offer that was accepted: the handler may work for it. */
export type Sale = Offer & {
  readonly claim: Claim
  /** The transaction of a payment that was taken before it came here. */
  readonly prepaid: string | null
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
  readonly #failures: FailedPayments
  /** Payments in flight by their payer and the name that it gave them. */
  readonly #identified = new Map<string, Claim>()

  constructor(options: CheckoutOptions) {
    const { till, claims, limits } = options
    this.#options = options
    this.#till = till
    this.#claims = claims
    this.#wallets = new RateLimit('wallet', limits.paidCallsPerWalletPerMinute)
    this.#failures = new FailedPayments({
      perAddressPerMinute: limits.failedPaymentsPerAddressPerMinute,
      identicalPerMinute: limits.identicalFailuresPerMinute,
    })
  }

  isAtWork(key: PaymentKey): boolean {
    return this.#claims.find(idOf(key)) !== undefined
  }

  quote(request: FastifyRequest, terms: Terms, rejected?: Rejection): Answer {
    return terms.quote({
      ...this.#quoted(request, terms),
      ...(rejected === undefined ? {} : { rejected }),
    })
  }

  /** The same with our signature under it, where we have a key. */
  async signedQuote(request: FastifyRequest, terms: Terms): Promise<Answer> {
    const quoted = this.#quoted(request, terms)
    const { receipts } = this.#options
    if (receipts === null) return terms.quote(quoted)
    const offers = await receipts.offers(quoted.resourceUrl, terms.requirements)
    const answer = terms.quote({ ...quoted, offers })
    return { ...answer, headers: { ...answer.headers, 'preference-applied': 'signed-offer' } }
  }

  /**
   * The answer that this very payment bought here before. It needs nothing of the host, so it is given
   * before any check that only a new sale must pass.
   */
  recall(request: FastifyRequest, terms: Terms): Promise<Answer | null> {
    return this.#neverDenying(request, () => this.#recalled(request, terms))
  }

  /** @returns the sale that the handler shall work for, or the answer that ends the request */
  admit(request: FastifyRequest, terms: Terms): Promise<Sale | Answer> {
    return this.#neverDenying(request, () => this.#admitted(request, terms))
  }

  /** Where the ledger cannot be read nobody knows whether the payment was charged before. */
  async #neverDenying<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T | Answer> {
    try {
      return await work()
    } catch (cause) {
      if (!(cause instanceof UnreadableLedger)) throw cause
      this.#emit(request, { kind: 'failed', cause: cause.cause })
      return outcomeOpen(request, null)
    }
  }

  async #recalled(request: FastifyRequest, terms: Terms): Promise<Answer | null> {
    let offer: Offer
    try {
      const envelope = decodeEnvelope(paymentHeader(request.headers) ?? '')
      const requirement = requirementFor(envelope, terms.known)
      if ('reason' in requirement) return null
      offer = this.#offer(request, terms, requirement, envelope)
    } catch (cause) {
      // What is wrong with it is told in its turn.
      if (cause instanceof MalformedPayment) return null
      throw cause
    }
    const before = this.#claims.find(offer.id) ?? this.#row(offer.key)
    const isSame = before?.payloadHash === offer.payloadHash && before.binding === offer.binding
    return isSame ? this.#earlier(request, offer) : null
  }

  async #admitted(request: FastifyRequest, terms: Terms): Promise<Sale | Answer> {
    const caller = callerKey(request.ip)
    let misfit: Rejection | null
    let offer: Offer
    try {
      const envelope = decodeEnvelope(paymentHeader(request.headers) ?? '')
      const requirement = requirementFor(envelope, terms.requirements)
      if ('reason' in requirement) return await this.#faulty(request, terms, requirement)
      misfit = checkAccepted(envelope, requirement)
      offer = this.#offer(request, terms, requirement, envelope)
    } catch (cause) {
      if (!(cause instanceof MalformedPayment)) throw cause
      const hit = await this.#failures.unreadable(caller)
      if (hit !== null) return this.#stopped(request, hit)
      this.#emit(request, { kind: 'malformed', reason: cause.message })
      return malformed(request, cause.message)
    }
    // A payment that was accepted before is known by its hash; its signature was right then.
    const known = this.#earlier(request, offer)
    if (known !== null) return known

    const { payer } = offer.key
    const wrong = misfit ?? (await this.#failures.check(caller, () => this.#flaw(request, offer)))
    if (wrong !== null) {
      if ('status' in wrong) return wrong
      if ('limit' in wrong) return this.#limited(request, wrong.limit, wrong.allowance)
      return this.#faulty(request, terms, wrong, payer)
    }
    const bar = await this.#failures.barred(payer)
    if (bar !== null) return this.#stopped(request, bar)
    const wallet = await this.#wallets.take(payer)
    if (!wallet.allowed) return this.#limited(request, this.#wallets, wallet)

    if (offer.payment.errand !== undefined)
      return this.#ranErrand(request, offer, offer.payment.errand)

    // From here to the claim nothing waits, so that of many copies one wins.
    const meanwhile =
      this.#earlier(request, offer) ??
      this.#nonceConflict(request, offer) ??
      this.#identifierConflict(request, offer)
    if (meanwhile !== null) return meanwhile
    if (this.#claims.full) return crowded(request)
    const claim = this.#claims.open(offer.id, offer.binding, offer.payloadHash)
    this.#identify(offer, claim)
    return this.#verified(request, offer, claim)
  }

  /** What is wrong with a payment, or the answer that ends the request where that cannot be told now. */
  async #flaw(request: FastifyRequest, { payment }: Offer): Promise<Rejection | Answer | null> {
    try {
      return await payment.check(this.#options.clock.nowMs())
    } catch (cause) {
      if (!(cause instanceof OperatingError)) throw cause
      this.#emit(request, { kind: 'unavailable', payer: payment.payer, reason: cause.message })
      return unavailable(request)
    }
  }

  /** Nothing is sold: the payment is free again, and copies get what this request gets. */
  cancel(request: FastifyRequest, sale: Sale, answer: Answer | null): void {
    sale.cancelLapse()
    // A copy need not have what this buyer has.
    sale.claim.close(answer?.status === 304 ? inFlight(request) : (answer ?? failed(request)))
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
        return this.#sale(request, { ...offer, claim, prepaid })
      }
      refusal =
        admission.kind === 'refused'
          ? await this.#refused(request, offer, admission)
          : this.#unpaid(request, offer, admission)
    } catch (cause) {
      this.#emit(request, { kind: 'failed', cause })
      refusal = failed(request)
    }
    claim.close(refusal)
    return refusal
  }

  async #ranErrand(
    request: FastifyRequest,
    offer: Offer,
    errand: () => Promise<Settlement>,
  ): Promise<Answer> {
    const settlement = await errand()
    if (settlement.kind === 'rejected') {
      const rejection = facilitatorRejection(settlement.reason)
      return this.#refused(request, offer, { rejection })
    }
    if (settlement.kind === 'unreachable') {
      return this.#unpaid(request, offer, { ...settlement, kind: 'unavailable' })
    }
    if (settlement.kind === 'unknown') return outcomeOpen(request, settlement.transaction)
    const { payer } = offer.key
    this.#emit(request, { kind: 'uncharged', payer, reason: 'an errand of its scheme' })
    return this.#receipted(offer.payment, errandDone, settlement.transaction)
  }

  #sale(request: FastifyRequest, sale: Omit<Sale, 'cancelLapse'>): Sale {
    const { claim } = sale
    const cancelLapse = this.#options.clock.after(HANDLER_MS_MAX, () => {
      this.#lapsed.add(claim)
      claim.close(lapsed(request))
    })
    return { ...sale, cancelLapse }
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
      await ledger.begin(
        {
          ...sale,
          route: request.routeOptions.url ?? '',
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
      return await this.#concluded(request, sale, verdict, answer, clock.nowMs() - beganMs)
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
    if (before.answer === null) return Promise.resolve(this.#usedUp(request, offer, before))
    if (before.state !== 'settled' && before.state !== 'unconfirmed') {
      return this.#reconciled(request, offer, before, before.answer)
    }
    this.#emit(request, { kind: 'replayed', payer: offer.key.payer })
    const { answer, transaction } = before
    return this.#receipted(
      offer.payment,
      this.#hasCopy(request, offer, answer) ? notModified(answer) : answer,
      transaction ?? '',
    )
  }

  /** Whether the buyer says that it has what it bought, and nothing newer could be bought now. */
  #hasCopy(request: FastifyRequest, { terms }: Offer, { headers }: Answer): boolean {
    const { etag } = headers
    if (etag === undefined || !isNamedBy(request.headers['if-none-match'], etag)) return false
    return terms.route.entityTagOf?.(request) === etag
  }

  /** A 402 would say that it was not charged. */
  #usedUp(request: FastifyRequest, { key }: Offer, { state }: LedgerRow): Answer {
    this.#emit(request, { kind: 'conflict', payer: key.payer })
    return usedUp(request, state === 'settled')
  }

  /** The nonce belongs to another authorization of the same payer. */
  #nonceConflict(request: FastifyRequest, offer: Offer): Answer | null {
    const before = this.#claims.find(offer.id) ?? this.#row(offer.key)
    return before === null ? null : this.#usedElsewhere(request, offer)
  }

  /** The buyer called another payment by the same name. Asked once its signature was found right. */
  #identifierConflict(request: FastifyRequest, { key, identifier }: Offer): Answer | null {
    if (identifier === null) return null
    const { ledger } = this.#options
    const isFree = legible(() => ledger.findByIdentifier(key.payer, identifier)) === null
    if (isFree && !this.#identified.has(nameOf(key, identifier))) return null
    this.#emit(request, { kind: 'conflict', payer: key.payer })
    return identifierTaken(request)
  }

  #identify({ key, identifier }: Offer, claim: Claim): void {
    if (identifier === null) return
    const name = nameOf(key, identifier)
    this.#identified.set(name, claim)
    void claim.answer.then(() => this.#identified.delete(name))
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
    if (this.#claims.full) return outcomeOpen(request, row.transaction)
    const claim = this.#claims.open(offer.id, offer.binding, offer.payloadHash)
    let answer: Answer
    try {
      const verdict = await this.#till.reconcile(offer.key, offer.payment)
      answer = await this.#concluded(request, offer, verdict, stored)
    } catch (cause) {
      this.#emit(request, { kind: 'failed', cause })
      answer = outcomeOpen(request, row.transaction)
    }
    claim.close(answer)
    return answer
  }

  async #concluded(
    request: FastifyRequest,
    offer: Offer,
    verdict: Verdict,
    answer: Answer,
    tookMs?: number,
  ): Promise<Answer> {
    if (verdict.kind === 'refused') return this.#refused(request, offer, verdict)
    if (verdict.kind !== 'paid' && verdict.kind !== 'trusted') {
      return this.#unpaid(request, offer, verdict)
    }
    const { transaction } = verdict
    const kind = verdict.kind === 'paid' ? 'settled' : 'trusted'
    const took = tookMs === undefined ? {} : { tookMs }
    this.#emit(request, { kind, payer: offer.key.payer, transaction, ...took })
    return this.#receipted(offer.payment, answer, transaction)
  }

  async #receipted(payment: Payment, answer: Answer, transaction: string): Promise<Answer> {
    const receipt = await receiptHeaders(payment, transaction, this.#options.receipts)
    return { ...answer, headers: { ...answer.headers, ...receipt } }
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

  /** A payment that can be told to be wrong here. @param payer who it says that pays, '' where unread */
  async #faulty(
    request: FastifyRequest,
    terms: Terms,
    rejected: Rejection,
    payer = '',
  ): Promise<Answer> {
    const told = await this.#failures.wrong(callerKey(request.ip), payer, rejected)
    if ('limit' in told) return this.#stopped(request, told)
    this.#emit(request, { kind: 'rejected', reason: told.reason })
    return this.quote(request, terms, told)
  }

  /** A payment that only the chain can tell to be wrong. */
  async #refused(
    request: FastifyRequest,
    offer: Offer,
    { rejection }: { readonly rejection: Rejection },
  ): Promise<Answer> {
    const told = await this.#failures.refused(callerKey(request.ip), offer.key.payer, rejection)
    if ('limit' in told) return this.#stopped(request, told)
    return this.#unpaid(request, offer, { kind: 'refused', rejection: told })
  }

  /** Ends a loop of failures. */
  #stopped(request: FastifyRequest, hit: LimitHit): Answer {
    this.#emit(request, { kind: 'limited' })
    return failedTooOften(request, hit)
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
    { payload, extensions }: PaymentEnvelope,
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
      identifier: identifierIn(extensions),
      extensions,
      payment,
      terms,
    }
  }

  #quoted(request: FastifyRequest, { route }: Terms): Quoted {
    return {
      resourceUrl: resourceUrl(request, this.#options.publicUrl),
      ...(route.extensionsOf && { extensions: route.extensionsOf(request) }),
    }
  }

  /** A payment that was refused is as good as new, whether its answer was given or not. */
  #row(key: PaymentKey): LedgerRow | null {
    const row = legible(() => this.#options.ledger.find(key))
    return row?.state === 'released' || row?.state === 'lost' ? null : row
  }

  #emit(request: FastifyRequest, event: Omit<PaymentEvent, 'route'>): void {
    this.#options.emit({ ...event, route: request.routeOptions.url ?? null })
  }
}

class UnreadableLedger extends Error {
  override readonly name = 'UnreadableLedger'
}

function legible<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new UnreadableLedger('the ledger cannot be read', { cause })
  }
}

function idOf({ network, asset, payer, nonce }: PaymentKey): string {
  return [network, asset, payer, nonce].join('|')
}

function nameOf({ payer }: PaymentKey, identifier: string): string {
  return `${payer}|${identifier}`
}

const errandDone: Answer = {
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: Buffer.from('{"message":"done, nothing was bought"}'),
}

function statusOf(answer: Answer | null): string {
  return answer === null ? 'no body' : `status ${answer.status}`
}

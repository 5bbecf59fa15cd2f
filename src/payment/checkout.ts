import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import { OperatingError } from '../domain/errors.ts'
import type { Answer } from './answer.ts'
import type { Claim, Claims } from './claims.ts'
import { isNamedBy } from './entity-tag.ts'
import type { Credentials } from './extensions/answer-access.ts'
import {
  CALLER_ACCESS_MS,
  CALLER_ACCESS_OPEN_MS,
  credentials,
  opens,
} from './extensions/answer-access.ts'
import type { Extensions } from './extensions/extensions.ts'
import type { OfferReceipts } from './extensions/offer-receipt.ts'
import { identifierIn } from './extensions/payment-identifier.ts'
import type { LimitHit } from './failed-payments.ts'
import { FailedPayments } from './failed-payments.ts'
import type { Finality } from './finality.ts'
import { Handovers } from './handover.ts'
import type { LedgerRow, PaymentKey, PaymentLedger } from './ledger.ts'
import { LedgerBusyError } from './ledger.ts'
import type { AdmissionRefusal, NodeVisit } from './node-admission.ts'
import { NodeAdmission } from './node-admission.ts'
import type { PaymentEnvelope } from './payload.ts'
import { decodeEnvelope, MalformedPayment, paymentHeader } from './payload.ts'
import type { AskNode, Payment, Requirement, Settlement } from './payment.ts'
import type { PaymentEvent } from './payment-event.ts'
import type { PaymentLimits } from './payment-limits.ts'
import { callerKey, RateLimit } from './rate-limit.ts'
import { receiptHeaders, refusalHeaders } from './receipt.ts'
import {
  crowded,
  failed,
  failedTooOften,
  identifierTaken,
  inFlight,
  keptForLater,
  lapsed,
  ledgerBusy,
  limited,
  malformed,
  nonceTaken,
  notModified,
  outcomeOpen,
  unavailable,
  usedBefore,
  usedUp,
} from './refusals.ts'
import type { Rejection } from './rejection.ts'
import { facilitatorRejection } from './rejection.ts'
import { checkAccepted, requirementFor } from './requirement.ts'
import { bindingOf, resourceUrl } from './resource.ts'
import type { Quoted, Terms } from './terms.ts'
import { listingOf } from './terms.ts'
import type { Screened, Till, Verdict } from './till.ts'
import { within } from './within.ts'

/** While the host refuses everything, answers that were bought before are kept, not given. */
export type Closure = { isClosed(): boolean; readonly retryAfterSeconds: number }

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
  readonly closure: Closure
  /** Another secret for each quote, of `SECRET_CHARS`. */
  readonly newSecret: () => string
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
  readonly shown: Credentials
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
  readonly #repeats: RateLimit
  readonly #handovers: Handovers
  /** Payments whose answer is on its way to an address that has nothing but itself to show. */
  readonly #byAddressAlone = new WeakMap<FastifyRequest, PaymentKey>()
  readonly #admission: NodeAdmission
  /** Payments in flight by their payer and the name that it gave them. */
  readonly #identified = new Map<string, Claim>()

  constructor(options: CheckoutOptions) {
    const { till, claims, clock, limits } = options
    this.#options = options
    this.#till = till
    this.#claims = claims
    this.#wallets = new RateLimit('wallet', limits.paidCallsPerWalletPerMinute)
    this.#failures = new FailedPayments({
      perAddressPerMinute: limits.failedPaymentsPerAddressPerMinute,
      identicalPerMinute: limits.identicalFailuresPerMinute,
    })
    this.#repeats = new RateLimit('repeated-payments', limits.repeatedPaymentsPerAddressPerMinute)
    this.#handovers = new Handovers(options.clock)
    this.#admission = new NodeAdmission({
      clock,
      failuresPerAddressPerMinute: limits.unverifiedPaymentsPerAddressPerMinute,
      failuresPerSecond: limits.unverifiedPaymentsPerSecond,
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

  /** A request came on its connection. */
  arrived(request: FastifyRequest): void {
    this.#handovers.arrived(request)
  }

  /** The last byte of an answer was sent. */
  sent(request: FastifyRequest): void {
    const key = this.#byAddressAlone.get(request)
    if (key !== undefined) this.#handovers.sent(request, () => this.#admitCaller(key, 0))
  }

  /**
   * The answer that this very payment bought here before. It needs nothing of the host, so it is given
   * before any check that only a new sale must pass.
   */
  recall(request: FastifyRequest, terms: Terms): Promise<Answer | null> {
    return this.#neverDenying(request, () => this.#recalled(request, terms))
  }

  /** @returns the sale that the handler shall work for, or the answer that ends the request */
  async admit(request: FastifyRequest, terms: Terms): Promise<Sale | Answer> {
    const visit = this.#admission.open(callerKey(request.ip))
    try {
      return await this.#neverDenying(request, () => this.#admitted(request, terms, visit))
    } finally {
      visit.end()
    }
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
    const before = this.#before(offer)
    if (before === null || isReleased(before) || !this.#isOfBuyer(offer, before)) return null
    const answer = await this.#again(request, offer, before)
    const { closure } = this.#options
    if (!closure.isClosed() || answer.status !== 200) return answer
    this.#expectCaller(offer, closure.retryAfterSeconds * 1_000 + CALLER_ACCESS_MS)
    return keptForLater(request, closure.retryAfterSeconds)
  }

  async #admitted(request: FastifyRequest, terms: Terms, visit: NodeVisit): Promise<Sale | Answer> {
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
    const wrong =
      misfit ?? (await this.#failures.check(caller, () => this.#flaw(request, offer, visit)))
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
      return this.#ranErrand(request, offer, offer.payment.errand, visit)

    // From here to the claim nothing waits, so that of many copies one wins.
    const meanwhile =
      this.#earlier(request, offer) ??
      this.#nonceConflict(request, offer) ??
      this.#identifierConflict(request, offer)
    if (meanwhile !== null) {
      // A copy may wait long for its answer, and asks nothing more.
      visit.end()
      return meanwhile
    }
    if (this.#claims.full) return crowded(request)
    const claim = this.#claims.open(offer.id, this.#purchase(offer))
    this.#identify(offer, claim)
    void claim.answer.then((answer) => this.#ended(payer, answer))
    return this.#verified(request, offer, claim, visit)
  }

  /** What is wrong with a payment, or the answer that ends the request where that cannot be told now. */
  async #flaw(
    request: FastifyRequest,
    offer: Offer,
    visit: NodeVisit,
  ): Promise<Rejection | Answer | null> {
    const { payment } = offer
    let isAsked = false
    const ask: AskNode = async (question) => {
      const refusal = await this.#stranger(request, payment, visit)
      if (refusal !== null) throw new NotAsked(refusal)
      isAsked = true
      return question()
    }
    try {
      const flaw = await payment.check(this.#options.clock.nowMs(), ask)
      if (isAsked && flaw !== null) visit.fail()
      return flaw
    } catch (cause) {
      if (cause instanceof NotAsked) return cause.answer
      if (!(cause instanceof OperatingError)) throw cause
      visit.unanswered()
      this.#emit(request, { kind: 'unavailable', payer: payment.payer, reason: cause.message })
      return unavailable(request)
    }
  }

  /**
   * Before a node is asked who signed: until then anybody can have named this payer.
   * @returns the answer that ends the request where no node may be asked
   */
  async #stranger(
    request: FastifyRequest,
    { payer }: Payment,
    visit: NodeVisit,
  ): Promise<Answer | null> {
    const bar = await this.#failures.barred(payer)
    if (bar !== null) return this.#stopped(request, bar)
    const sales = await this.#wallets.peek(payer)
    if (!sales.allowed) return this.#limited(request, this.#wallets, sales)
    return (
      (await this.#reserved(request, visit)) ?? this.#unadmitted(request, await visit.start('new'))
    )
  }

  /** @returns the answer that ends the request where its address may ask no node about new payers */
  async #reserved(request: FastifyRequest, visit: NodeVisit): Promise<Answer | null> {
    const hit = await this.#failures.unverified(callerKey(request.ip))
    return hit === null
      ? this.#unadmitted(request, await visit.reserve())
      : this.#stopped(request, hit)
  }

  #unadmitted(request: FastifyRequest, refusal: AdmissionRefusal | null): Answer | null {
    if (refusal === null) return null
    if (refusal.of === 'unverified') return this.#stopped(request, refusal)
    this.#emit(request, { kind: 'limited' })
    return crowded(request)
  }

  /**
   * What keeps a payment from the node although its signature is right. Known payers come at once; new ones within
   * the limit of their address, and after those who come at the same time were asked about together.
   * @returns null for a payment that may be verified now
   */
  async #barrier(
    request: FastifyRequest,
    { payment }: Offer,
    visit: NodeVisit,
  ): Promise<Answer | Screened | null> {
    const { payer } = payment
    let barrier: Answer | Screened | null
    if (this.#options.ledger.hasSettled(payer) && !(await this.#failures.wasRefused(payer)))
      barrier = this.#unadmitted(request, await visit.start('known'))
    else
      barrier =
        (await this.#reserved(request, visit)) ??
        (await this.#till.screen(payment)) ??
        this.#unadmitted(request, await visit.start('new'))
    // A payment that was turned away unread is no sale of its wallet.
    if (barrier !== null && 'status' in barrier) await this.#wallets.giveBack(payer)
    return barrier
  }

  /** A sale that failed by our fault does not count in the limit of its wallet. */
  #ended(payer: string, { status }: Answer): void {
    if (status >= 500) void this.#wallets.giveBack(payer)
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

  async #verified(
    request: FastifyRequest,
    offer: Offer,
    claim: Claim,
    visit: NodeVisit,
  ): Promise<Sale | Answer> {
    let refusal: Answer
    try {
      const beganMs = this.#options.clock.nowMs()
      const barrier = await this.#barrier(request, offer, visit)
      if (barrier !== null && 'status' in barrier) {
        claim.close(barrier)
        return barrier
      }
      const wasBegunHere = this.#wasBegunHere(offer)
      const admission = barrier ?? (await this.#till.verify(offer.payment, wasBegunHere))
      const tookMs = this.#options.clock.nowMs() - beganMs
      const isUsed = admission.kind === 'paid' || admission.kind === 'open'
      const isForeign = isUsed && !wasBegunHere
      // An open one may be right, and it has cost more questions than any other.
      if (isForeign || admission.kind === 'refused' || admission.kind === 'open') visit.fail()
      if (admission.kind === 'unavailable') visit.unanswered()
      if (isForeign) {
        refusal = this.#usedBefore(request, offer)
      } else if (admission.kind === 'valid' || admission.kind === 'paid') {
        this.#emit(request, { kind: 'verified', payer: offer.key.payer, tookMs })
        const prepaid = admission.kind === 'paid' ? admission.transaction : null
        return this.#sale(request, { ...offer, claim, prepaid })
      } else {
        refusal =
          admission.kind === 'refused'
            ? await this.#refused(request, offer, admission)
            : this.#unpaid(request, offer, admission)
      }
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
    visit: NodeVisit,
  ): Promise<Answer> {
    const barrier = await this.#barrier(request, offer, visit)
    if (barrier !== null)
      return 'status' in barrier ? barrier : this.#unpaid(request, offer, barrier)
    const settlement = await errand()
    if (settlement.kind === 'rejected') {
      visit.fail()
      const rejection = facilitatorRejection(settlement.reason)
      return this.#refused(request, offer, { rejection })
    }
    if (settlement.kind === 'unreachable') {
      visit.unanswered()
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
          access: sale.claim.access,
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
      if (cause instanceof LedgerBusyError) return ledgerBusy(request, prepaid !== null)
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

  /** What follows where the same payment came before: its answer, or the refusal. null where it is new. */
  #earlier(request: FastifyRequest, offer: Offer): Promise<Answer> | null {
    const before = this.#before(offer)
    if (before === null) return null
    if (!this.#isOfBuyer(offer, before))
      return offer.payment.refusesRepetitions === true
        ? null
        : this.#counted(request, () => this.#usedBefore(request, offer))
    return isReleased(before) ? null : this.#again(request, offer, before)
  }

  /** The same signed payment in flight or in the ledger. */
  #before({ id, key, payloadHash }: Offer): Claim | LedgerRow | null {
    const before = this.#claims.find(id) ?? legible(() => this.#options.ledger.find(key))
    return before?.payloadHash === payloadHash ? before : null
  }

  /** Whether it is the buyer who sends it again, for what it bought; nothing that a chain shows proves that. */
  #isOfBuyer({ binding, shown }: Offer, before: Claim | LedgerRow): boolean {
    if (before.access === null || !opens(before.access, shown, this.#options.clock.nowMs()))
      return false
    // What was not sold may be tried again for another call.
    return before.binding === binding || isReleased(before)
  }

  /** For the buyer: wait for the first request, repeat its answer, or clear up what became of the money. */
  #again(request: FastifyRequest, offer: Offer, before: Claim | LedgerRow): Promise<Answer> {
    if (!('state' in before)) return this.#copied(request, offer, before)
    const { answer, transaction } = before
    if (answer === null) return this.#counted(request, () => this.#usedUp(request, offer, before))
    if (before.state !== 'settled' && before.state !== 'unconfirmed')
      return this.#counted(request, () => this.#reconciled(request, offer, before, answer))
    return this.#counted(request, () => {
      this.#emit(request, { kind: 'replayed', payer: offer.key.payer })
      return this.#given(
        request,
        offer,
        this.#hasCopy(request, offer, answer) ? notModified(answer) : answer,
        transaction ?? '',
      )
    })
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
  #nonceConflict(request: FastifyRequest, { id, key }: Offer): Answer | null {
    const before = this.#claims.find(id) ?? legible(() => this.#options.ledger.find(key))
    if (before === null || isReleased(before)) return null
    this.#emit(request, { kind: 'conflict', payer: key.payer })
    return nonceTaken(request)
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

  async #copied(request: FastifyRequest, { key }: Offer, claim: Claim): Promise<Answer> {
    const answer = await within(this.#options.clock, COPY_WAIT_MS_MAX, claim.answer, null)
    if (answer === null) return inFlight(request)
    if (answer.status === 200 && isByAddress(claim.access)) this.#byAddressAlone.set(request, key)
    return answer
  }

  async #reconciled(
    request: FastifyRequest,
    offer: Offer,
    row: LedgerRow,
    stored: Answer,
  ): Promise<Answer> {
    if (this.#claims.full) return outcomeOpen(request, row.transaction)
    const claim = this.#claims.open(offer.id, this.#purchase(offer))
    let answer: Answer
    try {
      this.#expectCaller(offer, CALLER_ACCESS_MS)
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
    if (verdict.kind === 'open') this.#expectCaller(offer, CALLER_ACCESS_OPEN_MS)
    if (verdict.kind !== 'paid' && verdict.kind !== 'trusted') {
      return this.#unpaid(request, offer, verdict)
    }
    const { transaction } = verdict
    const kind = verdict.kind === 'paid' ? 'settled' : 'trusted'
    const took = tookMs === undefined ? {} : { tookMs }
    this.#emit(request, { kind, payer: offer.key.payer, transaction, ...took })
    const given = await this.#given(request, offer, answer, transaction)
    const { extensionResponses } = verdict
    if (extensionResponses === undefined) return given
    return { ...given, headers: { ...given.headers, 'extension-responses': extensionResponses } }
  }

  /** The answer as its buyer gets it. */
  #given(
    request: FastifyRequest,
    { key, payment, shown }: Offer,
    answer: Answer,
    transaction: string,
  ): Promise<Answer> {
    if (isByAddress(shown)) this.#byAddressAlone.set(request, key)
    return this.#receipted(payment, answer, transaction)
  }

  /** The buyer may be back within `ms`, with nothing but its address to show. */
  #expectCaller({ key, shown }: Offer, ms: number): void {
    if (isByAddress(shown)) this.#admitCaller(key, this.#options.clock.nowMs() + ms)
  }

  #admitCaller(key: PaymentKey, untilMs: number): void {
    try {
      this.#options.ledger.admitCaller(key, untilMs)
    } catch (cause) {
      // It stays as it was, which ends by itself.
      this.#options.emit({ kind: 'failed', route: null, payer: key.payer, cause })
    }
  }

  /** What a claim and a row remember of a purchase. */
  #purchase({ binding, payloadHash, shown }: Offer) {
    const callerUntilMs = this.#options.clock.nowMs() + CALLER_ACCESS_MS
    return { binding, payloadHash, access: { ...shown, callerUntilMs } }
  }

  /** A payment that was refused before and is on chain now: only what was begun here can have been for us. */
  #wasBegunHere({ key, payloadHash }: Offer): boolean {
    return legible(() => this.#options.ledger.find(key))?.payloadHash === payloadHash
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
        return unavailable(request, verdict)
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

  /** Counts a payment that came before, whatever it gets: neither guesses nor right ones are free or stand out. */
  async #counted(request: FastifyRequest, give: () => Answer | Promise<Answer>): Promise<Answer> {
    const allowance = await this.#repeats.take(callerKey(request.ip))
    return allowance.allowed ? give() : this.#limited(request, this.#repeats, allowance)
  }

  #usedBefore(request: FastifyRequest, { key }: Offer): Answer {
    this.#emit(request, { kind: 'conflict', payer: key.payer })
    return usedBefore(request)
  }

  #offer(
    request: FastifyRequest,
    terms: Terms,
    requirement: Requirement,
    { payload, extensions }: PaymentEnvelope,
  ): Offer {
    const { network, asset } = requirement.method
    const url = resourceUrl(request, this.#options.publicUrl)
    const purchase = { requirement, resourceUrl: url, listing: listingOf(terms.route, url) }
    const payment = requirement.method.read(payload, purchase)
    const { payer, nonce } = payment
    const key = { network, asset, payer, nonce }
    const identifier = identifierIn(extensions)
    return {
      key,
      id: idOf(key),
      binding: bindingOf(request, terms.route),
      payloadHash: payment.hash,
      identifier,
      extensions,
      shown: credentials({ payment: payment.hash, extensions, identifier, address: request.ip }),
      payment,
      terms,
    }
  }

  #quoted(request: FastifyRequest, { route }: Terms): Quoted {
    return {
      resourceUrl: resourceUrl(request, this.#options.publicUrl),
      secret: this.#options.newSecret(),
      ...(route.extensionsOf && { extensions: route.extensionsOf(request) }),
    }
  }

  #emit(request: FastifyRequest, event: Omit<PaymentEvent, 'route'>): void {
    this.#options.emit({ ...event, route: request.routeOptions.url ?? null })
  }
}

/** Why a node may not be asked for a request, as the answer that ends it. */
class NotAsked extends Error {
  override readonly name = 'NotAsked'
  readonly answer: Answer

  constructor(answer: Answer) {
    super('no node may be asked')
    this.answer = answer
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

/** A payment that was refused is as good as new, whether its answer was given or not. */
function isReleased(before: Claim | LedgerRow): boolean {
  return 'state' in before && (before.state === 'released' || before.state === 'lost')
}

/** Nothing but the address stands for the buyer. */
function isByAddress({ secrets }: Credentials): boolean {
  return secrets.length === 0
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

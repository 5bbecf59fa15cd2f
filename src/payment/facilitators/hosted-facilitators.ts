import { backOffMs } from '../../domain/back-off.ts'
import type { Clock } from '../../domain/clock.ts'
import type { HealthFault } from '../health-monitor.ts'
import type {
  DecodedPayment,
  Facilitator,
  Outcome,
  Settlement,
  Unreachable,
  Verification,
} from '../payment.ts'
import { withTimeout } from '../with-timeout.ts'
import type { Kind } from './capability.ts'
import type { FacilitatorState } from './facilitator-health.ts'
import type { FacilitatorAddress } from './hosted-facilitator.ts'
import { HostedFacilitator } from './hosted-facilitator.ts'
import type { CallBounds } from './http-facilitator.ts'
import { callBounds, noOutcomeNode } from './http-facilitator.ts'
import { PendingSettlements } from './pending-settlements.ts'

export type HostedFacilitatorsOptions = {
  /** In order of preference, at least one. */
  readonly addresses: readonly FacilitatorAddress[]
  readonly clock: Clock
  /** For call time-outs, if different. */
  readonly callClock?: Clock
  /** In [0, 1): spreads the probes of many services. */
  readonly chance: () => number
  readonly bounds?: CallBounds
  readonly onNotice?: (notice: FacilitatorChange) => void
}

/** A change of health, for the log. Contains no URL and no header. */
export type FacilitatorChange = FacilitatorReport & { readonly before: FacilitatorState }

export type FacilitatorReport = {
  readonly name: string
  readonly state: FacilitatorState
  readonly sinceMs: number
  /** Whether payments go to this facilitator first. */
  readonly isInUse: boolean
  readonly lastError: { readonly reason: string; readonly atMs: number } | null
}

/** Result of a request for the supported kinds. */
export type Examination = FacilitatorReport & {
  /** null without an answer. */
  readonly can: readonly Kind[] | null
  readonly cannot: readonly Kind[]
}

/** What a node reports about payments of one kind. */
export type ChainView<P extends DecodedPayment> = {
  outcome(payment: P): Promise<Outcome>
  /**
   * @returns whether a transaction pays the payment; null while the node does not have it
   * @throws when the node does not answer
   */
  isPaidBy(payment: P, transaction: string): Promise<boolean | null>
}

/** While in service: its supported kinds can change. */
const REFRESH_MS = 60_000
/** While out of service. */
const probeBackOff = { minMs: 1_000, maxMs: 60_000 }
/** Below the time-out of the settlement coordinator, which then gets the reason. */
const VERIFY_MS_MAX = 9_000
/** A settlement that starts elsewhere later could end after the time-out of the coordinator. */
const SETTLE_FAIL_OVER_MS_MAX = 2_000

/** From the begin of a settlement, below the time-out of the coordinator. The node can lag behind the facilitator's. */
const SEEN_MS_MAX = 9_000
/** Between requests for a transaction. */
const seenBackOff = { minMs: 250, maxMs: 1_000 }

const nobody: Unreachable = {
  kind: 'unreachable',
  reason: 'no facilitator is in service',
  retryAfterSeconds: probeBackOff.maxMs / 1_000,
}

/**
 * Hosted facilitators in order of preference. A verification goes to the next one when one does not answer. A
 * settlement goes to the one that verified, and to another one only if it was never started.
 */
export class HostedFacilitators {
  readonly #options: HostedFacilitatorsOptions
  readonly #all: readonly HostedFacilitator[]
  readonly #kinds: Kind[] = []
  readonly #cancelProbe = new Map<HostedFacilitator, () => void>()
  readonly #verifiedBy = new WeakMap<DecodedPayment, HostedFacilitator>()
  readonly #pending: PendingSettlements<HostedFacilitator>
  readonly #reported = new Map<HostedFacilitator, FacilitatorState>()
  #isStarted = false

  constructor(options: HostedFacilitatorsOptions) {
    const { addresses, clock, callClock = clock, bounds = callBounds } = options
    this.#options = options
    this.#pending = new PendingSettlements(clock)
    const names = namesOf(addresses)
    this.#all = addresses.map((address, at) => {
      const facilitator: HostedFacilitator = new HostedFacilitator({
        address,
        name: names[at] ?? '',
        clock,
        callClock,
        bounds,
        onHealth: () => this.#reportChange(facilitator),
      })
      this.#reported.set(facilitator, facilitator.health.state)
      return facilitator
    })
  }

  /**
   * The facilitator interface of one kind.
   * @param chain null without a node
   */
  of<P extends DecodedPayment>(kind: Kind, chain: ChainView<P> | null = null): Facilitator<P> {
    this.#kinds.push(kind)
    return {
      verify: (payment) => this.#verify(kind, payment),
      settle: (payment) => this.#settle(kind, payment, chain),
      outcome: async (payment) => chain?.outcome(payment) ?? noOutcomeNode,
    }
  }

  /** Reads the supported kinds of each facilitator once, at the start. */
  async examine(): Promise<readonly Examination[]> {
    await Promise.all(this.#all.map((facilitator) => facilitator.probe(this.#kinds)))
    return this.#all.map((facilitator) => {
      const can = this.#kinds.filter((kind) => facilitator.offer(kind) !== null)
      return {
        ...this.#report(facilitator),
        can: facilitator.isSupportedKnown ? can : null,
        cannot: this.#kinds.filter((kind) => !can.includes(kind)),
      }
    })
  }

  /** `extra` of a kind by the most preferred facilitator that supports it; on Solana it names the fee payer. */
  offer(kind: Kind): Readonly<Record<string, unknown>> | null {
    for (const facilitator of this.#all) {
      const offer = facilitator.offer(kind)
      if (offer !== null) return offer
    }
    return null
  }

  /** Why no payment of a kind can be settled now, or null. */
  fault(kind: Kind): HealthFault | null {
    const able = this.#all.filter(
      (facilitator) => !facilitator.isSupportedKnown || facilitator.offer(kind) !== null,
    )
    if (able.some(({ health }) => !health.isGone)) return null
    const reasons = able.map(({ name, health }) => `${name} is ${health.state}`)
    const sinceMs = Math.max(...this.#all.map(({ health }) => health.sinceMs))
    return { reason: reasons.join(', ') || nobody.reason, sinceMs }
  }

  /** Starts periodic probes until `stop`. */
  start(): void {
    if (this.#kinds.length === 0) return
    this.#isStarted = true
    for (const facilitator of this.#all) this.#schedule(facilitator)
  }

  stop(): void {
    this.#isStarted = false
    for (const cancel of this.#cancelProbe.values()) cancel()
  }

  reports(): readonly FacilitatorReport[] {
    return this.#all.map((facilitator) => this.#report(facilitator))
  }

  async #verify(kind: Kind, payment: DecodedPayment): Promise<Verification> {
    const { clock } = this.#options
    const endMs = clock.nowMs() + VERIFY_MS_MAX
    let failure: Unreachable | null = null
    for (const facilitator of this.#candidates(kind, payment)) {
      const leftMs = endMs - clock.nowMs()
      if (leftMs <= 0) break
      const late: Verification = {
        kind: 'unreachable',
        reason: `${facilitator.name} did not answer in time`,
      }
      const verification = await withTimeout(clock, leftMs, facilitator.verify(payment), late)
      if (verification.kind !== 'unreachable') {
        this.#verifiedBy.set(payment, facilitator)
        return verification
      }
      failure = hopeful(failure, verification)
    }
    return failure ?? nobody
  }

  /**
   * A settlement that may be in progress is never started elsewhere: a pending payment goes to the same facilitator
   * until it expires.
   */
  async #settle<P extends DecodedPayment>(
    kind: Kind,
    payment: P,
    chain: ChainView<P> | null,
  ): Promise<Settlement> {
    const { clock } = this.#options
    const startedAtMs = clock.nowMs()
    const holder = this.#pending.find(payment)
    let failure: Unreachable | null = null
    for (const facilitator of holder === null ? this.#settlers(kind, payment) : [holder]) {
      if (clock.nowMs() - startedAtMs > SETTLE_FAIL_OVER_MS_MAX) break
      // Before the answer, because the caller can time out and try again.
      this.#pending.add(payment, facilitator)
      const claimed = await facilitator.settle(payment)
      const isBorneOut =
        claimed.kind !== 'settled' ||
        chain === null ||
        (await this.#isSeen(payment, claimed.transaction, chain, startedAtMs + SEEN_MS_MAX))
      const last = isBorneOut ? claimed : unseen(facilitator, claimed.transaction)
      const isLastWord = last.kind === 'settled' || (holder === null && last.kind !== 'unknown')
      if (isLastWord) this.#pending.delete(payment)
      if (last.kind !== 'unreachable') return last
      failure = hopeful(failure, last)
    }
    return failure ?? nobody
  }

  /**
   * Whether the chain confirms a reported transaction. Without any answer of the node the facilitator is trusted; not
   * after the node answered once that it does not have the transaction.
   */
  async #isSeen<P extends DecodedPayment>(
    payment: P,
    transaction: string,
    chain: ChainView<P>,
    endMs: number,
  ): Promise<boolean> {
    const { clock } = this.#options
    for (let asked = 1; ; asked += 1) {
      const unanswered = asked === 1 ? true : null
      const answer = chain.isPaidBy(payment, transaction).catch(() => unanswered)
      const leftMs = Math.max(1, endMs - clock.nowMs())
      const isPaid = await withTimeout(clock, leftMs, answer, unanswered)
      if (isPaid !== null) return isPaid
      const waitMs = backOffMs(seenBackOff, asked, 1)
      if (clock.nowMs() + waitMs > endMs) return false
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
  }

  /** The facilitator that verified comes first. */
  #settlers(kind: Kind, payment: DecodedPayment): readonly HostedFacilitator[] {
    const candidates = this.#candidates(kind, payment)
    const verifier = this.#verifiedBy.get(payment)
    if (verifier === undefined) return candidates
    return [verifier, ...candidates.filter((facilitator) => facilitator !== verifier)]
  }

  /** Facilitators in service first, then those that are down; never those that refuse us or support nothing. */
  #candidates(kind: Kind, payment: DecodedPayment): readonly HostedFacilitator[] {
    const able = this.#all.filter((facilitator) => facilitator.canDo(kind, payment))
    return [
      ...able.filter(({ health }) => health.isInService),
      ...able.filter(({ health }) => health.state === 'down'),
    ]
  }

  #schedule(facilitator: HostedFacilitator): void {
    this.#cancelProbe.get(facilitator)?.()
    if (!this.#isStarted) return
    const { clock, chance } = this.#options
    const { isInService, failures } = facilitator.health
    const delayMs = isInService
      ? REFRESH_MS
      : backOffMs(probeBackOff, Math.max(1, failures), chance())
    const cancel = clock.after(delayMs, () => {
      void facilitator.probe(this.#kinds).then(() => this.#schedule(facilitator))
    })
    this.#cancelProbe.set(facilitator, cancel)
  }

  /** A facilitator that just left service is probed soon. */
  #reportChange(facilitator: HostedFacilitator): void {
    const before = this.#reported.get(facilitator) ?? 'untried'
    const { state } = facilitator.health
    if (state === before) return
    this.#reported.set(facilitator, state)
    this.#schedule(facilitator)
    this.#options.onNotice?.({ ...this.#report(facilitator), before })
  }

  #report(facilitator: HostedFacilitator): FacilitatorReport {
    const { state, sinceMs, lastError } = facilitator.health
    const isInUse = facilitator === this.#all.find(({ health }) => health.isInService)
    return { name: facilitator.name, state, sinceMs, isInUse, lastError }
  }
}

/** Of two failures, the one that allows the earlier retry. */
function hopeful(one: Unreachable | null, other: Unreachable): Unreachable {
  if (one === null || one.isLasting === true) return other
  if (other.isLasting === true) return one
  return (one.retryAfterSeconds ?? 0) < (other.retryAfterSeconds ?? 0) ? one : other
}

/** The chain has no such transaction, or it pays something else. */
function unseen(facilitator: HostedFacilitator, transaction: string): Settlement {
  const reason = `${facilitator.name} reports transaction ${transaction}, which does not pay on chain`
  facilitator.contradicted(reason)
  return { kind: 'unknown', reason, transaction: null }
}

/** The origin, which contains no secret, numbered if several are equal. */
function namesOf(addresses: readonly FacilitatorAddress[]): readonly string[] {
  const origins = addresses.map(({ url }) => new URL(url).origin)
  return origins.map((origin, at) => {
    const before = origins.slice(0, at).filter((other) => other === origin).length
    return before === 0 ? origin : `${origin}#${before + 1}`
  })
}

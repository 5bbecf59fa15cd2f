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
import { callBounds } from './http-facilitator.ts'
import { PendingSettlements } from './pending-settlements.ts'

export type HostedFacilitatorsOptions = {
  /** In order of preference, at least one. */
  readonly addresses: readonly FacilitatorAddress[]
  readonly clock: Clock
  /** For the deadlines of calls, where it is another one. */
  readonly callClock?: Clock
  /** In [0, 1), so that many services do not ask one facilitator in step. */
  readonly chance: () => number
  readonly bounds?: CallBounds
  readonly onNotice?: (notice: FacilitatorChange) => void
}

/** A change in how a facilitator is doing, for the log. Holds no URL and no header. */
export type FacilitatorChange = FacilitatorReport & { readonly before: FacilitatorState }

export type FacilitatorReport = {
  readonly name: string
  readonly state: FacilitatorState
  readonly sinceMs: number
  /** Whether it is the most preferred of those in service, so that payments go there first. */
  readonly isInUse: boolean
  readonly lastError: { readonly reason: string; readonly atMs: number } | null
}

/** What a facilitator said when it was asked what it can do. */
export type Examination = FacilitatorReport & {
  /** null when it gave no answer. */
  readonly can: readonly Kind[] | null
  readonly cannot: readonly Kind[]
}

/** What a node says of payments of one kind, whatever a facilitator says. */
export type ChainView<P extends DecodedPayment> = {
  outcome(payment: P): Promise<Outcome>
  /** Whether a transaction pays it; null while the node does not know the transaction. @throws where it does not answer */
  isPaidBy(payment: P, transaction: string): Promise<boolean | null>
}

/** Of one that is in service: it may have learned or forgotten a chain. */
const REFRESH_MS = 60_000
/** Of one that is not. */
const probeBackOff = { minMs: 1_000, maxMs: 60_000 }
/** Below the coordinator's own bound, so that it hears a reason. */
const VERIFY_MS_MAX = 9_000
/** After that a settlement that begins elsewhere could end after the coordinator has stopped waiting. */
const SETTLE_FAIL_OVER_MS_MAX = 2_000

/** From the begin of a settlement, below the coordinator's own bound. A node may be some blocks behind the facilitator's. */
const SEEN_MS_MAX = 9_000
/** Between two questions whether a node knows a transaction. */
const seenBackOff = { minMs: 250, maxMs: 1_000 }

/** Whoever is out of service is asked that often at least whether it is back. */
const nobody: Unreachable = {
  kind: 'unreachable',
  reason: 'no facilitator is in service',
  retryAfterSeconds: probeBackOff.maxMs / 1_000,
}

/**
 * Facilitators of others, in order of preference. What only asks goes to the next one when one does not
 * answer; what moves money goes to the one that verified, and to another only when it surely never began.
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

  /** All of them as the one who settles payments of a kind. @param chain null where no node is known */
  of<P extends DecodedPayment>(kind: Kind, chain: ChainView<P> | null = null): Facilitator<P> {
    this.#kinds.push(kind)
    return {
      verify: (payment) => this.#verify(kind, payment),
      settle: (payment) => this.#settle(kind, payment, chain),
      outcome: async (payment) =>
        chain?.outcome(payment) ?? { kind: 'unknown', reason: 'no RPC URL is configured' },
    }
  }

  /** Asks each once what it can do, before anything is sold. */
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

  /** The `extra` of a kind by the most preferred that can do it: on Solana it names who pays the fee. */
  offer(kind: Kind): Readonly<Record<string, unknown>> | null {
    for (const facilitator of this.#all) {
      const offer = facilitator.offer(kind)
      if (offer !== null) return offer
    }
    return null
  }

  /** Why no payment of a kind can be settled now; null where one may. */
  fault(kind: Kind): HealthFault | null {
    const able = this.#all.filter(
      (facilitator) => !facilitator.isSupportedKnown || facilitator.offer(kind) !== null,
    )
    if (able.some(({ health }) => !health.isGone)) return null
    const reasons = able.map(({ name, health }) => `${name} is ${health.state}`)
    const sinceMs = Math.max(...this.#all.map(({ health }) => health.sinceMs))
    return { reason: reasons.join(', ') || nobody.reason, sinceMs }
  }

  /** From now on each that is needed is asked from time to time whether it is there, until `stop`. */
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
      const late: Verification = { kind: 'unreachable', reason: `${facilitator.name} is slow` }
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
   * A settlement that may be under way is never begun elsewhere: a payment in doubt goes back to the one
   * that has it, for as long as the authorization could be settled.
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
      // Before the answer, too: whoever asks may stop waiting for it, and ask again.
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
   * Whether the chain bears out that a transaction pays. A facilitator is believed where the node does not answer at
   * all; not where the node has answered once that it does not know the transaction, and then falls silent.
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

  /** The one that verified first. */
  #settlers(kind: Kind, payment: DecodedPayment): readonly HostedFacilitator[] {
    const candidates = this.#candidates(kind, payment)
    const verifier = this.#verifiedBy.get(payment)
    if (verifier === undefined) return candidates
    return [verifier, ...candidates.filter((facilitator) => facilitator !== verifier)]
  }

  /** Those in service first. Who is down is tried when all are; who refuses us, or is unfit, is not. */
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

  /** Who has just left the service is asked soon whether it is back. */
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

/** What a buyer is told of two who did not do it: what the one said that may do it sooner. */
function hopeful(one: Unreachable | null, other: Unreachable): Unreachable {
  if (one === null || one.isLasting === true) return other
  if (other.isLasting === true) return one
  return (one.retryAfterSeconds ?? 0) < (other.retryAfterSeconds ?? 0) ? one : other
}

/** The chain has no such transaction, or it does something else. */
function unseen(facilitator: HostedFacilitator, transaction: string): Settlement {
  const reason = `${facilitator.name} says that ${transaction} pays, and the chain does not`
  facilitator.contradicted(reason)
  return { kind: 'unknown', reason, transaction: null }
}

/** The origin, which holds no secret, and a number where two have the same. */
function namesOf(addresses: readonly FacilitatorAddress[]): readonly string[] {
  const origins = addresses.map(({ url }) => new URL(url).origin)
  return origins.map((origin, at) => {
    const before = origins.slice(0, at).filter((other) => other === origin).length
    return before === 0 ? origin : `${origin}#${before + 1}`
  })
}

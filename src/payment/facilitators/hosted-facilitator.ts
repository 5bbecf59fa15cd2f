import type { SupportedResponse } from '@x402/core/types'
import type { Clock } from '../../domain/clock.ts'
import type { DecodedPayment, Settlement, Verification } from '../payment.ts'
import { withTimeout } from '../with-timeout.ts'
import type { Kind } from './capability.ts'
import { capability, paysFee } from './capability.ts'
import { FacilitatorHealth } from './facilitator-health.ts'
import type { CallBounds, FacilitatorCall, HttpFacilitator } from './http-facilitator.ts'
import { httpFacilitator } from './http-facilitator.ts'

/** URL and authorization of a facilitator. */
export type FacilitatorAddress = { readonly url: string; readonly authorization?: string }

export type HostedFacilitatorOptions = {
  readonly address: FacilitatorAddress
  /** For logs and metrics: path and query of the URL can contain a key. */
  readonly name: string
  readonly clock: Clock
  /** For call time-outs. */
  readonly callClock: Clock
  readonly bounds: CallBounds
  /** Called after every possible change of its health. */
  readonly onHealth: () => void
}

const PROBE_MS_MAX = 6_000

/** One facilitator over HTTP with its health and supported kinds. */
export class HostedFacilitator {
  readonly name: string
  readonly health: FacilitatorHealth
  readonly #options: HostedFacilitatorOptions
  readonly #payments: HttpFacilitator<DecodedPayment>
  readonly #probes: HttpFacilitator<DecodedPayment>
  #supported: SupportedResponse | null = null

  constructor(options: HostedFacilitatorOptions) {
    const { address, name, clock, callClock, bounds } = options
    const service = (during: 'payment' | 'probe') =>
      httpFacilitator({
        ...address,
        clock: callClock,
        bounds,
        onCall: (call) => this.#note(call, during),
      })
    this.#options = options
    this.name = name
    this.health = new FacilitatorHealth(clock.nowMs())
    this.#payments = service('payment')
    this.#probes = service('probe')
  }

  verify(payment: DecodedPayment): Promise<Verification> {
    return this.#payments.verify(payment)
  }

  settle(payment: DecodedPayment): Promise<Settlement> {
    return this.#payments.settle(payment)
  }

  /** The chain contradicts its report about a payment. */
  contradicted(reason: string): void {
    this.#note({ kind: 'failed', reason }, 'payment')
  }

  /**
   * Reads its supported kinds.
   * @param kinds that are sold; without any of them it is out of service
   */
  async probe(kinds: readonly Kind[]): Promise<void> {
    const { clock } = this.#options
    try {
      const supported = await withTimeout(clock, PROBE_MS_MAX, this.#probes.supported(), null)
      if (supported === null) {
        this.#note({ kind: 'failed', reason: `no answer within ${PROBE_MS_MAX} ms` }, 'probe')
        return
      }
      this.#supported = supported
      this.health.probed(
        kinds.length === 0 || kinds.some((kind) => this.offer(kind) !== null),
        clock.nowMs(),
      )
      this.#options.onHealth()
    } catch {
      // The call reports the failure.
    }
  }

  /** `extra` of a kind; null if it is unsupported or unknown. */
  offer(kind: Kind): Readonly<Record<string, unknown>> | null {
    return this.#supported === null ? null : capability(this.#supported, kind)
  }

  /** Whether it may get a payment. If its supported kinds are unknown, it may. */
  canDo(kind: Kind, { requirement }: DecodedPayment): boolean {
    if (this.#supported === null) return true
    return this.offer(kind) !== null && paysFee(this.#supported, kind, requirement.wire.extra)
  }

  get isSupportedKnown(): boolean {
    return this.#supported !== null
  }

  #note(call: FacilitatorCall, during: 'payment' | 'probe'): void {
    const nowMs = this.#options.clock.nowMs()
    if (call.kind === 'answered') this.health.answered(nowMs)
    else {
      const state = call.kind === 'refused' ? 'refusing' : 'down'
      this.health.failed(state, call.reason, during, nowMs)
    }
    this.#options.onHealth()
  }
}

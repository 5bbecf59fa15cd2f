/**
 * `untried`: unknown. `down`: no valid answer. `refusing`: rejects our authorization. `unfit`: supports nothing of what
 * is sold.
 */
export type FacilitatorState = 'untried' | 'up' | 'down' | 'refusing' | 'unfit'

/** Health of one facilitator by its payments and probes. */
export class FacilitatorHealth {
  #state: FacilitatorState = 'untried'
  #sinceMs: number
  #failures = 0
  #isPaymentAtFault = false
  #isProbeAtFault = false
  #lastError: { readonly reason: string; readonly atMs: number } | null = null

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  get state(): FacilitatorState {
    return this.#state
  }

  get sinceMs(): number {
    return this.#sinceMs
  }

  get lastError(): { readonly reason: string; readonly atMs: number } | null {
    return this.#lastError
  }

  /** Consecutive failures; they lengthen the probe interval. */
  get failures(): number {
    return this.#failures
  }

  /**
   * Whether probes fail, too. A buyer can cause a failed payment, so that alone does not count; a rejected
   * authorization affects every payment.
   */
  get isGone(): boolean {
    return this.#state === 'down' ? this.#isProbeAtFault : !this.isInService
  }

  get isInService(): boolean {
    return this.#state === 'up' || this.#state === 'untried'
  }

  /** A payment was answered. */
  answered(nowMs: number): void {
    this.#failures = 0
    this.#isPaymentAtFault = false
    this.#isProbeAtFault = false
    this.#become('up', nowMs)
  }

  /** @param during a failed payment is cleared by a payment, a failed probe by either */
  failed(
    state: 'down' | 'refusing',
    reason: string,
    during: 'payment' | 'probe',
    nowMs: number,
  ): void {
    this.#failures += 1
    this.#isPaymentAtFault ||= during === 'payment'
    this.#isProbeAtFault ||= during === 'probe'
    this.#lastError = { reason, atMs: nowMs }
    this.#become(state, nowMs)
  }

  /**
   * A probe was answered. Payments are sent there again, but failures stay counted until a payment is answered, so that
   * a facilitator that answers probes only is tried more and more rarely.
   */
  probed(isFit: boolean, nowMs: number): void {
    this.#isProbeAtFault = false
    if (!this.#isPaymentAtFault || this.#state === 'up') {
      this.#failures = 0
      this.#isPaymentAtFault = false
    }
    this.#become(isFit ? 'up' : 'unfit', nowMs)
  }

  #become(state: FacilitatorState, nowMs: number): void {
    if (state === this.#state) return
    this.#state = state
    this.#sinceMs = nowMs
  }
}

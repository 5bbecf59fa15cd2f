/**
 * `untried`: nothing is known of it. `down`: it does not answer, or makes no sense. `refusing`: it does not
 * take our authorization. `unfit`: it answers, and can do nothing of what is sold.
 */
export type FacilitatorState = 'untried' | 'up' | 'down' | 'refusing' | 'unfit'

/** How one facilitator is doing, from what payments met there and from probes. */
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

  /** Failures in a row, by which probes grow rarer. */
  get failures(): number {
    return this.#failures
  }

  /**
   * Not even a probe gets through. A payment that failed may have been made to, so it alone does not count; but who
   * refuses our authorization refuses everybody's payment.
   */
  get isGone(): boolean {
    return this.#state === 'down' ? this.#isProbeAtFault : !this.isInService
  }

  get isInService(): boolean {
    return this.#state === 'up' || this.#state === 'untried'
  }

  /** A payment got a verdict. */
  answered(nowMs: number): void {
    this.#failures = 0
    this.#isPaymentAtFault = false
    this.#isProbeAtFault = false
    this.#become('up', nowMs)
  }

  /** @param during a failed payment is undone by a payment, a failed probe by either */
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
   * A probe got an answer. Payments are sent there again; but while none of them has got a verdict since the
   * last one failed, the failures stay counted, so that a service that answers probes alone is tried
   * ever more rarely.
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

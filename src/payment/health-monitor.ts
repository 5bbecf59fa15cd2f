import { backOffMs } from '../domain/back-off.ts'
import type { Clock } from '../domain/clock.ts'
import { withTimeout } from './with-timeout.ts'

/** Why a dependency is not usable, and since when. */
export type HealthFault = { readonly reason: string; readonly sinceMs: number }

export type HealthMonitorOptions = {
  readonly clock: Clock
  /** In [0, 1): spreads the probes of many services. */
  readonly chance: () => number
  /** @returns what is wrong, or null; an exception counts as wrong */
  readonly probe: () => Promise<string | null> | string | null
  readonly onChange?: (fault: HealthFault | null) => void
}

/** While it works. A successful sale counts as a probe. */
const PERIOD_MS = 15_000
/** While it does not work. */
const backOff = { minMs: 1_000, maxMs: 15_000 }
/** Minimum interval of probes after failed payments, which anybody can cause. */
const PROBE_GAP_MS = 1_000
const PROBE_MS_MAX = 6_000

/**
 * Monitors one dependency of sales by a probe on a timer and by the results of sales. A successful sale proves that it
 * works; a failed one only brings the next probe forward, because its buyer can have caused the failure.
 */
export class HealthMonitor {
  readonly #options: HealthMonitorOptions
  #fault: HealthFault | null = null
  #failures = 0
  #probedAtMs = Number.NEGATIVE_INFINITY
  #isStarted = false
  #isProbing = false
  #cancel = () => {}

  constructor(options: HealthMonitorOptions) {
    this.#options = options
  }

  get fault(): HealthFault | null {
    return this.#fault
  }

  start(): void {
    this.#isStarted = true
    void this.probe()
  }

  stop(): void {
    this.#isStarted = false
    this.#cancel()
  }

  /** A sale succeeded. */
  reportSuccess(): void {
    this.#judge(null)
    if (!this.#isProbing) this.#schedule()
  }

  /** A sale failed, possibly because of this dependency. */
  reportFailure(): void {
    if (this.#isProbing || this.#fault !== null || !this.#isStarted) return
    const passedMs = this.#options.clock.nowMs() - this.#probedAtMs
    this.#wait(Math.max(0, Math.min(PROBE_GAP_MS, PROBE_GAP_MS - passedMs)))
  }

  /** Probes now. */
  async probe(): Promise<void> {
    if (this.#isProbing) return
    const { clock, probe } = this.#options
    this.#cancel()
    this.#isProbing = true
    this.#probedAtMs = clock.nowMs()
    const late = `no answer within ${PROBE_MS_MAX} ms`
    try {
      this.#judge(await withTimeout(clock, PROBE_MS_MAX, Promise.resolve(probe()), late))
    } catch (cause) {
      this.#judge(cause instanceof Error ? cause.message : String(cause))
    }
    this.#isProbing = false
    this.#schedule()
  }

  #judge(reason: string | null): void {
    const { clock, onChange } = this.#options
    const before = this.#fault
    this.#failures = reason === null ? 0 : this.#failures + 1
    this.#fault = reason === null ? null : { reason, sinceMs: before?.sinceMs ?? clock.nowMs() }
    if ((before === null) !== (reason === null)) onChange?.(this.#fault)
  }

  #schedule(): void {
    const { chance } = this.#options
    this.#wait(this.#failures === 0 ? PERIOD_MS : backOffMs(backOff, this.#failures, chance()))
  }

  #wait(ms: number): void {
    this.#cancel()
    if (this.#isStarted) this.#cancel = this.#options.clock.after(ms, () => void this.probe())
  }
}

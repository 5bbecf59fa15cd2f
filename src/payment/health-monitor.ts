import { backOffMs } from '../domain/back-off.ts'
import type { Clock } from '../domain/clock.ts'
import { withTimeout } from './with-timeout.ts'

/** Why something cannot be relied on now, and since when. */
export type HealthFault = { readonly reason: string; readonly sinceMs: number }

export type HealthMonitorOptions = {
  readonly clock: Clock
  /** In [0, 1), so that many services do not ask one node in step. */
  readonly chance: () => number
  /** @returns what is wrong, null for nothing; what it throws is wrong as well */
  readonly probe: () => Promise<string | null> | string | null
  readonly onChange?: (fault: HealthFault | null) => void
}

/** Of what works: a sale in between counts as a probe. */
const PERIOD_MS = 15_000
/** Of what does not. */
const backOff = { minMs: 1_000, maxMs: 15_000 }
/** Strangers can make payments fail at will: so often at most that leads to a probe. */
const PROBE_GAP_MS = 1_000
const PROBE_MS_MAX = 6_000

/**
 * Whether one thing that sales depend on works: by a probe on a timer, and by what sales met there. A sale that
 * succeeded is believed; one that failed only brings the next probe forward, because its buyer may have wanted it to.
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

  /** A sale got through. */
  reportSuccess(): void {
    this.#judge(null)
    if (!this.#isProbing) this.#schedule()
  }

  /** A sale failed, perhaps because of this. */
  reportFailure(): void {
    if (this.#isProbing || this.#fault !== null || !this.#isStarted) return
    const passedMs = this.#options.clock.nowMs() - this.#probedAtMs
    this.#wait(Math.max(0, Math.min(PROBE_GAP_MS, PROBE_GAP_MS - passedMs)))
  }

  /** Asks now. */
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

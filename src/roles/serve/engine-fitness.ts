import type { EngineReader } from '../../link/engine-replica.ts'
import type { HealthFault } from '../../payment/health-monitor.ts'

/**
 * Whether the engine of this process may lead: it receives data from the venue and has rendered coins, and has worked
 * since. Before that it has documents of an earlier run at most.
 */
export class EngineFitness {
  readonly #engine: EngineReader
  #isWarm = false
  #unfitSinceMs: number

  constructor(engine: EngineReader, nowMs: number) {
    this.#engine = engine
    this.#unfitSinceMs = nowMs
  }

  isFit(nowMs: number): boolean {
    const isFit =
      this.#engine.state(nowMs) === 'available' &&
      (this.#isWarm || (this.#engine.coins().length > 0 && isFed(this.#engine)))
    if (this.#isWarm && !isFit) this.#unfitSinceMs = nowMs
    this.#isWarm = isFit
    return isFit
  }

  /** null if it may lead. */
  fault(nowMs: number): HealthFault | null {
    if (this.isFit(nowMs)) return null
    return {
      reason:
        'this engine does not receive data from the venue, or has rendered no coin since its start',
      sinceMs: this.#unfitSinceMs,
    }
  }
}

function isFed(engine: EngineReader): boolean {
  const feeds = engine.feeds()
  return feeds.length > 0 && feeds.every(({ state }) => state !== 'down')
}

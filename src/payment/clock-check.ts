import type { Clock } from '../domain/clock.ts'
import type { HealthFault } from './health-monitor.ts'

/** Half of the validity of a payment (120 s). A larger deviation rejects valid payments as expired. */
export const CLOCK_OFF_MS_MAX = 60_000
/** Older readings are ignored. */
const REFERENCE_MS_MAX = 60_000

type Reading = { readonly aheadMs: number; readonly atMs: number }

export type ClockCheckOptions = {
  /** The clock that judges payments. */
  readonly clock: Pick<Clock, 'nowMs'>
  /** Venue clock minus ours, ms; null if unknown. */
  readonly venueAheadMs?: () => number | null
}

/**
 * Compares our clock with the venue's and with block times. One agreeing reference is enough: then the others are
 * wrong.
 */
export class ClockCheck {
  readonly #options: ClockCheckOptions
  readonly #readings = new Map<string, Reading>()
  #sinceMs: number | null = null

  constructor(options: ClockCheckOptions) {
    this.#options = options
  }

  /** @param timeMs time of the reference now */
  report(reference: string, timeMs: number): void {
    const atMs = this.#options.clock.nowMs()
    this.#readings.set(reference, { aheadMs: timeMs - atMs, atMs })
  }

  /** Clock of each known reference minus ours, ms. */
  offsets(): ReadonlyMap<string, number> {
    const { clock, venueAheadMs } = this.#options
    const nowMs = clock.nowMs()
    const offsets = new Map<string, number>()
    const venue = venueAheadMs?.() ?? null
    if (venue !== null) offsets.set('venue', venue)
    for (const [reference, { aheadMs, atMs }] of this.#readings)
      if (Math.abs(nowMs - atMs) <= REFERENCE_MS_MAX) offsets.set(reference, aheadMs)
    return offsets
  }

  /** null while a reference agrees or none is known. */
  get fault(): HealthFault | null {
    const offsets = [...this.offsets()]
    const isOff = offsets.length > 0 && offsets.every(([, ms]) => Math.abs(ms) > CLOCK_OFF_MS_MAX)
    if (!isOff) {
      this.#sinceMs = null
      return null
    }
    this.#sinceMs ??= this.#options.clock.nowMs()
    const readings = offsets.map(
      ([reference, ms]) =>
        `${Math.round(Math.abs(ms) / 1_000)} s ${ms > 0 ? 'behind' : 'ahead of'} ${reference}`,
    )
    return { reason: `the clock of this machine is ${readings.join(', ')}`, sinceMs: this.#sinceMs }
  }

  /** Deviation of one reference while our clock is right; null if there is none. */
  disagrees(reference: string): string | null {
    const aheadMs = this.offsets().get(reference) ?? 0
    if (Math.abs(aheadMs) <= CLOCK_OFF_MS_MAX || this.fault !== null) return null
    return `its newest block is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs < 0 ? 'old' : 'ahead'}`
  }
}

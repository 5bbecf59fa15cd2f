import type { Clock } from '../domain/clock.ts'
import type { HealthFault } from './health-monitor.ts'

/**
 * Half of the 120 s that a payment is good for: a clock that is off by more calls good payments expired, and takes
 * those that the chain will not.
 */
export const CLOCK_OFF_MS_MAX = 60_000
/** An older reading says nothing about the clock now. */
const REFERENCE_MS_MAX = 60_000

type Reading = { readonly aheadMs: number; readonly atMs: number }

export type ClockCheckOptions = {
  /** By which payments are judged. */
  readonly clock: Pick<Clock, 'nowMs'>
  /** The venue's clock minus that one, milliseconds; null while nobody knows. */
  readonly venueAheadMs?: () => number | null
}

/**
 * Compares our clock with the venue's and with the time of blocks. One reference that agrees is enough: the other
 * is itself wrong then, as a node is that has fallen behind.
 */
export class ClockCheck {
  readonly #options: ClockCheckOptions
  readonly #readings = new Map<string, Reading>()
  #sinceMs: number | null = null

  constructor(options: ClockCheckOptions) {
    this.#options = options
  }

  /** @param timeMs what a reference shows at this moment */
  report(reference: string, timeMs: number): void {
    const atMs = this.#options.clock.nowMs()
    this.#readings.set(reference, { aheadMs: timeMs - atMs, atMs })
  }

  /** Of every reference that is known: its clock minus ours, milliseconds. */
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

  /** null while a reference agrees, and where there is none. */
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

  /** Why a reference is itself wrong by its clock; null where it is not, or ours is. */
  disagrees(reference: string): string | null {
    const aheadMs = this.offsets().get(reference) ?? 0
    if (Math.abs(aheadMs) <= CLOCK_OFF_MS_MAX || this.fault !== null) return null
    return `its newest block is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs < 0 ? 'old' : 'ahead'}`
  }
}

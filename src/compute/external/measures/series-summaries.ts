import type { MeasureLog } from '../../market/measure-log.ts'
import type { SeriesSummary } from './minute-statistics.ts'
import { seriesSummary } from './minute-statistics.ts'

/** Twice the time between two refreshes. */
const SUMMARY_MS_MAX = 120_000

type Held = { readonly series: string; readonly atMs: number; readonly summary: SeriesSummary }

/**
 * Caches one summary of a series for each subject for a minute: sorting a week every second is too slow. A subject
 * whose series changes gets a new summary.
 */
export class SeriesSummaries {
  readonly #held = new Map<string, Held>()

  of(subject: string, series: string, log: MeasureLog, nowMs: number): SeriesSummary {
    const held = this.#held.get(subject)
    const isGood = held?.series === series && Math.abs(nowMs - held.atMs) <= SUMMARY_MS_MAX
    return isGood ? held.summary : this.refresh(subject, series, log, nowMs)
  }

  /** Call after a value was recorded. */
  refresh(subject: string, series: string, log: MeasureLog, nowMs: number): SeriesSummary {
    const summary = seriesSummary(log, series, nowMs)
    this.#held.set(subject, { series, atMs: nowMs, summary })
    return summary
  }

  /** Removes subjects that no longer exist. */
  forget(isSubject: (subject: string) => boolean): void {
    for (const subject of this.#held.keys()) if (!isSubject(subject)) this.#held.delete(subject)
  }

  get size(): number {
    return this.#held.size
  }
}

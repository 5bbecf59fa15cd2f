import type { MeasureLog } from '../../market/measure-log.ts'

/** Twice the time between two refreshes. */
const SUMMARY_MS_MAX = 120_000

type Held<Summary> = { readonly series: string; readonly atMs: number; readonly summary: Summary }

/**
 * Caches one summary of a series for each subject for a minute: sorting a week every second is too slow. A subject
 * whose series changes gets a new summary.
 */
export class SeriesSummaries<Summary> {
  readonly #held = new Map<string, Held<Summary>>()
  readonly #summaryOf: (log: MeasureLog, series: string, nowMs: number) => Summary

  constructor(summaryOf: (log: MeasureLog, series: string, nowMs: number) => Summary) {
    this.#summaryOf = summaryOf
  }

  of(subject: string, series: string, log: MeasureLog, nowMs: number): Summary {
    const held = this.#held.get(subject)
    const isGood = held?.series === series && Math.abs(nowMs - held.atMs) <= SUMMARY_MS_MAX
    return isGood ? held.summary : this.refresh(subject, series, log, nowMs)
  }

  /** Call after a value was recorded. */
  refresh(subject: string, series: string, log: MeasureLog, nowMs: number): Summary {
    const summary = this.#summaryOf(log, series, nowMs)
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

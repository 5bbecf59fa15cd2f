import type { MeasureLog } from '../../market/measure-log.ts'
import type { SeriesSummary } from './minute-statistics.ts'
import { seriesSummary } from './minute-statistics.ts'

/** Twice what passes between two refreshes. */
const SUMMARY_MS_MAX = 120_000

type Held = { readonly series: string; readonly atMs: number; readonly summary: SeriesSummary }

/**
 * One summary of a series for each subject, of the minute: a week is too long to be sorted every second.
 * A subject whose series changes has a summary of the new one.
 */
export class SeriesSummaries {
  readonly #held = new Map<string, Held>()

  of(subject: string, series: string, log: MeasureLog, nowMs: number): SeriesSummary {
    const held = this.#held.get(subject)
    const isGood = held?.series === series && Math.abs(nowMs - held.atMs) <= SUMMARY_MS_MAX
    return isGood ? held.summary : this.refresh(subject, series, log, nowMs)
  }

  /** After the log was told a value. */
  refresh(subject: string, series: string, log: MeasureLog, nowMs: number): SeriesSummary {
    const summary = seriesSummary(log, series, nowMs)
    this.#held.set(subject, { series, atMs: nowMs, summary })
    return summary
  }

  /** Of what is not a subject any more. */
  forget(isSubject: (subject: string) => boolean): void {
    for (const subject of this.#held.keys()) if (!isSubject(subject)) this.#held.delete(subject)
  }

  get size(): number {
    return this.#held.size
  }
}

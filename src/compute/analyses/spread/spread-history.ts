import type { CoinEvent } from '../../../domain/event.ts'
import type { MarketSample } from '../../../domain/history.ts'
import { SAMPLE_STEP_MS } from '../../../domain/history.ts'
import type { CoinTracker } from '../../market/coin-tracker.ts'
import { coinTracker } from '../../market/coin-tracker.ts'
import { statisticsOf } from '../../statistics/series-statistics.ts'
import { StepRing } from '../../statistics/step-ring.ts'

const MINUTES_MAX = 1_440
/** Minutes needed for a comparison: an hour. */
export const SPREAD_MINUTES_MIN = 60

/** A quoted spread compared with those of the last 24 hours. */
export type SpreadComparison = {
  /** Median of the quoted spread at whole minutes, bps; null below {@link SPREAD_MINUTES_MIN} minutes. */
  readonly medianBps: number | null
  /** Percentile of the given spread among them, equal values counted half; null likewise. */
  readonly percentile: number | null
  /** Minutes with data. */
  readonly n: number
  /** From the oldest of them to now, in minutes; 0 for none. */
  readonly windowMinutes: number
}

/** The quoted spread of every minute of the last day. */
export class SpreadHistory implements CoinTracker {
  readonly inputs = ['sample-history'] as const
  readonly #minutes = new StepRing(SAMPLE_STEP_MS, MINUTES_MAX, 1)
  /** Cached for a minute. */
  #day: Day | null = null

  apply(event: CoinEvent): void {
    if (event.kind === 'sample-history') for (const sample of event.samples) this.sample(sample)
  }

  sample({ timeMs, spreadBps }: MarketSample): void {
    if (spreadBps === null) return
    this.#minutes.set(this.#minutes.stepOf(timeMs), [spreadBps])
    this.#day = null
  }

  /** @param nowMs by the venue's clock */
  compare(spreadBps: number, nowMs: number): SpreadComparison {
    const step = this.#minutes.stepOf(nowMs)
    if (this.#day?.step !== step) this.#day = this.#dayUntil(step)
    const { n, medianBps, oldestStep } = this.#day
    const isEnough = n >= SPREAD_MINUTES_MIN
    return {
      medianBps: isEnough ? medianBps : null,
      percentile: isEnough ? this.#minutes.percentile(0, oldestStep, step, spreadBps) : null,
      n,
      windowMinutes: n === 0 ? 0 : step - oldestStep + 1,
    }
  }

  #dayUntil(step: number): Day {
    let oldestStep = step - MINUTES_MAX + 1
    const { count: n, median: medianBps } = statisticsOf(this.#minutes.values(0, oldestStep, step))
    while (oldestStep <= step && !this.#minutes.has(oldestStep)) oldestStep += 1
    return { step, n, medianBps, oldestStep }
  }
}

type Day = {
  readonly step: number
  readonly n: number
  readonly medianBps: number
  readonly oldestStep: number
}

export const spreadHistory = coinTracker('spread/history', () => new SpreadHistory())

import type { Bar } from '../../../domain/bar.ts'
import type { CoinEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { CLOSING_GRACE_MS } from '../../candles/candle-ladder.ts'
import type { CoinTracker, TrackedCoin } from '../../market/coin-tracker.ts'
import { coinTracker } from '../../market/coin-tracker.ts'
import { StepRing } from '../../statistics/step-ring.ts'
import type { PriceBars, RealisedVolatility, VolatilityWindow } from './realised-volatility.ts'
import { barsOf, realisedVolatility, volatilityWindows } from './realised-volatility.ts'

/** The bar before a window gives the close that its first return starts from. */
const KEPT = { '15m': barsOf('24h') + 1, '1h': barsOf('7d') + 1 } as const
type BarLength = keyof typeof KEPT
const [OPEN, HIGH, LOW, CLOSE] = [0, 1, 2, 3]
const SAVED_FIELDS = 5

/**
 * Closed 15m bars of the last day and 1h bars of the last week of one coin. 15m bars are saved, because history has no
 * 15m bars to restore them from; 1h bars come from candles and hourly history.
 */
export class VolatilityBars implements CoinTracker {
  readonly inputs = ['hourly-history'] as const
  readonly #rings: Readonly<Record<BarLength, StepRing>> = {
    '15m': new StepRing(timeframeMs['15m'], KEPT['15m'], 4),
    '1h': new StepRing(timeframeMs['1h'], KEPT['1h'], 4),
  }

  /** Realised volatility of the last closed bars of each window. */
  realised(): Readonly<Record<VolatilityWindow, RealisedVolatility>> {
    const of = (window: VolatilityWindow) => {
      const { barMs, windowMs } = volatilityWindows[window]
      return realisedVolatility(this.#bars(barMs === timeframeMs['1h'] ? '1h' : '15m'), windowMs)
    }
    return { '1h': of('1h'), '4h': of('4h'), '24h': of('24h'), '7d': of('7d') }
  }

  apply(event: CoinEvent): void {
    if (event.kind !== 'hourly-history') return
    for (const bar of event.bars)
      if (bar.openTimeMs + timeframeMs['1h'] + CLOSING_GRACE_MS <= event.timeExchangeMs)
        this.#set('1h', bar)
  }

  closed(timeframe: Timeframe, bar: Bar): void {
    if (timeframe !== '4h') this.#set(timeframe, bar)
  }

  save(): Float64Array {
    const ring = this.#rings['15m']
    return Float64Array.from(ring.steps().flatMap((step) => [step, ...ring.row(step)]))
  }

  /** A bar that the restored candles have not closed is closed again by them. */
  restore(saved: Float64Array, { ladder }: Pick<TrackedCoin, 'ladder'>): boolean {
    if (saved.length % SAVED_FIELDS !== 0) return false
    const bars: Omit<Bar, 'volumeBase'>[] = []
    for (let at = 0; at < saved.length; at += SAVED_FIELDS) {
      const [step = 0, open = 0, high = 0, low = 0, close = 0] = saved.subarray(at)
      const openTimeMs = step * timeframeMs['15m']
      if (!Number.isInteger(step)) return false
      if (openTimeMs + timeframeMs['15m'] <= ladder.closedUntilMs)
        bars.push({ openTimeMs, open, high, low, close })
    }
    for (const bar of bars) this.#set('15m', bar)
    return true
  }

  #set(length: BarLength, { openTimeMs, open, high, low, close }: Omit<Bar, 'volumeBase'>): void {
    const ring = this.#rings[length]
    ring.set(ring.stepOf(openTimeMs), [open, high, low, close])
  }

  #bars(length: BarLength): PriceBars {
    const ring = this.#rings[length]
    const newest = ring.newestStep
    const first = newest - KEPT[length] + 1
    const column = (field: number) =>
      Float64Array.from({ length: newest < 0 ? 0 : KEPT[length] }, (_, at) =>
        ring.at(first + at, field),
      )
    return {
      barMs: timeframeMs[length],
      open: column(OPEN),
      high: column(HIGH),
      low: column(LOW),
      close: column(CLOSE),
    }
  }
}

export const volatilityBars = coinTracker('volatility/bars', () => new VolatilityBars())

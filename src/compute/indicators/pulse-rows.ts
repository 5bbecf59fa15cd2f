import type { Bar } from '../../domain/bar.ts'
import type { PulseIndicators } from './pulse-indicators.ts'
import { pulseIndicators } from './pulse-indicators.ts'
import { barSlot } from './pulse-layout.ts'
import { PulsePool } from './pulse-series.ts'

export type PulseRow = {
  /** Open time of the bar, Unix ms. */
  readonly t: number
  readonly indicators: PulseIndicators
}

/** The indicators after each bar of a history closed, by the code that values the live market. */
export function* pulseRows(bars: Iterable<Bar>): Generator<PulseRow> {
  const pool = new PulsePool(1)
  const series = pool.open()
  for (const bar of bars) {
    pool.bar[barSlot.high] = bar.high
    pool.bar[barSlot.low] = bar.low
    pool.bar[barSlot.close] = bar.close
    pool.bar[barSlot.volume] = bar.volumeBase
    series.peek()
    const indicators = pulseIndicators(pool.values, bar.close)
    series.fold()
    yield { t: bar.openTimeMs, indicators }
  }
}

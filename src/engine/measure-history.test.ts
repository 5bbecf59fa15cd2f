import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import { loadMeasures } from './measure-history.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

test('loads what is kept of one series at a time and leaves out empty ones', () => {
  const clock = new ManualClock()
  const startMs = clock.nowMs()
  const loaded: MeasureHistoryEvent[] = []
  loadMeasures(historyOf(['basis/BTC/pyth', 'empty', 'cex-dex/BTC/pyth']), clock, (event) =>
    loaded.push(event),
  )
  expect(loaded, 'nothing is loaded during the start').toEqual([])
  clock.advance(1_000)
  expect(loaded.map(({ series, rows }) => [series, rows[0]?.value])).toEqual([
    ['basis/BTC/pyth', 7 * DAY_MS],
    ['cex-dex/BTC/pyth', DAY_MS + HOUR_MS],
  ])
  const [first, last] = loaded.map(({ timeReceivedMs }) => timeReceivedMs)
  expect(first).toBeGreaterThan(startMs)
  expect(last).toBeGreaterThan(first ?? 0)
})

test('stops between two series', () => {
  const clock = new ManualClock()
  const loaded: string[] = []
  const stop = loadMeasures(historyOf(['one', 'other']), clock, ({ series }) => {
    loaded.push(series)
  })
  while (loaded.length === 0) clock.advance(1)
  stop()
  clock.advance(1_000)
  expect(loaded).toEqual(['one'])
})

/** A row whose value is the length of the requested range. */
function historyOf(series: readonly string[]): Parameters<typeof loadMeasures>[0] {
  return {
    measureSeries: () => series,
    measures: (name, fromMs, toMs) =>
      name === 'empty' ? [] : [{ timeMs: toMs, value: toMs - fromMs }],
  }
}

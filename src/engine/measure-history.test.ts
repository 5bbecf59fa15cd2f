import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import { loadMeasures } from './measure-history.ts'

const DAY_MS = 86_400_000

test('asks for the last week of one measure a turn, and says nothing of those that are empty', () => {
  const clock = new ManualClock()
  const startMs = clock.nowMs()
  const told: MeasureHistoryEvent[] = []
  loadMeasures(historyOf(['one', 'empty', 'other']), clock, (event) => told.push(event))
  expect(told, 'the start itself is not held').toEqual([])
  clock.advance(1_000)
  expect(told.map(({ series, rows }) => [series, rows[0]?.value])).toEqual([
    ['one', 7 * DAY_MS],
    ['other', 7 * DAY_MS],
  ])
  const [first, last] = told.map(({ timeReceivedMs }) => timeReceivedMs)
  expect(first).toBeGreaterThan(startMs)
  expect(last).toBeGreaterThan(first ?? 0)
})

test('stops between two turns', () => {
  const clock = new ManualClock()
  const told: string[] = []
  const stop = loadMeasures(historyOf(['one', 'other']), clock, ({ series }) => {
    told.push(series)
  })
  while (told.length === 0) clock.advance(1)
  stop()
  clock.advance(1_000)
  expect(told).toEqual(['one'])
})

/** A row that says how long a stretch was asked for. */
function historyOf(series: readonly string[]): Parameters<typeof loadMeasures>[0] {
  return {
    measureSeries: () => series,
    measures: (name, fromMs, toMs) =>
      name === 'empty' ? [] : [{ timeMs: toMs, value: toMs - fromMs }],
  }
}

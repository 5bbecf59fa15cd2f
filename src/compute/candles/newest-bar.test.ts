import { describe, expect, test } from 'vitest'
import { NewestBar } from './newest-bar.ts'

const OPEN_MS = Date.UTC(2026, 11, 13, 19)
const QUARTER_MS = 900_000

describe('by when a bar had ended, on our clock,', () => {
  test('is when the next one was received, after frames of the one before', () => {
    const newest = new NewestBar()
    // Our clock is behind by 20 s, then ahead by 20 s.
    for (const [oursAheadMs, openTimeMs] of [
      [-20_000, OPEN_MS],
      [20_000, OPEN_MS + QUARTER_MS],
    ] as const) {
      const beginsMs = openTimeMs + oursAheadMs
      newest.candle(candle(openTimeMs - QUARTER_MS, beginsMs - 200))
      newest.candle(candle(openTimeMs, beginsMs + 400))
      newest.candle(candle(openTimeMs, beginsMs + 9_000))
      expect(newest.endedByMs(openTimeMs)).toBeGreaterThanOrEqual(beginsMs - 200)
      expect(newest.endedByMs(openTimeMs)).toBeLessThanOrEqual(beginsMs + 400)
    }
  })

  test('is by our clock after a pause: the bar may have begun long before it was received', () => {
    const started = new NewestBar()
    started.candle(candle(OPEN_MS, OPEN_MS + 32_000))
    expect(started.endedByMs(OPEN_MS), 'at a start').toBe(OPEN_MS)
    const cutOff = new NewestBar()
    cutOff.candle(candle(OPEN_MS - QUARTER_MS, OPEN_MS - 15_000))
    cutOff.candle(candle(OPEN_MS, OPEN_MS + 32_000))
    expect(cutOff.endedByMs(OPEN_MS), 'after a silence').toBe(OPEN_MS)
  })

  test('is unknown without a newer bar', () => {
    const newest = new NewestBar()
    expect(newest.endedByMs(OPEN_MS)).toBe(Number.POSITIVE_INFINITY)
    newest.candle(candle(OPEN_MS - QUARTER_MS, OPEN_MS))
    expect(newest.endedByMs(OPEN_MS)).toBe(Number.POSITIVE_INFINITY)
  })

  test('stays the same when an earlier bar is repeated', () => {
    const newest = new NewestBar()
    newest.candle(candle(OPEN_MS, OPEN_MS + 500))
    newest.candle(candle(OPEN_MS - QUARTER_MS, OPEN_MS + 2_000))
    newest.candle(candle(OPEN_MS, OPEN_MS + 3_000))
    expect(newest.endedByMs(OPEN_MS)).toBe(OPEN_MS)
  })
})

function candle(openTimeMs: number, heardMs: number) {
  const bar = { openTimeMs, open: 1, high: 1, low: 1, close: 1, volumeBase: 1 }
  const times = { timeReceivedMs: heardMs, timeExchangeMs: heardMs }
  return { kind: 'candle', coin: 'ETH', timeframe: '15m', bar, ...times } as const
}

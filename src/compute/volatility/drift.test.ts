import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, NOW_MS, universe } from '../testing/tape.ts'
import { driftBpsPerRootSecond } from './drift.ts'

const HOUR_MS = 3_600_000

describe('what a price walks in a second', () => {
  test('is the deviation of the last day of hours over the root of an hour', () => {
    // Up and down 0.6 %, after a day of ten times as much.
    const of = (hour: number) => (hour < 24 ? 1.06 : 1.006)
    const closes = Array.from({ length: 49 }, (_, hour) => (hour % 2 === 0 ? 100 : 100 * of(hour)))
    expect(drift(closes)).toBeCloseTo((Math.log(1.006) / 60) * 10_000, 6)
  })

  test('counts the hours that are known', () => {
    const holes = Array.from({ length: 25 }, (_, hour) =>
      hour % 3 === 2 ? Number.NaN : 100 * 1.01 ** (hour % 2),
    )
    const known = holes.slice(1).filter((close, at) => !Number.isNaN(close * (holes[at] as number)))
    expect(known).toHaveLength(8)
    expect(drift(holes)).toBeCloseTo((Math.log(1.01) / 60) * 10_000, 6)
  })

  test.each([
    { what: 'no hours', closes: [] },
    { what: 'five returns', closes: [1, 2, 1, 2, 1, 2] },
    { what: 'no move', closes: new Array<number>(25).fill(7) },
    { what: 'one move, after a halt', closes: [...new Array<number>(24).fill(7), 7.0007] },
  ])('is that of a usual day with $what', ({ closes }) => {
    expect(drift(closes)).toBe(1.5)
  })

  test('is that of the hours with a move, if the market halted since', () => {
    const open = Array.from({ length: 9 }, (_, hour) => 100 * 1.01 ** (hour % 2))
    const halted = new Array<number>(16).fill(100)
    expect(drift([...open, ...halted])).toBeCloseTo((Math.log(1.01) / 60) * 10_000, 6)
  })
})

/** Closes of the hours before the boundary, oldest first; NaN for a hole. */
function drift(closes: readonly number[]): number {
  const market = newMarket(new PulsePool(3))
  market.apply(universe(['BTC']))
  const bars = closes.flatMap((close, at): Bar[] => {
    const openTimeMs = BOUNDARY_MS - (closes.length - at) * HOUR_MS
    const bar = { openTimeMs, open: close, high: close, low: close, close, volumeBase: 1 }
    return Number.isNaN(close) ? [] : [bar]
  })
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  market.apply({ kind: 'hourly-history', coin: 'BTC', bars, isRemembered: true, ...stamp })
  const coin = market.coin('BTC')
  if (coin === undefined) throw new Error('BTC is listed')
  return driftBpsPerRootSecond(coin)
}

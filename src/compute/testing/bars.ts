import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs } from '../../domain/timeframe.ts'

/** Midnight, so that it opens a bar of every timeframe. */
export const START_MS = Date.UTC(2026, 0, 1)

export const SHARED_CANDLES = join(
  import.meta.dirname,
  '../../../../shared/data/hl-candles-2025-07',
)

export const hasSharedCandles = existsSync(SHARED_CANDLES)

/** Consecutive 15m bars from `START_MS` on; some are flat because they have no trades. */
export function quarters(count: { minLength: number; maxLength: number }): fc.Arbitrary<Bar[]> {
  const step = fc.record({
    move: fc.double({ min: -0.02, max: 0.02, noNaN: true }),
    wickUp: fc.double({ min: 0, max: 0.01, noNaN: true }),
    wickDown: fc.double({ min: 0, max: 0.01, noNaN: true }),
    volumeBase: fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 1e6, noNaN: true })),
  })
  return fc.array(step, { ...count, size: 'max' }).map((steps) => {
    let close = 100
    return steps.map(({ move, wickUp, wickDown, volumeBase }, at) => {
      const open = close
      if (volumeBase > 0) close = open * (1 + move)
      const isFlat = volumeBase === 0
      return {
        openTimeMs: START_MS + at * timeframeMs['15m'],
        open,
        high: isFlat ? open : Math.max(open, close) * (1 + wickUp),
        low: isFlat ? open : Math.min(open, close) * (1 - wickDown),
        close,
        volumeBase,
      }
    })
  })
}

/** Recorded bars of the venue; only where `hasSharedCandles`. */
export function sharedBars(coin: string, timeframe: Timeframe): Bar[] {
  const path = join(SHARED_CANDLES, 'coins', coin, `${timeframe}.csv.gz`)
  const [, ...lines] = gunzipSync(readFileSync(path)).toString('utf8').trim().split('\n')
  return lines.map((line) => {
    const [openTimeMs, open, high, low, close, volumeBase] = line.split(',').map(Number)
    return { openTimeMs, open, high, low, close, volumeBase } as Bar
  })
}

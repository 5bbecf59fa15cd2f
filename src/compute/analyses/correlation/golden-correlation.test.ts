import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { sharedBars } from '../../testing/bars.ts'
import { pairStatistics } from './pair-statistics.ts'

const folder = join(import.meta.dirname, '../../../../../shared/data/ta-golden-hl')
const isAbsent = !existsSync(folder)
const RETURNS = 200

describe.each(['15m', '1h'] as const)(
  'pandas on real candles of 14 coins, %s (needs ../shared/data)',
  (timeframe) => {
    test.skipIf(isAbsent)('gives the same r, and the deviations behind beta, pair by pair', () => {
      const { coins, rows, expected, deviations } = golden(timeframe)
      expect(coins).toHaveLength(14)
      expect(coins).toContain('kPEPE')
      for (const [a, deviationA] of deviations.entries()) {
        for (const [b, deviationB] of deviations.entries()) {
          const { n, r, beta } = pairStatistics(rows[a] as Float64Array, rows[b] as Float64Array)
          const expectedR = expected[a * coins.length + b] as number
          expect(n).toBe(RETURNS)
          expect(Math.abs(r - expectedR)).toBeLessThan(1e-9)
          // The slope of a on b is r times the ratio of their deviations.
          const slope = (expectedR * deviationA) / deviationB
          expect(Math.abs(beta - slope)).toBeLessThan(1e-9 * Math.max(1, Math.abs(slope)))
        }
      }
    })
  },
)

/** The matrix and the returns that it was computed from. */
function golden(timeframe: Timeframe) {
  const text = readFileSync(join(folder, `corr_logret_${timeframe}_${RETURNS}.csv`), 'utf8')
  const [title = '', header = '', ...lines] = text.trimEnd().split('\n')
  const endMs = Number(/t=\d+\.\.(\d+)/.exec(title)?.[1])
  const coins = header.split(',').slice(1, -1)
  const cells = lines.map((line) => line.split(',').slice(1).map(Number))
  const stepMs = timeframeMs[timeframe]
  const rows = coins.map((coin) => {
    const bars = sharedBars(coin, timeframe).filter(
      ({ openTimeMs }) => openTimeMs <= endMs && openTimeMs >= endMs - RETURNS * stepMs,
    )
    return Float64Array.from(bars.slice(1), (bar, at) => {
      const before = bars[at]
      if (before?.openTimeMs !== bar.openTimeMs - stepMs) throw new Error(`${coin} has a hole`)
      return Math.log(bar.close / before.close)
    })
  })
  return {
    coins,
    rows,
    expected: cells.flatMap((row) => row.slice(0, -1)),
    deviations: cells.map((row) => row.at(-1) as number),
  }
}

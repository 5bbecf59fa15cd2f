import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { sharedBars } from '../../testing/bars.ts'
import { pairStatistics } from './pair-statistics.ts'
import { LiveReturnTable } from './return-table.ts'
import { difference, readAll, summedOver } from './testing/returns.ts'

const folder = join(import.meta.dirname, '../../../../shared/data/ta-golden-hl')
const isAbsent = !existsSync(folder)
const RETURNS = 200
/** Bars of history before the window, so that it is reached by rolling. */
const BEFORE = 137
const RING = RETURNS + BEFORE + 1

describe.each(['15m', '1h'] as const)(
  'pandas on real candles of 14 coins, %s (needs ../shared/data)',
  (timeframe) => {
    test.skipIf(isAbsent)('equals the rolling sums that came through the bars before', () => {
      const { coins, table, endStep, expected } = golden(timeframe)
      const rolling = summedOver(table, endStep - BEFORE, RETURNS)
      for (let bar = 0; bar < BEFORE; bar += 1) rolling.roll()
      expect(rolling.endHour).toBe(endStep)
      expect(difference(readAll(rolling, coins.length), expected)).toBeLessThan(1e-9)
    })

    test.skipIf(isAbsent)('gives the same r, and the deviations behind beta, pair by pair', () => {
      const { coins, table, endStep, expected, deviations } = golden(timeframe)
      expect(coins).toHaveLength(14)
      expect(coins).toContain('kPEPE')
      const window = { endHour: endStep, hours: RETURNS }
      for (const [a, deviationA] of deviations.entries()) {
        for (const [b, deviationB] of deviations.entries()) {
          const { n, r, beta } = pairStatistics(table, a, b, window)
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

/** The matrix and the returns that it was computed from; an hour is a bar. */
function golden(timeframe: Timeframe) {
  const text = readFileSync(join(folder, `corr_logret_${timeframe}_${RETURNS}.csv`), 'utf8')
  const [title = '', header = '', ...lines] = text.trimEnd().split('\n')
  const endMs = Number(/t=\d+\.\.(\d+)/.exec(title)?.[1])
  const coins = header.split(',').slice(1, -1)
  const cells = lines.map((line) => line.split(',').slice(1).map(Number))
  const stepMs = timeframeMs[timeframe]
  const table = new LiveReturnTable(coins.length, RING)
  for (const coin of coins) {
    const row = table.addRow()
    const bars = sharedBars(coin, timeframe).filter(
      ({ openTimeMs }) => openTimeMs <= endMs && openTimeMs >= endMs - RING * stepMs,
    )
    for (const [at, bar] of bars.slice(1).entries()) {
      const before = bars[at]
      if (before?.openTimeMs !== bar.openTimeMs - stepMs) throw new Error(`${coin} has a hole`)
      table.set(row, bar.openTimeMs / stepMs, Math.log(bar.close / before.close))
    }
  }
  return {
    coins,
    table,
    endStep: endMs / stepMs,
    expected: cells.flatMap((row) => row.slice(0, -1)),
    deviations: cells.map((row) => row.at(-1) as number),
  }
}

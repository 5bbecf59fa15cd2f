import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { naiveCloses, naivePair } from '../../../../test/golden/naive-correlation.ts'
import type { Bar } from '../../../domain/bar.ts'
import type { Batch } from '../../../domain/event.ts'
import { Processor } from '../../processor.ts'
import { universe } from '../../testing/tape.ts'
import { correlation } from './correlation.ts'
import { COMMON_RETURNS_MIN, RETURN_MS, WINDOW_HOURS } from './correlation-window.ts'
import type { GatheredCloses } from './gathered-closes.ts'
import { measure } from './measure-correlation.ts'
import { hourlyHistory } from './testing/market-log.ts'

const path = join(
  import.meta.dirname,
  '../../../../../shared/data/hl-candles-2025-07/universe/1h.csv.gz',
)
const isAbsent = !existsSync(path)

describe('172 real coins, 400 hours of each (needs ../shared/data)', () => {
  test.skipIf(isAbsent)('all pairs with BTC equal the naive computation from the log', () => {
    const { log, endMs } = realLog()
    const gathered = gatheredFrom(log, endMs)
    const measured = measure(gathered)
    if (measured.kind === 'lacking') throw new Error('BTC is there')
    const closes = naiveCloses(log)
    const window = { lastMs: gathered.endHour * RETURN_MS, hours: WINDOW_HOURS }
    const reference = closes.get('BTC') ?? new Map()
    expect(measured.correlated.length).toBeGreaterThan(150)
    for (const { coin, n, r, beta } of measured.correlated) {
      const exact = naivePair(closes.get(coin) ?? new Map(), reference, window)
      expect(n).toBe(exact.n)
      expect(Math.abs(r - exact.r)).toBeLessThan(1e-9)
      expect(Math.abs(beta - exact.beta)).toBeLessThan(1e-9)
    }
    const left = new Set(gathered.coins)
    for (const { coin } of measured.correlated) left.delete(coin)
    left.delete('BTC')
    // Delisted before the window, or without a movement in it.
    for (const coin of left) {
      const exact = naivePair(closes.get(coin) ?? new Map(), reference, window)
      expect(exact.n < COMMON_RETURNS_MIN || !(Math.abs(exact.r) <= 1)).toBe(true)
    }
    expect(measured.window).toMatchObject({ hours: 399, candles: 400 })
  })
})

function realLog(): { log: Batch[]; endMs: number } {
  const barsByCoin = new Map<string, Bar[]>()
  const [, ...lines] = gunzipSync(readFileSync(path)).toString('utf8').trim().split('\n')
  let endMs = 0
  for (const line of lines) {
    const [coin = '', ...cells] = line.split(',')
    const [openTimeMs, open, high, low, close, volumeBase] = cells.map(Number)
    const bar = { openTimeMs, open, high, low, close, volumeBase } as Bar
    barsByCoin.set(coin, [...(barsByCoin.get(coin) ?? []), bar])
    endMs = Math.max(endMs, bar.openTimeMs + RETURN_MS + 5_000)
  }
  const told = [...barsByCoin].map(([coin, bars]) => [hourlyHistory(coin, bars, endMs)])
  return { log: [[universe([...barsByCoin.keys()])], ...told], endMs }
}

function gatheredFrom(log: readonly Batch[], endMs: number): GatheredCloses {
  const processor = new Processor({ coin: [], market: [correlation] }, '0.0.0')
  for (const batch of log)
    processor.process(
      batch.map((event) => ({ ...event, timeExchangeMs: endMs, timeReceivedMs: endMs })),
    )
  return processor.gather('correlation', endMs).gathered as GatheredCloses
}

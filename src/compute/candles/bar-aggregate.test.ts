import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import { hasSharedCandles, START_MS, sharedBars } from '../testing/bars.ts'
import { BarAggregate } from './bar-aggregate.ts'

const QUARTER_MS = timeframeMs['15m']

describe('bar aggregate', () => {
  test('gives out no bar whose beginning it did not see', () => {
    const aggregate = new BarAggregate('1h')
    expect([1, 2, 3].map((at) => aggregate.add(bar(at)))).toEqual([null, null, null])
    expect([4, 5, 6, 7].map((at) => aggregate.add(bar(at))?.openTimeMs)).toEqual([
      undefined,
      undefined,
      undefined,
      START_MS + 4 * QUARTER_MS,
    ])
  })

  test('gives out no bar with a quarter missing in it', () => {
    const aggregate = new BarAggregate('1h')
    expect([0, 1, 3].map((at) => aggregate.add(bar(at)))).toEqual([null, null, null])
  })

  test('merges the forming quarter into the forming bar', () => {
    const aggregate = new BarAggregate('1h')
    aggregate.add({ ...bar(0), high: 120, volumeBase: 2 })
    const forming = { ...bar(1), low: 80, close: 90, volumeBase: 3 }
    expect(aggregate.merged(forming)).toEqual({
      openTimeMs: START_MS,
      open: 100,
      high: 120,
      low: 80,
      close: 90,
      volumeBase: 5,
    })
  })

  test.skipIf(!hasSharedCandles).each(
    ['BTC', 'kPEPE', 'HYPE', 'RLB'].flatMap((coin) => [
      { coin, timeframe: '1h' as const },
      { coin, timeframe: '4h' as const },
    ]),
  )(
    '$coin: real 15m bars build what the venue publishes as $timeframe (needs ../shared/data)',
    ({ coin, timeframe }) => {
      const aggregate = new BarAggregate(timeframe)
      const published = new Map(sharedBars(coin, timeframe).map((own) => [own.openTimeMs, own]))
      let equal = 0
      let compared = 0
      for (const quarter of sharedBars(coin, '15m')) {
        const built = aggregate.add(quarter)
        const own = built && published.get(built.openTimeMs)
        if (!built || !own) continue
        for (const field of ['open', 'high', 'low', 'close', 'volumeBase'] as const) {
          compared += 1
          // Volumes are sums of decimals: equal but for the last binary digits.
          if (Math.abs(built[field] - own[field]) <= 1e-9 * Math.abs(own[field])) equal += 1
        }
      }
      expect(compared).toBeGreaterThan(1_000)
      expect(equal / compared, 'the recording itself is consistent to 99.93 %').toBeGreaterThan(
        0.999,
      )
    },
  )
})

function bar(at: number): Bar {
  return {
    openTimeMs: START_MS + at * QUARTER_MS,
    open: 100,
    high: 100,
    low: 100,
    close: 100,
    volumeBase: 0,
  }
}

import { expect, test } from 'vitest'
import { moments } from '../../../test/golden/naive-pulse.ts'
import { seededChance } from '../../../test/golden/seeded-candles.ts'
import { pulseValue } from './pulse-layout.ts'
import { PulsePool } from './pulse-series.ts'

const UPDATES = 10_000_000
const CHECK_EVERY = 99_991

type Market = (before: number, update: number, chance: () => number) => number

const markets: readonly (readonly [name: string, errorMax: number, Market])[] = [
  [
    // The hardest case for sums of squares; a spike, once in a million bars, adds the hardest exit.
    'a quiet major with spikes',
    1e-9,
    (_, update, chance) =>
      (65_000 + Math.round(60 * (chance() - 0.5)) / 10) * (update % 1_000_000 < 3 ? 1.5 : 1),
  ],
  [
    // 1e-10 is the error when windows are summed again after spikes only.
    'a walk',
    1e-12,
    (before, _, chance) => Math.min(200, Math.max(50, before * (1 + 0.04 * (chance() - 0.5)))),
  ],
]

test.each(markets)(
  'ten million bars of %s leave no error, and then flat is flat',
  (_, errorMax, market) => {
    const pool = new PulsePool(1)
    const series = pool.open()
    const chance = seededChance(7)
    const window: number[] = []
    const bars: [price: number, volume: number][] = []
    const { bar, values } = pool
    let price = 100
    let worst = 0
    let checks = 0
    for (let update = 1; update <= UPDATES; update += 1) {
      price = market(price, update, chance)
      const volume = chance() * 1000
      bar[0] = bar[1] = bar[2] = price
      bar[3] = volume
      const isChecked = update > UPDATES / 2 && update % CHECK_EVERY === 0
      if (isChecked) series.peek()
      series.fold()
      if (update % CHECK_EVERY > CHECK_EVERY - 100 || update % CHECK_EVERY === 0) {
        window.push(price)
        bars.push([price, volume])
      }
      if (isChecked) {
        const wide = moments(window.slice(-100))
        const narrow = moments(window.slice(-20))
        const turnover = bars.slice(-20).reduce((sum, [at, traded]) => sum + at * traded, 0)
        const traded = bars.slice(-20).reduce((sum, [, volume]) => sum + volume, 0)
        const z = (price - wide.mean) / wide.deviation
        const reach = values[pulseValue.bollingerUpper] - values[pulseValue.bollingerMiddle]
        worst = Math.max(
          worst,
          Math.abs(values[pulseValue.zscore100] - z) / Math.max(1, Math.abs(z)),
          Math.abs(reach / (2 * narrow.deviation) - 1),
          Math.abs(values[pulseValue.vwap20] / (turnover / traded) - 1),
        )
        checks += 1
      }
      if (update % CHECK_EVERY === 0) {
        window.length = 0
        bars.length = 0
      }
    }
    expect(checks).toBe(50)
    expect(worst).toBeLessThan(errorMax)

    bar[0] = bar[1] = bar[2] = 65_000.1
    for (let update = 0; update < 99; update += 1) series.fold()
    series.peek()
    expect(values[pulseValue.zscore100]).toBeNaN()
    expect(values[pulseValue.bollingerUpper]).toBe(65_000.1)
    expect(values[pulseValue.bollingerLower]).toBe(65_000.1)
  },
)

import { describe, expect, test } from 'vitest'
import { hasSharedCandles, sharedBars } from '../testing/bars.ts'
import { pulseRows } from './pulse-rows.ts'
import { recursiveValues } from './seed-memory.ts'

const COINS = 'BTC ETH SOL HYPE XRP DOGE kPEPE kBONK SUI FARTCOIN LINK AVAX WIF AI RLB'.split(' ')
/** Starts of a series without its past, as shares of the possible range. */
const BEGINNINGS = [0.1, 0.45, 0.8]

test('an average is published from this many bars on', () => {
  expect(Object.fromEntries(recursiveValues.map(({ field, bars }) => [field, bars]))).toEqual({
    ema_20: 113,
    ema_50: 281,
    rsi_14: 326,
    atr_14: 326,
    ema_200: 1_122,
  })
})

describe.skipIf(!hasSharedCandles)('on real candles (needs ../shared/data)', () => {
  test.each(COINS)(
    'what is left of the seed moves nothing of %s by more than 0.01 percent',
    (coin) => {
      for (const timeframe of ['1h', '4h'] as const) {
        const bars = sharedBars(coin, timeframe)
        const whole = [...pulseRows(bars)]
        for (const { field, bars: need } of recursiveValues) {
          for (const share of BEGINNINGS) {
            const from = Math.floor((bars.length - need) * share)
            if (from <= 0) continue
            const part = [...pulseRows(bars.slice(from, from + need))].at(-1)
            const at = from + need - 1
            const value = fieldOf(part?.indicators, field)
            const expected = fieldOf(whole[at]?.indicators, field)
            const close = bars[at]?.close ?? Number.NaN
            const scale = field === 'rsi_14' ? 100 : field === 'atr_14' ? expected : close
            const error = expected === value ? 0 : Math.abs(value - expected) / scale
            expect(error, `${field} of ${timeframe} from bar ${from}`).toBeLessThanOrEqual(1e-4)
          }
        }
      }
    },
  )
})

function fieldOf(indicators: object | undefined, field: string): number {
  return (indicators as Readonly<Record<string, number | null>>)[field] ?? Number.NaN
}

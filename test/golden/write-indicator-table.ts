/**
 * Writes the reference tables of `indicator-table.test.ts`:
 * `node_modules/.bin/tsx test/golden/write-indicator-table.ts`. No code of this project computes the
 * values: each column comes from a library whose definition was checked.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ATR, BollingerBands, EMA, SD, SMA } from 'technicalindicators'
import { RSI } from 'trading-signals'
import type { Bar } from '../../src/domain/bar.ts'
import { seededMarket } from '../../src/simulator/market/seeded-market.ts'
import { seededCandles } from './seeded-candles.ts'

const FIXTURES = resolve(import.meta.dirname, '../../src/compute/indicators/fixtures')

/** Start of the candles that the simulated venue would return for `candleSnapshot`. */
const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const SIMULATED_BARS = 500

writeTable(
  'simulator-table.csv',
  seededMarket({ seed: 1, startMs: START_MS })
    .candles(
      'kPEPE',
      '1h',
      { fromMs: START_MS - SIMULATED_BARS * HOUR_MS, untilMs: START_MS - 1 },
      START_MS,
    )
    .map(({ openTimeMs, open, high, low, close, volumeBase }) => ({
      openTimeMs,
      open,
      high,
      low,
      close,
      volumeBase,
    })),
)
writeTable(
  'flat-stretch-table.csv',
  seededCandles({
    seed: 2025,
    count: 560,
    startPrice: 23.5,
    volatility: 0.008,
    flatFrom: 330,
    flatUntil: 450,
  }),
)

function writeTable(file: string, bars: readonly Bar[]): void {
  const close = bars.map((bar) => bar.close)
  const turnover = bars.map((bar) => ((bar.high + bar.low + bar.close) / 3) * bar.volumeBase)
  const volume = bars.map((bar) => bar.volumeBase)

  const rsi = new RSI(14)
  const rsiColumn = close.map((price) => rsi.update(price, false))
  const atr = ATR.calculate({
    period: 14,
    high: bars.map((bar) => bar.high),
    low: bars.map((bar) => bar.low),
    close,
  })
  const bands = atEnd(
    bars.length,
    BollingerBands.calculate({ period: 20, stdDev: 2, values: close }),
  )
  const turnoverMean = atEnd(bars.length, SMA.calculate({ period: 20, values: turnover }))
  const volumeMean = atEnd(bars.length, SMA.calculate({ period: 20, values: volume }))
  const mean = atEnd(bars.length, SMA.calculate({ period: 100, values: close }))
  const deviation = atEnd(bars.length, SD.calculate({ period: 100, values: close }))

  const columns: Record<string, readonly (number | null | undefined)[]> = {
    t: bars.map((bar) => bar.openTimeMs),
    o: bars.map((bar) => bar.open),
    h: bars.map((bar) => bar.high),
    l: bars.map((bar) => bar.low),
    c: close,
    v: volume,
    rsi14: rsiColumn,
    atr14: atEnd(bars.length, atr),
    ema20: atEnd(bars.length, EMA.calculate({ period: 20, values: close })),
    ema50: atEnd(bars.length, EMA.calculate({ period: 50, values: close })),
    ema200: atEnd(bars.length, EMA.calculate({ period: 200, values: close })),
    bb_upper: bands.map((band) => band?.upper),
    bb_mid: bands.map((band) => band?.middle),
    bb_lower: bands.map((band) => band?.lower),
    vwap20_turnover_mean: turnoverMean,
    vwap20_volume_mean: volumeMean,
    z100_mean: mean,
    z100_deviation: deviation,
  }
  const rows = bars.map((_, row) => Object.values(columns).map((column) => column[row] ?? ''))
  const text = [Object.keys(columns), ...rows].map((cells) => `${cells.join(',')}\n`).join('')
  writeFileSync(resolve(FIXTURES, file), text)
  console.log(`${file}: ${rows.length} bars, ${text.length} bytes`)
}

/** The libraries omit the bars before the first value; here every bar has a row. */
function atEnd<Value>(bars: number, values: readonly Value[]): (Value | undefined)[] {
  return [...Array<undefined>(bars - values.length).fill(undefined), ...values]
}

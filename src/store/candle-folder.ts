import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bar } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'
import { readCandleFile, readText } from './candle-file.ts'

/** A settled hourly rate, as a fraction. */
type SettledRate = { readonly timeMs: number; readonly rateHourly: number }

/** Recorded bars and settlements of one coin, ascending. */
export type CoinCandles = {
  readonly coin: string
  readonly quarters: readonly Bar[]
  readonly hours: readonly Bar[]
  readonly fourHours: readonly Bar[]
  readonly fundings: readonly SettledRate[]
}

const HOUR_MS = 3_600_000

/**
 * Reads `DIR/coins/<COIN>/{15m,1h,4h}.csv.gz` and `funding_1h.csv.gz`, one coin at a time. 15m bars are required; what
 * else is missing is empty.
 * @throws OperatingError for a folder of another layout
 */
export function* readCandleFolder(dir: string): Generator<CoinCandles> {
  const folder = join(dir, 'coins')
  const coins = existsSync(folder) ? readdirSync(folder).sort() : []
  if (coins.length === 0)
    throw new OperatingError('candle_folder', `${dir} has no folder coins/<COIN> with candles`)
  for (const coin of coins) {
    const barsOf = (timeframe: string) => {
      const path = join(folder, coin, `${timeframe}.csv.gz`)
      return existsSync(path) ? readCandleFile(path) : []
    }
    const quarters = barsOf('15m')
    if (quarters.length === 0)
      throw new OperatingError('candle_folder', `${join(folder, coin)} has no 15m.csv.gz`)
    const fundings = settledRates(join(folder, coin, 'funding_1h.csv.gz'))
    yield { coin, quarters, hours: barsOf('1h'), fourHours: barsOf('4h'), fundings }
  }
}

/** The venue settles some milliseconds after the hour. */
function settledRates(path: string): readonly SettledRate[] {
  if (!existsSync(path)) return []
  const [, ...lines] = readText(path).trimEnd().split('\n')
  return lines.map((line) => {
    const [timeMs, rateHourly] = line.split(',').map(Number)
    if (!(timeMs !== undefined && timeMs > 0 && Number.isFinite(rateHourly)))
      throw new OperatingError('candle_folder', `${path}: not a settlement: ${line.slice(0, 80)}`)
    return { timeMs: Math.floor(timeMs / HOUR_MS) * HOUR_MS, rateHourly: rateHourly as number }
  })
}

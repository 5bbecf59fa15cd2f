import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bar } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'
import type { SettledRate } from '../domain/recorded-candles.ts'
import { checkConsecutive, settledRates } from '../domain/recorded-candles.ts'
import type { Timeframe } from '../domain/timeframe.ts'
import { timeframeMs } from '../domain/timeframe.ts'
import { readCandleFile, readText } from './candle-file.ts'

/** Recorded bars and settlements of one coin, ascending. */
export type CoinCandles = {
  readonly coin: string
  readonly quarters: readonly Bar[]
  readonly hours: readonly Bar[]
  readonly fourHours: readonly Bar[]
  readonly fundings: readonly SettledRate[]
}

/**
 * Reads `DIR/coins/<COIN>/{15m,1h,4h}.csv.gz` and `funding_1h.csv.gz`, one coin at a time. 15m bars are required; what
 * else is missing is empty. Bars must be consecutive; hidden files are ignored.
 * @throws OperatingError for a folder of another layout
 */
export function* readCandleFolder(dir: string): Generator<CoinCandles> {
  const folder = join(dir, 'coins')
  const all = existsSync(folder) ? readdirSync(folder).sort() : []
  const coins = all.filter((name) => !name.startsWith('.'))
  if (coins.length === 0)
    throw new OperatingError('candle_folder', `${dir} has no folder coins/<COIN> with candles`)
  for (const coin of coins) yield coinCandles(join(folder, coin), coin)
}

function coinCandles(folder: string, coin: string): CoinCandles {
  const pathOf = (name: string) => join(folder, `${name}.csv.gz`)
  const barsOf = (timeframe: Timeframe) => {
    const path = pathOf(timeframe)
    const bars = existsSync(path) ? readCandleFile(path) : []
    checkConsecutive(bars, timeframeMs[timeframe], path)
    return bars
  }
  if (!existsSync(pathOf('15m')))
    throw new OperatingError(
      'candle_folder',
      `${folder} has no 15m.csv.gz: each entry of coins/ must be the folder of a coin`,
    )
  const quarters = barsOf('15m')
  if (quarters.length === 0)
    throw new OperatingError('candle_folder', `${pathOf('15m')}: there is no candle in it`)
  const fundingPath = pathOf('funding_1h')
  const fundings = existsSync(fundingPath) ? settledRates(readText(fundingPath), fundingPath) : []
  return { coin, quarters, hours: barsOf('1h'), fourHours: barsOf('4h'), fundings }
}

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bar } from '../../domain/bar.ts'
import { OperatingError } from '../../domain/errors.ts'
import { settledRates } from '../../domain/recorded-candles.ts'
import { catalog, maxLeverageOf, strictlyIsolatedCoins } from './catalog.ts'
import { CoinMarkets } from './coin-markets.ts'
import { csvRows, csvText } from './csv-file.ts'
import { MINUTE_MS, QUARTER_MS, QUARTERS_A_DAY } from './lot-bar.ts'
import type { Market } from './market.ts'
import { noiseKey } from './noise.ts'
import type { CoinRecord } from './recorded-bars.ts'
import { RecordedBars, RecordedSeries } from './recorded-bars.ts'
import { meanTradeUsd } from './seeded-bars.ts'
import { modelCoins } from './seeded-market.ts'
import { SimulatedCoin } from './simulated-coin.ts'

const HOUR_MS = 3_600_000

/** The clock is shifted by whole multiples of this, so that the boundaries of all bars stay. */
const SHIFT_STEP_MS = 4 * HOUR_MS
const DAY_MS = 24 * HOUR_MS
/** A coin whose bars end this long before the newest is delisted. */
const DELISTED_AFTER_MS = 2 * DAY_MS
/** Where the catalogue does not know a coin. */
const DEFAULT_MARGIN_TABLE = 3
const DEFAULT_OPEN_INTEREST_DAYS = 2

const longerFiles = [
  ['1h', HOUR_MS],
  ['4h', 4 * HOUR_MS],
] as const

const barHeader = ['t', 'o', 'h', 'l', 'c', 'v'] as const

type Series = {
  /** For messages. */
  readonly origin: string
  readonly bars: Bar[]
  sizeDecimals: number
}

/**
 * Recorded candles as a market, in the layout of the `hl-candles` data: `universe/<interval>.csv.gz`
 * with all coins, `coins/<COIN>/<interval>.csv.gz` with more of some, `funding_1h.csv.gz` beside.
 * The start lies where at least 24 hours of every live coin are still ahead. Books, trades and open
 * interest are modelled around the bars.
 */
export function candleReplayMarket(
  directory: string,
  options: { readonly seed: number; readonly startMs: number },
): Market {
  const { seed, startMs } = options
  const records = readRecords(directory)
  const ends = Array.from(records.values(), ({ record }) => record.quarters.endMs)
  const newestMs = Math.max(...ends)
  const commonEndMs = Math.min(...ends.filter((endMs) => endMs >= newestMs - DELISTED_AFTER_MS))
  const shiftMs = Math.ceil((startMs - (commonEndMs - DAY_MS)) / SHIFT_STEP_MS) * SHIFT_STEP_MS

  const coins = Array.from(records, ([coin, { record, sizeDecimals }]) => {
    const { quarters } = record
    const isDelisted = quarters.endMs < commonEndMs
    const priceUsd = quarters.at(quarters.endIndex - 1)?.close ?? 0
    const key = noiseKey(seed, 'coin', coin)
    const dayNotionalUsd = meanDayNotionalUsd(quarters)
    const [, , marginTableId, , catalogNotionalUsd, catalogInterestUsd] =
      catalog.find(([name]) => name === coin) ?? []
    const openInterestDays =
      catalogNotionalUsd === undefined || catalogInterestUsd === undefined
        ? DEFAULT_OPEN_INTEREST_DAYS
        : catalogInterestUsd / catalogNotionalUsd
    return new SimulatedCoin({
      instrument: {
        coin,
        sizeDecimals,
        maxLeverage: maxLeverageOf(marginTableId ?? DEFAULT_MARGIN_TABLE),
        marginTableId: marginTableId ?? DEFAULT_MARGIN_TABLE,
        isDelisted,
        isStrictlyIsolated: strictlyIsolatedCoins.has(coin),
      },
      source: new RecordedBars({
        record,
        shiftMs,
        sizeDecimals,
        tradeNotionalUsd: meanTradeUsd(dayNotionalUsd),
        key,
      }),
      key,
      priceUsd,
      dayNotionalUsd,
      openInterestUsd: dayNotionalUsd * openInterestDays,
      delistedAtMs: isDelisted ? quarters.endMs + shiftMs : Number.POSITIVE_INFINITY,
    })
  })
  return new CoinMarkets({
    coins,
    clockShiftMs: shiftMs,
    newCoin: modelCoins(seed, startMs).ofListing,
  })
}

function readRecords(
  directory: string,
): Map<string, { readonly record: CoinRecord; readonly sizeDecimals: number }> {
  const quarters = readUniverse(directory, '15m')
  const longer = longerFiles.map(
    ([name, stepMs]) => [name, stepMs, readUniverse(directory, name)] as const,
  )
  const folder = join(directory, 'coins')
  const withFolder = new Set(existsSync(folder) ? readdirSync(folder) : [])
  const known = new Set([...quarters.keys(), ...withFolder])
  if (known.size === 0) {
    throw new OperatingError('no_candles', `${directory} has neither universe/ nor coins/`)
  }
  // The venue's order where it is known, then by name.
  const inVenueOrder = catalog.map(([coin]) => coin).filter((coin) => known.has(coin))
  const others = [...known].filter((coin) => !inVenueOrder.includes(coin)).sort()
  const records = new Map(
    [...inVenueOrder, ...others].flatMap((coin) => {
      const own = (file: string): string => join(folder, coin, `${file}.csv.gz`)
      const series = readOwn(own('15m')) ?? quarters.get(coin)
      if (series === undefined) return []
      const minutes = readOwn(own('1m'))
      const longerSeries = longer.flatMap(([name, stepMs, universe]) => {
        const found = readOwn(own(name)) ?? universe.get(coin)
        return found === undefined ? [] : [[stepMs, recordedSeries(stepMs, found)] as const]
      })
      const record: CoinRecord = {
        quarters: recordedSeries(QUARTER_MS, series),
        ...(minutes === undefined ? {} : { minutes: recordedSeries(MINUTE_MS, minutes) }),
        longer: new Map(longerSeries),
        funding: readFunding(own('funding_1h')),
      }
      return [[coin, { record, sizeDecimals: series.sizeDecimals }] as const]
    }),
  )
  if (records.size === 0)
    throw new OperatingError('no_candles', `${folder}: no coin has 15m candles`)
  return records
}

function readUniverse(directory: string, interval: string): Map<string, Series> {
  const all = new Map<string, Series>()
  const path = join(directory, 'universe', `${interval}.csv.gz`)
  if (!existsSync(path)) return all
  for (const [coin = '', ...cells] of csvRows(path, ['coin', ...barHeader])) {
    const series = all.get(coin) ?? newSeries(`${path}, ${coin}`)
    all.set(coin, series)
    addBar(series, cells)
  }
  return all
}

function readOwn(path: string): Series | undefined {
  if (!existsSync(path)) return undefined
  const series = newSeries(path)
  for (const cells of csvRows(path, barHeader)) addBar(series, cells)
  return series
}

function newSeries(origin: string): Series {
  return { origin, bars: [], sizeDecimals: 0 }
}

function recordedSeries(stepMs: number, { bars, origin }: Series): RecordedSeries {
  if (bars.length === 0)
    throw new OperatingError('no_candles', `${origin}: there is no candle in it`)
  return new RecordedSeries(stepMs, bars, origin)
}

function readFunding(path: string): ReadonlyMap<number, number> {
  if (!existsSync(path)) return new Map()
  return new Map(
    settledRates(csvText(path), path).map(({ timeMs, rateHourly }) => [
      timeMs / HOUR_MS,
      rateHourly,
    ]),
  )
}

function addBar(
  series: Series,
  [time, open, high, low, close, volume = '']: readonly string[],
): void {
  series.bars.push({
    openTimeMs: Number(time),
    open: Number(open),
    high: Number(high),
    low: Number(low),
    close: Number(close),
    volumeBase: Number(volume),
  })
  // Sizes have no trailing zeros, so the longest one shows the precision of the coin.
  if (volume.endsWith('.0')) return
  const decimals = volume.length - 1 - volume.indexOf('.')
  if (volume.includes('.') && decimals > series.sizeDecimals) series.sizeDecimals = decimals
}

function meanDayNotionalUsd(quarters: RecordedSeries): number {
  let usd = 0
  const first = Math.max(quarters.firstIndex, quarters.endIndex - 4 * QUARTERS_A_DAY)
  for (let index = first; index < quarters.endIndex; index++) {
    const bar = quarters.at(index)
    if (bar !== undefined) usd += bar.volumeBase * bar.close
  }
  const days = (quarters.endIndex - first) / QUARTERS_A_DAY
  return Math.max(1000, usd / days)
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HourlyCloses } from '../compute/volatility/hourly-closes.ts'
import { memorySeries } from '../domain/history.ts'
import { HistoryStore } from './history-store.ts'
import { storedSeries } from './stored-series.ts'
import {
  barBatch,
  barsFrom,
  batchOf,
  fundingAt,
  START_MS,
  sampleAt,
} from './testing/history-rows.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Two minutes after the last row of 40 days. */
const NOW_MS = START_MS + 40 * DAY_MS + 2 * MINUTE_MS

describe('the stored series of a coin for a starting engine', () => {
  let folder: string
  let history: HistoryStore

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-memory-'))
    const path = join(folder, 'history.db')
    history = new HistoryStore({ path, onNotice: () => undefined }, NOW_MS)
    history.add(barBatch('BTC', barsFrom(START_MS, 40 * 24)))
    const samples = Array.from({ length: 40 * 24 * 60 + 1 }, (_, at) =>
      sampleAt('BTC', START_MS + at * MINUTE_MS),
    )
    const fundings = Array.from({ length: 40 * 24 + 1 }, (_, hour) => fundingAt('BTC', hour, true))
    history.add(batchOf({ samples, fundings }))
  })

  afterAll(() => {
    history.close(NOW_MS)
    rmSync(folder, { recursive: true })
  })

  test('is a month of funding, to the last hour', () => {
    const times = storedSeries(history, 'BTC', 'fundings', NOW_MS)?.rows.map((row) =>
      'timeMs' in row ? row.timeMs : Number.NaN,
    )
    expect(times).toHaveLength(721)
    expect(times?.at(-1)).toBe(START_MS + 40 * DAY_MS)
  })

  test('is closed hours for a month as it is and as it was a week ago', () => {
    const memory = storedSeries(history, 'BTC', 'hours', NOW_MS)
    expect(memory?.rows).toEqual(barsFrom(START_MS + DAY_MS + HOUR_MS, 39 * 24 - 1))
  })

  test('is every hour that correlation reads, so that none is asked of the venue', () => {
    const memory = storedSeries(history, 'BTC', 'hours', NOW_MS)
    const bars = memory?.series === 'hours' ? memory.rows : []
    const closes = new HourlyCloses()
    closes.apply({
      ...{ kind: 'hourly-history', coin: 'BTC', bars, isRemembered: true },
      ...{ timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS },
    })
    expect(closes.needFromMs(NOW_MS)).toBeNull()
  })

  test('is a day of minutes, and a month of quarters before', () => {
    const timesOf = (series: 'quarters' | 'minutes') =>
      storedSeries(history, 'BTC', series, NOW_MS)?.rows.map((row) =>
        'timeMs' in row ? row.timeMs : Number.NaN,
      ) ?? []
    const times = [...timesOf('quarters'), ...timesOf('minutes')]
    const denseFromMs = NOW_MS - DAY_MS
    const dense = times.filter((timeMs) => timeMs >= denseFromMs)
    expect(dense).toEqual(
      Array.from({ length: dense.length }, (_, at) => denseFromMs + at * MINUTE_MS),
    )
    expect(dense).toHaveLength(24 * 60 - 1)
    const sparse = times.slice(0, -dense.length)
    expect(sparse.every((timeMs) => timeMs % (15 * MINUTE_MS) === 0)).toBe(true)
    expect(sparse).toHaveLength(29 * 96 + 4)
  })

  test('is nothing of a coin that history does not have', () => {
    for (const series of memorySeries)
      expect(storedSeries(history, 'ETH', series, NOW_MS)).toBeNull()
  })
})

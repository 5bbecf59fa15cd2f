import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { candleReplayMarket } from './candle-replay-market.ts'
import { csvRows } from './csv-file.ts'
import type { Market } from './market.ts'
import { candleIntervalMs } from './market.ts'

const directory = fileURLToPath(
  new URL('../../../../shared/data/hl-candles-2025-07', import.meta.url),
)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)

type Row = readonly [t: number, o: number, h: number, l: number, c: number, v: number]

function rows(file: string): Row[] {
  return Array.from(
    csvRows(`${directory}/${file}`, ['t', 'o', 'h', 'l', 'c', 'v']),
    ([t, o, h, l, c, v]): Row => [Number(t), Number(o), Number(h), Number(l), Number(c), Number(v)],
  )
}

describe('files that cannot be replayed', () => {
  const header = 't,o,h,l,c,v'
  const own = join('coins', 'BTC', '15m.csv.gz')
  const universe = join('universe', '15m.csv.gz')
  const funding = join('coins', 'BTC', 'funding_1h.csv.gz')
  test.each([
    {
      what: 'a missing bar of a coin',
      file: own,
      lines: [header, '1725480000000,1,1,1,1,1', '1725481800000,1,1,1,1,1'],
      message: `${own}: expected a bar at 2024-09-04T20:15:00.000Z, found 2024-09-04T20:30:00.000Z; bars of 15 min must be consecutive`,
    },
    {
      what: 'a missing bar in the file of all coins',
      file: universe,
      lines: [`coin,${header}`, 'SOL,1725480000000,1,1,1,1,1', 'SOL,1725480000000,1,1,1,1,1'],
      message: `${universe}, SOL: expected a bar at 2024-09-04T20:15:00.000Z, found 2024-09-04T20:00:00.000Z; bars of 15 min must be consecutive`,
    },
    {
      what: 'a coin without bars',
      file: own,
      lines: [header, ''],
      message: `${own}: there is no candle in it`,
    },
    {
      what: 'a folder without candles',
      file: join('coins', '.DS_Store'),
      lines: [],
      message: 'coins: no coin has 15m candles',
    },
    {
      what: 'a price without bound',
      file: own,
      lines: [header, '1725480000000,1e308,1e308,1e308,1e308,1'],
      message: `${own}: not a bar: {"openTimeMs":1725480000000,`,
    },
    {
      what: 'funding in seconds',
      file: own,
      lines: [header, '1725480000000,1,1,1,1,1'],
      funding: '1725480000,0.0001',
      message: `${funding}:2: not a settlement: t must be Unix ms of 2001 to 2100`,
    },
    {
      what: 'a row without numbers',
      file: own,
      lines: [header, 'yesterday,1,1,1,1,1'],
      message: `${own}: not a bar: {"openTimeMs":null,`,
    },
  ])('$what is named with its file and time', ({ file, lines, funding: rates, message }) => {
    const folder = mkdtempSync(join(tmpdir(), 'candles-'))
    try {
      mkdirSync(join(folder, dirname(file)), { recursive: true })
      writeFileSync(join(folder, file), gzipSync(lines.join('\n')))
      if (rates !== undefined)
        writeFileSync(join(folder, funding), gzipSync(`t,fundingRate\n${rates}\n`))
      const replay = () => candleReplayMarket(folder, { seed: 1, startMs })
      expect(replay).toThrow(`${folder}/${message}`)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe.skipIf(!existsSync(directory))(
  'recorded candles as a market (needs ../shared/data)',
  () => {
    let market: Market
    let recordedStartMs: number

    beforeAll(() => {
      market = candleReplayMarket(directory, { seed: 1, startMs })
      recordedStartMs = startMs - market.clockShiftMs
    })

    test('lists the recorded coins; those whose bars ended are delisted', () => {
      const universe = market.universe()
      expect(universe).toHaveLength(172)
      const delisted = universe.filter(({ isDelisted }) => isDelisted).map(({ coin }) => coin)
      expect(delisted).toHaveLength(11)
      expect(delisted).toContain('RLB')
      expect(market.instrument('kPEPE')).toMatchObject({ sizeDecimals: 0, maxLeverage: 10 })
      expect(market.instrument('BTC')).toMatchObject({ sizeDecimals: 5, maxLeverage: 40 })
    })

    test('is shifted by whole steps of 4 h and has a day ahead', () => {
      expect(market.clockShiftMs % (4 * HOUR_MS)).toBe(0)
      const universeEndMs = Date.UTC(2025, 6, 25)
      expect(universeEndMs - recordedStartMs).toBeGreaterThanOrEqual(DAY_MS)
      expect(universeEndMs - recordedStartMs).toBeLessThan(DAY_MS + 4 * HOUR_MS)
    })

    test.each([
      ['BTC', '1m'],
      ['BTC', '15m'],
      ['kPEPE', '15m'],
      ['SOL', '1h'],
      ['PUMP', '4h'],
      ['kBONK', '4h'],
    ] as const)('%s %s: closed bars are the recorded ones, verbatim', (coin, interval) => {
      const stepMs = candleIntervalMs[interval]
      const closed = rows(`coins/${coin}/${interval}.csv.gz`).filter(
        ([t]) => t + stepMs <= recordedStartMs,
      )
      const wanted = closed.slice(-400)
      const range = { fromMs: (wanted[0]?.[0] ?? 0) + market.clockShiftMs, untilMs: startMs }
      const found = market
        .candles(coin, interval, range, startMs)
        .filter(({ openTimeMs }) => openTimeMs + stepMs <= startMs)
        .map(({ openTimeMs, open, high, low, close, volumeBase }) => [
          openTimeMs - market.clockShiftMs,
          open,
          high,
          low,
          close,
          volumeBase,
        ])
      expect(found).toEqual(wanted)
    })

    test('the live edge walks through the recorded minute', () => {
      const minuteMs = Math.ceil(startMs / 60_000) * 60_000
      const row = rows('coins/ETH/1m.csv.gz').find(([t]) => t === minuteMs - market.clockShiftMs)
      const trades = market.trades('ETH', minuteMs - 1, minuteMs + 59_999)
      const prices = trades.map(({ price }) => price)
      const volume = trades.reduce((sum, { sizeBase }) => sum + sizeBase, 0)
      expect(row?.slice(1, 5)).toEqual([
        prices[0],
        Math.max(...prices),
        Math.min(...prices),
        prices.at(-1),
      ])
      expect(volume).toBeCloseTo(row?.[5] ?? Number.NaN, 4)
    })

    test('every live coin has a book, a context and a full warm-up of 15m bars', () => {
      for (const { coin, isDelisted } of market.universe()) {
        if (isDelisted) continue
        expect(market.book(coin, startMs, 20).asks, coin).toHaveLength(20)
        expect(market.context(coin, startMs)?.impact, coin).not.toBeNull()
        const range = { fromMs: startMs - 250 * 15 * 60_000, untilMs: startMs }
        expect(market.candles(coin, '15m', range, startMs).length, coin).toBeGreaterThanOrEqual(250)
      }
    })

    test('funding rates are the settled ones', () => {
      const range = { fromMs: startMs - 5 * HOUR_MS, untilMs: startMs }
      const found = market.fundingHistory('BTC', range, startMs, 500)
      const file = `${directory}/coins/BTC/funding_1h.csv.gz`
      const recorded = new Map(
        Array.from(csvRows(file, ['t', 'fundingRate']), ([t, rate]) => [
          Math.floor(Number(t) / HOUR_MS),
          Number(rate),
        ]),
      )
      expect(found).toHaveLength(5)
      for (const { timeMs, fundingRateHourly } of found) {
        const hour = Math.floor((timeMs - market.clockShiftMs) / HOUR_MS)
        expect(fundingRateHourly).toBe(recorded.get(hour))
      }
    })
  },
)

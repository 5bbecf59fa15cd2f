import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readCandleFolder } from './candle-folder.ts'

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const RATES = 't,fundingRate'

let folder: string
let coins: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-candle-folder-'))
  coins = join(folder, 'coins')
  mkdirSync(join(coins, 'BTC'), { recursive: true })
  write('15m', barsAt([0, 15, 30, 45]))
})

afterEach(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) =>
  writeFileSync(join(coins, 'BTC', `${name}.csv.gz`), gzipSync(text))
const read = () => [...readCandleFolder(folder)]

function barsAt(minutes: readonly number[]): string {
  const rows = minutes.map((minute) => `${START_MS + minute * MINUTE_MS},1,2,0.5,1.5,10`)
  return ['t,o,h,l,c,v', ...rows].join('\n')
}

test('hidden files among the coins are left out', () => {
  writeFileSync(join(coins, '.DS_Store'), 'Bud1')
  expect(read().map(({ coin }) => coin)).toEqual(['BTC'])
})

test.each([
  ['a file', () => writeFileSync(join(coins, 'notes.txt'), ''), 'notes.txt'],
  ['a folder without candles', () => mkdirSync(join(coins, 'other')), 'other'],
])('%s among the coins is named', (_what, add, name) => {
  add()
  expect(read).toThrow(
    `${join(coins, name)} has no 15m.csv.gz: each entry of coins/ must be the folder of a coin`,
  )
})

test('a file of 15m bars without bars is named', () => {
  write('15m', 't,o,h,l,c,v\n')
  expect(read).toThrow(`${join(coins, 'BTC', '15m.csv.gz')}: there is no candle in it`)
})

describe('bars that are not consecutive bars of the length in the file name', () => {
  test.each([
    ['a hole', '15m', [0, 15, 45], 'expected a bar at 2026-01-01T00:30:00.000Z, found'],
    ['bars of 5m as 15m', '15m', [0, 5, 10], 'expected a bar at 2026-01-01T00:15:00.000Z, found'],
    [
      'bars off the quarter of an hour',
      '15m',
      [7, 22],
      'expected a bar at 2026-01-01T00:00:00.000Z,',
    ],
    ['bars of 4h as 1h', '1h', [0, 240, 480], 'expected a bar at 2026-01-01T01:00:00.000Z,'],
    ['bars of 1h as 4h', '4h', [0, 60, 120], 'expected a bar at 2026-01-01T04:00:00.000Z,'],
  ])('%s: the file and the time are named', (_what, name, minutes, message) => {
    write(name, barsAt(minutes))
    expect(read).toThrow(
      expect.objectContaining({
        code: 'bars_have_hole',
        message: expect.stringMatching(
          new RegExp(`/${name}\\.csv\\.gz: ${message}.*; .* must be consecutive`),
        ),
      }),
    )
  })
})

describe('settled funding', () => {
  const at = (hour: number) => START_MS + hour * HOUR_MS + 54
  const path = () => join(coins, 'BTC', 'funding_1h.csv.gz')

  test('is read by the hour that it settles', () => {
    write('funding_1h', `${RATES}\r\n${at(1)},-0.0000125\r\n${at(3)},4e-2\r\n`)
    expect(read()[0]?.fundings).toEqual([
      { timeMs: START_MS + HOUR_MS, rateHourly: -0.0000125 },
      { timeMs: START_MS + 3 * HOUR_MS, rateHourly: 0.04 },
    ])
  })

  test('may be without rows', () => {
    write('funding_1h', `${RATES}\n`)
    expect(read()[0]?.fundings).toEqual([])
  })

  test.each([
    ['nothing', '', ':1: the columns must be t,fundingRate'],
    ['no header', `${at(1)},0.0001`, ':1: the columns must be t,fundingRate'],
    ['other columns', `fundingRate,t\n0.0001,${at(1)}`, ':1: the columns must be t,fundingRate'],
    ['seconds', `${RATES}\n${at(1) / 1_000},0.0001`, ':2: not a settlement: t must be Unix ms'],
    ['part of a ms', `${RATES}\n${at(1)}.5,0.0001`, ':2: not a settlement: t must be Unix ms'],
    ['µs', `${RATES}\n${at(1) * 1_000},0.0001`, ':2: not a settlement: t must be Unix ms'],
    [
      'descending times',
      `${RATES}\n${at(2)},0.0001\n${at(1)},0.0001`,
      ':3: not later than the settlement before: one an hour, oldest first, is expected',
    ],
    [
      'two of one hour',
      `${RATES}\n${at(1)},0.0001\n${at(1) + 9},0.0001`,
      ':3: not later than the settlement before',
    ],
    ['a huge rate', `${RATES}\n${at(1)},1e300`, ':2: not a settlement: fundingRate must be a'],
    ['percent', `${RATES}\n${at(1)},-1.25`, ':2: not a settlement: fundingRate must be a fraction'],
    ['no rate', `${RATES}\n${at(1)},`, ':2: not a settlement: fundingRate must be a fraction'],
    ['one column', `${RATES}\n${at(1)}`, ':2: not a settlement: fundingRate must be a fraction'],
    ['a word', `${RATES}\n${at(1)},\u009b2J`, ':2: not a settlement: fundingRate must be'],
  ])('with %s is refused, and the line named', (_what, text, message) => {
    write('funding_1h', text)
    expect(read).toThrow(
      expect.objectContaining({
        code: 'settled_funding',
        message: expect.stringContaining(`${path()}${message}`),
      }),
    )
    expect(read).toThrow(/^[ -~µ]*$/)
  })
})

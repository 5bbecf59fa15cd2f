import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candleGaps, parseCandles, readCandleFile } from './candle-file.ts'

const TEXT = 't,o,h,l,c,v\n1,2,4,1,3,5\n2,3,3,3,3,0\n'
const BARS = [
  { openTimeMs: 1, open: 2, high: 4, low: 1, close: 3, volumeBase: 5 },
  { openTimeMs: 2, open: 3, high: 3, low: 3, close: 3, volumeBase: 0 },
]

describe('candle file', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-candles-'))
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test('of a year of minutes is examined for gaps', () => {
    const bars = Array.from({ length: 300_000 }, (_, at) => ({ ...BARS[1], openTimeMs: at }))
    expect(candleGaps(bars as typeof BARS)).toEqual([])
  })

  test('that is a damaged gzip file is named', () => {
    const path = join(folder, 'half.gz')
    writeFileSync(path, gzipSync(TEXT).subarray(0, 20))
    expect(() => readCandleFile(path)).toThrow(/half\.gz is a damaged gzip file/)
  })

  test.each([
    ['plain', Buffer.from(TEXT)],
    ['gzipped', gzipSync(TEXT)],
  ])('is read %s', (name, bytes) => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    expect(readCandleFile(path)).toEqual(BARS)
  })

  test('may have Windows line ends and empty lines', () => {
    expect([...parseCandles(`${TEXT.replaceAll('\n', '\r\n')}\r\n\n`, 'x')]).toEqual(BARS)
  })

  const HOUR_MS = 3_600_000
  const OPEN_MS = 1_735_689_600_000
  const REAL = [
    { openTimeMs: OPEN_MS, open: 2, high: 4, low: 1, close: 3, volumeBase: 5 },
    { openTimeMs: OPEN_MS + HOUR_MS, open: 3, high: 3, low: 3, close: 3, volumeBase: 0 },
  ]
  const csv = (header: string, one: string, two: string) =>
    [header, `${one},2,4,1,3,5`, `${two},3,3,3,3,0`].join('\n')

  test.each([
    ['seconds', csv('timestamp,open,high,low,close,volume', '1735689600', '1735693200')],
    ['seconds, also in our own columns', csv('t,o,h,l,c,v', '1735689600', '1735693200')],
    ['milliseconds', csv('Time,Open,High,Low,Close,Volume', '1735689600000', '1735693200000')],
    ['microseconds', csv('open_time,o,h,l,c,v', '1735689600000000', '1735693200000000')],
    [
      'floats of pandas',
      csv('timestamp,open,high,low,close,volume', '1735689600.0', '1735693200.0'),
    ],
    [
      'ISO 8601',
      csv('date,open,high,low,close,volume', '2025-01-01T00:00:00Z', '2025-01-01T01:00:00.000Z'),
    ],
    ['dates in UTC', csv('DATETIME,open,high,low,close,volume', '2025-01-01', '2025-01-01 01:00')],
    [
      'another zone',
      csv('datetime,o,h,l,c,v', '2025-01-01 01:00:00+01:00', '2025-01-01 02:00:00+0100'),
    ],
    ['points, as Bybit has it', csv('time,o,h,l,c,v', '2025.01.01 00:00', '2025.01.01 01:00')],
    ['a byte order mark', csv('\ufefftime,open,high,low,close,volume', '1735689600', '1735693200')],
    [
      'units that change, as at the turn of 2025',
      csv('open_time,o,h,l,c,v', '1735689600000', '1735693200000000'),
    ],
    [
      'other columns, another order, quotes',
      'symbol,"date",unix,close,volume,"low",high,open\n"BTC, perp",2025-01-01,1,3,5,1,4,2\nx,2025-01-01 01:00,1,3,0,3,3,3',
    ],
    [
      'the names of the venue',
      't,T,s,i,o,c,h,l,v,n\n1735689600000,1,BTC,1h,2,3,4,1,5,9\n1735693200000,2,BTC,1h,3,3,3,3,0,0',
    ],
    [
      'no header, as Binance has it since 2025',
      '1735689600000000,2,4,1,3,5,1735693199999999,10,7,2,3,0\n1735693200000000,3,3,3,3,0,1735696799999999,0,0,0,0,0',
    ],
    ['no header, as Kraken has it', '1735689600,2,4,1,3,5,9\n1735693200,3,3,3,3,0,0'],
    [
      'the JSON of candleSnapshot',
      JSON.stringify([
        {
          t: OPEN_MS,
          T: OPEN_MS + 1,
          s: 'BTC',
          i: '1h',
          o: '2',
          c: '3',
          h: '4',
          l: '1',
          v: '5',
          n: 9,
        },
        {
          t: OPEN_MS + HOUR_MS,
          T: 1,
          s: 'BTC',
          i: '1h',
          o: '3',
          c: '3',
          h: '3',
          l: '3',
          v: '0',
          n: 0,
        },
      ]),
    ],
    [
      'lists in JSON, as exchanges answer',
      JSON.stringify([
        [OPEN_MS, '2', '4', '1', '3', '5', 1],
        [OPEN_MS + HOUR_MS, '3', '3', '3', '3', '0', 1],
      ]),
    ],
    [
      'a byte order mark, in JSON',
      `\ufeff${JSON.stringify([
        [OPEN_MS, 2, 4, 1, 3, 5],
        [OPEN_MS + HOUR_MS, 3, 3, 3, 3, 0],
      ])}`,
    ],
  ])('is read with %s', (_what, text) => {
    expect([...parseCandles(text, 'x')]).toEqual(REAL)
  })

  test('that is a ZIP archive is refused with what to do', () => {
    const path = join(folder, 'BTCUSDT-1h-2025-01.zip')
    writeFileSync(path, Buffer.from('PK\u0003\u0004...'))
    expect(() => readCandleFile(path)).toThrow('is a ZIP archive: unzip it first')
  })

  test.each([
    ['a header without a close', 'time,o,h,l,v\n', 'x: the first line names none of c, close;'],
    ['no time in its header', 'o,h,l,c,v\n', 'x: the first line names none of t, open_time,'],
    ['two opens', 'time,Open,OPEN,h,l,c,v\n', 'x: the header names open twice'],
    ['nothing', '', 'x: there is nothing in it'],
    ['broken quotes', 'time,o,h,l,c,v\n"1,1,1,1,1,1', 'x: Quote Not Closed'],
    ['broken JSON', '[{', 'x: not valid JSON'],
    ['JSON of something else', '[{"t":1700000000000},null]', 'x: item 0: not a candle'],
    // Of no unit: an index, nanoseconds, and what lies between two units.
    ['an index for a time', 'time,o,h,l,c,v\n7,1,1,1,1,1', 'x:2: not a candle'],
    ['nanoseconds', 'time,o,h,l,c,v\n1700000000000000000,1,1,1,1,1', 'x:2: not a candle'],
    ['a time between units', 'time,o,h,l,c,v\n17000000000,1,1,1,1,1', 'x:2: not a candle'],
    ['parts of a millisecond', 'time,o,h,l,c,v\n1700000000000001,1,1,1,1,1', 'x:2: not a candle'],
    ['a date that is none', 'date,o,h,l,c,v\n2024-13-01,1,1,1,1,1', 'x:2: not a candle'],
    ['30 February', 'date,o,h,l,c,v\n2024-02-30,1,1,1,1,1', 'x:2: not a candle'],
    ['an American date', 'date,o,h,l,c,v\n01/02/2024,1,1,1,1,1', 'x:2: not a candle'],
    ['a field that is no number', 't,o,h,l,c,v\n1,1,1,1,y,1', 'x:2: not a candle'],
    ['a missing field', 't,o,h,l,c,v\n1,1,1,1,,1', 'x:2: not a candle'],
    ['a field too many', 't,o,h,l,c,v\n1,1,1,1,1,1,1', 'x:2: not a candle'],
    ['a high below the low', 't,o,h,l,c,v\n1,1,1,2,1,1', 'x:2: not a candle'],
    ['an open above the high', 't,o,h,l,c,v\n1,3,2,1,1,1', 'x:2: not a candle'],
    ['an open below the low', 't,o,h,l,c,v\n1,1,3,2,2,1', 'x:2: not a candle'],
    ['a close above the high', 't,o,h,l,c,v\n1,1,2,1,3,1', 'x:2: not a candle'],
    ['a close below the low', 't,o,h,l,c,v\n1,2,3,2,1,1', 'x:2: not a candle'],
    ['a price that is no finite number', 't,o,h,l,c,v\n1,1,Infinity,1,1,1', 'x:2: not a candle'],
    ['a time between two milliseconds', 't,o,h,l,c,v\n1.5,1,1,1,1,1', 'x:2: not a candle'],
    ['a price of nothing', 't,o,h,l,c,v\n1,1,1,0,1,1', 'x:2: not a candle'],
    ['a volume below nothing', 't,o,h,l,c,v\n1,1,1,1,1,-1', 'x:2: not a candle'],
    ['the same time twice', 't,o,h,l,c,v\n1,1,1,1,1,1\n\n1,1,1,1,1,1', 'x:4: not a candle'],
  ])('with %s is refused, and the line named', (_what, text, message) => {
    expect(() => [...parseCandles(text, 'x')]).toThrow(
      expect.objectContaining({
        code: 'candle_file',
        message: expect.stringContaining(message),
      }),
    )
  })

  test('that is not there is refused', () => {
    const path = join(folder, 'absent.csv')
    expect(() => readCandleFile(path)).toThrow(`${path} cannot be read`)
  })
})

describe('gaps of a candle file', () => {
  const gapsOf = (...openTimesMs: number[]) =>
    candleGaps(
      openTimesMs.map((openTimeMs) => ({
        openTimeMs,
        open: 1,
        high: 1,
        low: 1,
        close: 1,
        volumeBase: 0,
      })),
    )

  test.each([
    ['no bar', []],
    ['one bar', [0]],
    ['two bars', [0, 900]],
    ['consecutive bars', [0, 900, 1800, 2700]],
  ])('there is none in %s', (_what, times) => {
    expect(gapsOf(...times)).toEqual([])
  })

  test('each place is named with the bars that lack there', () => {
    expect(gapsOf(0, 900, 1800, 3600, 4500, 9000)).toEqual([
      { afterMs: 1800, untilMs: 3600, missing: 1 },
      { afterMs: 4500, untilMs: 9000, missing: 4 },
    ])
  })

  test('a gap next to as few good bars is one all the same', () => {
    expect(gapsOf(0, 900, 2700)).toEqual([{ afterMs: 900, untilMs: 2700, missing: 1 }])
  })

  test('bars that overlap are named, with nothing missing between them', () => {
    expect(gapsOf(0, 900, 1300, 1800, 2700, 3600)).toEqual([
      { afterMs: 900, untilMs: 1300, missing: 0 },
      { afterMs: 1300, untilMs: 1800, missing: 0 },
    ])
  })
})

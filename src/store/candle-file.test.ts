import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { barEnd, candleGaps, parseCandles, readCandleFile } from './candle-file.ts'

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
    expect(parseCandles(`${TEXT.replaceAll('\n', '\r\n')}\r\n\n`, 'x')).toEqual(BARS)
  })

  const OWN = 't,o,h,l,c,v\n'
  const BAD_TIME =
    'x:2: not a candle: the time is not of 2001 to 2100 in s, whole ms or µs, or in ISO'
  const BAD_PRICE = 'x:2: not a candle: prices must be above zero and at most 1e15'
  const OUTSIDE = 'x:2: not a candle: open or close is outside low and high: 1'
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
    expect(parseCandles(text, 'x')).toEqual(REAL)
  })

  const KRAKEN = 'time,open,high,low,close,vwap,volume,count'
  const objects = REAL.map(({ openTimeMs, volumeBase, ...prices }) => ({
    ...{ volume: volumeBase, timestamp: openTimeMs, ...prices },
  }))

  test.each([
    ['the newest candle first', 't,o,h,l,c,v\n1735693200,3,3,3,3,0\n1735689600,2,4,1,3,5'],
    [
      'semicolons',
      csv('time,open,high,low,close,volume', '1735689600', '1735693200').replaceAll(',', ';'),
    ],
    [
      'tabs',
      csv('time,open,high,low,close,volume', '1735689600', '1735693200').replaceAll(',', '\t'),
    ],
    [
      'bars between',
      csv('time,open,high,low,close,volume', '1735689600', '1735693200').replaceAll(',', '|'),
    ],
    ['spaces in names', csv('Open time,Open,High,Low,Close,Volume', '1735689600', '1735693200')],
    [
      'an index of pandas without a name',
      csv(',open,high,low,close,volume', '2025-01-01', '2025-01-01 01:00:00'),
    ],
    ['the names of OKX', csv('ts,open,high,low,close,vol', '1735689600000', '1735693200000')],
    ['a comment', csv('# BTC, 1 h\r\ntime,o,h,l,c,v', '1735689600', '1735693200')],
    [
      'an address in its first line',
      csv('https://www.example.com/\ntime,o,h,l,c,v', '1735689600', '1735693200'),
    ],
    [
      'a header that begins with #',
      '# time,close,high,low,open,volume\n1735689600,3,4,1,2,5\n1735693200,3,3,3,3,0',
    ],
    [
      'the columns of Kraken by name',
      `${KRAKEN}\n1735689600,2,4,1,3,9,5,1\n1735693200,3,3,3,3,9,0,0`,
    ],
    ['no header, as OKX has it', '1735693200000,3,3,3,3,0,9,9,1\n1735689600000,2,4,1,3,5,9,9,1'],
    ['objects of common names', JSON.stringify(objects)],
    ['an object a line', objects.map((item) => JSON.stringify(item)).join('\n')],
  ])('is read with %s', (_what, text) => {
    expect(parseCandles(text, 'x')).toEqual(REAL)
  })

  test.each([
    ['little-endian', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['big-endian', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ])('is read in UTF-16, %s', (name, encoded) => {
    const path = join(folder, name)
    writeFileSync(path, encoded(TEXT))
    expect(readCandleFile(path)).toEqual(BARS)
  })

  test('of another compression is refused without its bytes', () => {
    const path = join(folder, 'btc.csv.xz')
    writeFileSync(path, Buffer.from('fd377a585a000004e6d6b446', 'hex'))
    expect(() => readCandleFile(path)).toThrow(`${path} is not text: unpack it first`)
  })

  test('with broken quotes is refused with the reason once, and without control characters', () => {
    // The command prints the cause after the message.
    const refusal = expect.toSatisfy(
      ({ message, cause }: Error) =>
        /^x: Invalid Opening Quote: .* value is "\\u001b\[2J"$/.test(message) &&
        cause === undefined,
    )
    expect(() => parseCandles('t,o,h,l,c,v\n1,\u001b[2J"a,1,1,1,1', 'x')).toThrow(refusal)
  })

  test('that is too large is not called damaged', () => {
    const [plain, zipped] = [join(folder, 'large.csv'), join(folder, 'large.csv.gz')]
    writeFileSync(plain, '')
    truncateSync(plain, 128 * 1_024 ** 2 + 1)
    const piece = gzipSync(Buffer.alloc(1_024 ** 2))
    writeFileSync(zipped, Buffer.concat(Array.from({ length: 129 }, () => piece)))
    for (const path of [plain, zipped])
      expect(() => readCandleFile(path)).toThrow(
        `${path} is too large: split it into files of at most 128 MiB`,
      )
  })

  test('that is a ZIP archive is refused with what to do', () => {
    const path = join(folder, 'BTCUSDT-1h-2025-01.zip')
    writeFileSync(path, Buffer.from('PK\u0003\u0004...'))
    expect(() => readCandleFile(path)).toThrow('is a ZIP archive: unzip it first')
  })

  test.each([
    ['a header without a close', 'time,o,h,l,v\n', 'x: no column is named c, close;'],
    ['no time in its header', 'o,h,l,c,v\n', 'x: no column is named t, opentime,'],
    ['two opens', 'time,Open,OPEN,h,l,c,v\n', 'x: the header names open twice'],
    ['nothing', '', 'x: there is nothing in it'],
    ['broken JSON', '[{', 'x: not valid JSON'],
    ['a broken line of JSON', '[1,2]\n[1', 'x:2: not valid JSON'],
    ['JSON of something else', '[{"t":1700000000000},null]', 'x: no column is named o, open;'],
    [
      'an answer around the list',
      '{"result":{"list":[]}}',
      'x: an object, not a list of candles: extract',
    ],
    [
      'the 8 columns of Kraken, of which Bitget has another order',
      '[[1735689600,"2","4","1","3","2.5","5",9]]',
      'time,open,high,low,close,vwap,volume,count',
    ],
    ['8 columns without names', '1735689600,2,4,1,3,2.5,5,9', 'rows of 8 columns without names'],
    [
      'the columns of Coinbase without names',
      '1735689600,1,4,2,3,5',
      'x:1: not a candle: open or close is outside low and high (columns without names are time,open,',
    ],
    // Of no unit: an index, nanoseconds, and what lies between two units.
    ['an index for a time', 'time,o,h,l,c,v\n7,1,1,1,1,1', BAD_TIME],
    ['an index of pandas', ',o,h,l,c,v\n7,1,1,1,1,1', BAD_TIME],
    ['nanoseconds', 'time,o,h,l,c,v\n1700000000000000000,1,1,1,1,1', BAD_TIME],
    ['a time between units', 'time,o,h,l,c,v\n17000000000,1,1,1,1,1', BAD_TIME],
    ['parts of a millisecond', 'time,o,h,l,c,v\n1700000000000001,1,1,1,1,1', BAD_TIME],
    ['a date that is none', 'date,o,h,l,c,v\n2024-13-01,1,1,1,1,1', BAD_TIME],
    ['30 February', 'date,o,h,l,c,v\n2024-02-30,1,1,1,1,1', BAD_TIME],
    ['an American date', 'date,o,h,l,c,v\n01/02/2024,1,1,1,1,1', BAD_TIME],
    ['a time between two milliseconds', 't,o,h,l,c,v\n1.5,1,1,1,1,1', BAD_TIME],
    [
      'a field that is no number',
      't,o,h,l,c,v\n1,1,1,1,y,1',
      'the close is not a number: 1,1,1,1,y,1',
    ],
    ['a decimal comma', 't;o;h;l;c;v\n1;1,5;2;1;1;1', 'the open is not a number'],
    ['a missing field', 't,o,h,l,c,v\n1,1,1,1,,1', 'the close is not a number'],
    [
      'a missing member',
      '[{"t":1e9,"o":1,"h":1,"l":1,"c":1,"v":1},{"t":2}]',
      'x: item 1: not a candle: the open is',
    ],
    [
      'a field too many',
      't,o,h,l,c,v\n1,1,1,1,1,1,1',
      'its columns are not those of the first row',
    ],
    ['a high below the low', 't,o,h,l,c,v\n1,1,1,2,1,1', 'the high is below the low: 1,1,1,2,1,1'],
    ['an open above the high', 't,o,h,l,c,v\n1,3,2,1,1,1', OUTSIDE],
    ['an open below the low', 't,o,h,l,c,v\n1,1,3,2,2,1', OUTSIDE],
    ['a close above the high', 't,o,h,l,c,v\n1,1,2,1,3,1', OUTSIDE],
    ['a close below the low', 't,o,h,l,c,v\n1,2,3,2,1,1', OUTSIDE],
    ['a price that is no finite number', 't,o,h,l,c,v\n1,1,Infinity,1,1,1', BAD_PRICE],
    ['a price without bound', 't,o,h,l,c,v\n1,1,1e308,1,1,1', BAD_PRICE],
    ['a volume without bound', 't,o,h,l,c,v\n1,1,1,1,1,1e308', 'zero or more, and at most 1e30'],
    ['a time that is no date', 't,o,h,l,c,v\n9e15,1,1,1,1,1', BAD_TIME],
    ['a price of nothing', 't,o,h,l,c,v\n1,1,1,0,1,1', BAD_PRICE],
    ['a volume below nothing', 't,o,h,l,c,v\n1,1,1,1,1,-1', 'the volume must be zero or more'],
    [
      'the same time twice',
      `${OWN}1,1,1,1,1,1\n\n1,1,1,1,1,1`,
      'x:4: the same time as the candle before',
    ],
    [
      'an earlier time',
      `${OWN}1,1,1,1,1,1\n3,1,1,1,1,1\n2,1,1,1,1,1`,
      'x:4: earlier than the candle before',
    ],
    [
      'a later time among descending ones',
      `${OWN}3,1,1,1,1,1\n1,1,1,1,1,1\n2,1,1,1,1,1`,
      'x:4: later than the candle before, in a file with the newest one first',
    ],
    [
      'an escape sequence',
      `${OWN}1,1,1,1,\u001b[2J,1`,
      'the close is not a number: 1,1,1,1,?[2J,1',
    ],
  ])('with %s is refused, and the line named', (_what, text, message) => {
    expect(() => parseCandles(text, 'x')).toThrow(
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
  const barsAt = (...openTimesMs: number[]) =>
    openTimesMs.map((openTimeMs) => ({
      openTimeMs,
      open: 1,
      high: 1,
      low: 1,
      close: 1,
      volumeBase: 0,
    }))
  const gapsOf = (...openTimesMs: number[]) => candleGaps(barsAt(...openTimesMs))

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

  const at = (date: string) => Date.parse(`${date}Z`)
  const firstsOf = (months: readonly number[], offsetMs = 0) =>
    months.map((month) => Date.UTC(2023, month) + offsetMs)

  test.each([
    ['months', firstsOf([0, 1, 2, 3, 4, 5])],
    ['months of another time zone', firstsOf([0, 1, 2, 3, 4, 5], -8 * 3_600_000)],
    ['months that are named by their last day', firstsOf([0, 1, 2, 3, 4], -24 * 3_600_000)],
    ['quarters', firstsOf([0, 3, 6, 9, 12])],
    ['years', firstsOf([0, 12, 24, 36])],
  ])('there is none in consecutive %s, which are not equally long', (_what, times) => {
    expect(gapsOf(...times)).toEqual([])
  })

  test('missing months are counted', () => {
    expect(gapsOf(...firstsOf([0, 1, 4, 5, 6]))).toEqual([
      { afterMs: at('2023-02-01'), untilMs: at('2023-05-01'), missing: 2 },
    ])
  })

  test.each([
    ['a month', firstsOf([0, 1, 2]), '2023-02-01', '2023-03-01'],
    ['a leap year', firstsOf([0, 12, 24]), '2024-01-01', '2025-01-01'],
    ['an hour', [0, 1, 2].map((hour) => hour * 3_600_000), '1970-01-01', '1970-01-01T01:00'],
    ['one bar alone, of unknown length,', [at('2023-01-01')], '2023-01-01', '2023-01-01'],
  ])('%s ends where the next one begins', (_what, times, openTime, end) => {
    expect(barEnd(barsAt(...times))(at(openTime))).toBe(at(end))
  })

  test('bars that overlap are named, with nothing missing between them', () => {
    expect(gapsOf(0, 900, 1300, 1800, 2700, 3600)).toEqual([
      { afterMs: 900, untilMs: 1300, missing: 0 },
      { afterMs: 1300, untilMs: 1800, missing: 0 },
    ])
  })
})

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

  test.each([
    ['another header', 'time,o,h,l,c,v\n', 'x: the first line must be t,o,h,l,c,v'],
    ['nothing', '', 'x: the first line must be t,o,h,l,c,v'],
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

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseCandles, readCandleFile } from './candle-file.ts'

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
    expect([...readCandleFile(path)]).toEqual(BARS)
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
    expect(() => [...readCandleFile(path)]).toThrow(`${path} cannot be read`)
  })
})

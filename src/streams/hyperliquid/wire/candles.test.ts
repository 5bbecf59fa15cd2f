import { describe, expect, test } from 'vitest'
import { decodeCandleSnapshot } from './candles.ts'

const RECEIVED_MS = Date.UTC(2026, 4, 30, 12)
const QUARTER_MS = 900_000

describe('a reply of candles', () => {
  const rows = (...bars: readonly (readonly [step: number, close: string, volume?: string])[]) =>
    JSON.stringify(
      bars.map(([step, c, v = '1']) => {
        const t = RECEIVED_MS + step * QUARTER_MS
        return { t, T: t + QUARTER_MS - 1, s: 'BTC', i: '15m', o: c, h: c, l: c, c, v, n: 1 }
      }),
    )
  const series = { coin: 'BTC', timeframe: '15m', fromMs: RECEIVED_MS - 8 * QUARTER_MS } as const

  test('a hole in the history is closed flat at the close before it', () => {
    const reply = decodeCandleSnapshot(rows([-4, '10'], [-1, '12']), series, RECEIVED_MS)
    expect(reply).toMatchObject({
      bars: [
        { close: 10, volumeBase: 1 },
        { open: 10, close: 10, volumeBase: 0 },
        { openTimeMs: RECEIVED_MS - 2 * QUARTER_MS, close: 10, volumeBase: 0 },
        { close: 12, volumeBase: 1 },
      ],
      drops: [],
    })
  })

  test('repeated and older rows are dropped', () => {
    const reply = decodeCandleSnapshot(
      rows([-2, '10'], [-2, '11'], [-3, '9'], [-1, '12']),
      series,
      RECEIVED_MS,
    )
    expect(reply).toMatchObject({
      bars: [{ close: 10 }, { close: 12 }],
      drops: [
        expect.objectContaining({ reason: 'bad_time' }),
        expect.objectContaining({ reason: 'bad_time' }),
      ],
    })
  })

  test('a series with a row that cannot be read is none: what was traded in it is no flat bar', () => {
    for (const price of ['', '-1', 'x']) {
      const body = rows([-3, '10'], [-2, price], [-1, '12'])
      expect(decodeCandleSnapshot(body, series, RECEIVED_MS)).toEqual({
        kind: 'rejected',
        reason: 'bad_rows',
      })
    }
    const foreign = decodeCandleSnapshot(rows([-2, '10']), { ...series, coin: 'ETH' }, RECEIVED_MS)
    expect(foreign).toEqual({ kind: 'rejected', reason: 'bad_rows' })
  })

  test('nothing before the request can enlarge the answer', () => {
    const reply = decodeCandleSnapshot(rows([-100_000, '10'], [-1, '12']), series, RECEIVED_MS)
    expect(reply).toMatchObject({
      bars: [{ close: 12 }],
      drops: [expect.objectContaining({ reason: 'bad_time' })],
    })
  })

  test.each(['null', '{}', '"x"', 'oops'])('%s is no history', (body) => {
    expect(decodeCandleSnapshot(body, series, RECEIVED_MS).kind).toBe('rejected')
  })
})

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { decodeFundingHistory, decodePredictedFundings } from './fundings.ts'

const FIXTURES = join(import.meta.dirname, '../../../../../shared/data/hl-api-fixtures')
const hasFixtures = existsSync(FIXTURES)
const HOUR_MS = 3_600_000
const NOW_MS = Date.UTC(2026, 4, 30, 12, 20)
const NOON_MS = Date.UTC(2026, 4, 30, 12)

describe('settled funding', () => {
  const row = (hour: number, other: object = {}) => ({
    coin: 'BTC',
    fundingRate: '-0.0000081',
    premium: '-0.00012500',
    time: NOON_MS + hour * HOUR_MS + 77,
    ...other,
  })
  const decode = (rows: unknown, fromMs = NOON_MS - 5 * HOUR_MS) =>
    decodeFundingHistory(JSON.stringify(rows), { coin: 'BTC', fromMs }, NOW_MS)

  test('is that of the hour behind which its row landed', () => {
    expect(decode([row(-1), row(0, { fundingRate: '0.0000125' })])).toEqual({
      kind: 'fundings',
      rows: [
        {
          coin: 'BTC',
          timeMs: NOON_MS - HOUR_MS,
          rateHourly: -0.0000081,
          premium: -0.000125,
          isSettled: true,
        },
        {
          coin: 'BTC',
          timeMs: NOON_MS,
          rateHourly: 0.0000125,
          premium: -0.000125,
          isSettled: true,
        },
      ],
      drops: [],
    })
  })

  test('may lack its premium, and nothing else', () => {
    const { premium: _, ...without } = row(0)
    expect(decode([without])).toMatchObject({ rows: [{ premium: null }], drops: [] })
    expect(decode([row(0, { premium: 'much' })])).toMatchObject({
      rows: [],
      drops: [expect.objectContaining({ reason: 'bad_number' })],
    })
  })

  test.each<readonly [string, unknown, string]>([
    ['of another coin', row(0, { coin: 'ETH' }), 'other_series'],
    ['that is no object', 7, 'bad_row'],
    ['without a time', row(0, { time: null }), 'bad_time'],
    ['of tomorrow', row(24), 'bad_time'],
    ['of before the question', row(-6), 'bad_time'],
    ['with a rate that no market has', row(0, { fundingRate: '1.5' }), 'bad_number'],
    ['with a number for a string', row(0, { fundingRate: 0.00001 }), 'bad_number'],
  ])('a row %s is left out', (_what, bad, reason) => {
    expect(decode([row(-1), bad])).toMatchObject({
      rows: [{}],
      drops: [expect.objectContaining({ reason })],
    })
  })

  test('an hour counts once, and never goes back', () => {
    const rows = [row(-2), row(-1), row(-1, { time: NOON_MS - 1 }), row(-2), row(0)]
    expect(decode(rows)).toMatchObject({
      rows: [{ timeMs: NOON_MS - 2 * HOUR_MS }, { timeMs: NOON_MS - HOUR_MS }, { timeMs: NOON_MS }],
      drops: [
        expect.objectContaining({ reason: 'bad_time' }),
        expect.objectContaining({ reason: 'bad_time' }),
      ],
    })
  })

  test.each([
    ['null', 'bad_shape'],
    ['{}', 'bad_shape'],
    ['oops', 'not_json'],
  ])('%s is no history of funding', (body, reason) => {
    const reply = decodeFundingHistory(body, { coin: 'BTC', fromMs: 0 }, NOW_MS)
    expect(reply).toEqual({ kind: 'rejected', reason })
  })

  property.prop([fc.json()])('whatever comes is decoded, and never thrown', (body) => {
    const reply = decodeFundingHistory(body, { coin: 'BTC', fromMs: 0 }, NOW_MS)
    if (reply.kind === 'fundings') expect(reply.rows).toEqual([])
  })

  test.skipIf(!hasFixtures)('of 2023 is read whole (needs ../shared/data)', () => {
    const text = readFileSync(join(FIXTURES, 'info-responses-2023.json'), 'utf8')
    const exchanges = JSON.parse(text) as { request: { type: string }; response: unknown }[]
    const replies = exchanges.filter(({ request }) => request.type === 'fundingHistory')
    const hours = replies.map(({ response }) => {
      const reply = decodeFundingHistory(
        JSON.stringify(response),
        { coin: 'BTC', fromMs: 0 },
        NOW_MS,
      )
      if (reply.kind === 'rejected') throw new Error(reply.reason)
      expect(reply.drops).toEqual([])
      const times = reply.rows.map(({ timeMs }) => timeMs)
      expect(times.every((timeMs) => timeMs % HOUR_MS === 0)).toBe(true)
      return times.length
    })
    expect(hours).toEqual([34, 1_038])
  })
})

describe('what is paid next', () => {
  const prediction = (nextFundingTime: number, fundingIntervalHours?: unknown) => ({
    fundingRate: '0.0001',
    nextFundingTime,
    ...(fundingIntervalHours === undefined ? {} : { fundingIntervalHours }),
  })
  const decode = (reply: unknown, nowMs = NOW_MS) =>
    decodePredictedFundings(JSON.stringify(reply), (coin) => ['BTC', 'kPEPE'].includes(coin), nowMs)
  const exchange = (venue: string, told: unknown) => [['BTC', [[venue, told]]]]

  test('is told of every exchange that has the coin', () => {
    const reply = decode([
      [
        'kPEPE',
        [
          ['BinPerp', prediction(NOON_MS + 4 * HOUR_MS, 4)],
          ['HlPerp', prediction(NOON_MS + HOUR_MS, 1)],
          ['BybitPerp', null],
        ],
      ],
    ])
    expect(reply).toEqual({
      kind: 'predictions',
      coins: [
        {
          coin: 'kPEPE',
          fundings: [
            {
              venue: 'BinPerp',
              rate: 0.0001,
              intervalHours: 4,
              nextFundingMs: NOON_MS + 4 * HOUR_MS,
            },
            { venue: 'HlPerp', rate: 0.0001, intervalHours: 1, nextFundingMs: NOON_MS + HOUR_MS },
          ],
        },
      ],
      drops: [],
    })
  })

  test.each([
    ['the hour that is settled already', NOON_MS, NOON_MS + HOUR_MS],
    ['the next one', NOON_MS + HOUR_MS, NOON_MS + HOUR_MS],
    ['one more, right after the hour', NOON_MS - HOUR_MS, NOON_MS + HOUR_MS],
  ])('is meant where the venue names of itself %s', (_what, namedMs, nextFundingMs) => {
    expect(decode(exchange('HlPerp', prediction(namedMs)))).toMatchObject({
      coins: [{ fundings: [{ intervalHours: 1, nextFundingMs }] }],
      drops: [],
    })
  })

  test.each<readonly [string, unknown, string]>([
    ['an interval that it does not tell', prediction(NOON_MS + 8 * HOUR_MS), 'bad_number'],
    ['an interval of no hours', prediction(NOON_MS + HOUR_MS, 0), 'bad_number'],
    ['a settlement further than its interval', prediction(NOON_MS + 9 * HOUR_MS, 8), 'bad_time'],
    ['a settlement of last week', prediction(NOON_MS - 168 * HOUR_MS, 8), 'bad_time'],
    ['a settlement that is over, whose rate is paid', prediction(NOON_MS, 8), 'bad_time'],
    ['a settlement of ten hours ago', prediction(NOON_MS - 10 * HOUR_MS, 8), 'bad_time'],
    ['a rate that is none', { ...prediction(NOON_MS, 8), fundingRate: 'NaN' }, 'bad_number'],
    ['nothing that is an object', 'soon', 'bad_row'],
  ])('an exchange with %s is left out', (_what, told, reason) => {
    expect(decode(exchange('BinPerp', told))).toMatchObject({
      coins: [{ coin: 'BTC', fundings: [] }],
      drops: [expect.objectContaining({ reason })],
    })
  })

  test('of unlisted coins, of a coin twice and of strange exchanges is left out', () => {
    const fine = [['HlPerp', prediction(NOON_MS)]]
    const strange = [['<script>', prediction(NOON_MS, 8)]]
    const reply = decode([['GONE', fine], ['BTC', fine], ['BTC', fine], ['kPEPE', strange], 7])
    expect(reply).toMatchObject({
      coins: [{ coin: 'BTC' }, { coin: 'kPEPE', fundings: [] }],
      drops: [
        expect.objectContaining({ reason: 'unknown_coin' }),
        expect.objectContaining({ reason: 'bad_row' }),
        expect.objectContaining({ reason: 'bad_row' }),
        expect.objectContaining({ reason: 'bad_row' }),
      ],
    })
  })

  property.prop([
    fc.integer({ min: -3 * HOUR_MS, max: 30 * HOUR_MS }),
    fc.integer({ min: 1, max: 24 }),
  ])('lies ahead, by one interval at most', (aheadMs, intervalHours) => {
    const reply = decode(exchange('BinPerp', prediction(NOW_MS + aheadMs, intervalHours)))
    if (reply.kind === 'rejected') throw new Error(reply.reason)
    for (const { nextFundingMs } of reply.coins[0]?.fundings ?? []) {
      expect(nextFundingMs).toBeGreaterThan(NOW_MS)
      expect(nextFundingMs).toBeLessThanOrEqual(NOW_MS + intervalHours * HOUR_MS + 60_000)
    }
  })

  property.prop([fc.json()])('whatever comes is decoded, and never thrown', (body) => {
    const reply = decodePredictedFundings(body, () => true, NOW_MS)
    expect(['predictions', 'rejected']).toContain(reply.kind)
  })
})

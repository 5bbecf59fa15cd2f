import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { mutated } from '../testing/mutated.ts'
import { decodeCatalogue, decodeUpdate, refusedFeed, UPDATE_CHARS_MAX } from './decode.ts'
import { EventStream } from './event-stream.ts'
import { coreFeedIds } from './feed-ids.ts'

const samples = resolve(import.meta.dirname, '../../../../../shared/data/pyth-hermes-samples')
const isAbsent = !existsSync(samples)
const sample = (name: string) => readFileSync(join(samples, name), 'utf8')

const BTC = coreFeedIds.get('BTC') ?? ''
const NOW_MS = Date.UTC(2026, 10, 20)
const NOW_S = NOW_MS / 1_000

function update(...rows: readonly object[]): string {
  return JSON.stringify({ binary: { encoding: 'hex', data: ['504e'] }, parsed: rows })
}

function row(changes: object = {}, price: object = {}): object {
  const values = { price: '6140993501000', conf: '3287868567', expo: -8, publish_time: NOW_S - 1 }
  return { id: BTC, price: { ...values, ...price }, ema_price: values, metadata: {}, ...changes }
}

describe('a price update', () => {
  test.skipIf(isAbsent)(
    'recorded from the server has the published prices (needs ../shared/data)',
    () => {
      const { prices, issues } = decodeUpdate(sample('updates_price_latest.json'), NOW_MS)
      expect(issues).toEqual([])
      expect(prices).toHaveLength(2)
      expect(prices[0]).toEqual({
        id: BTC,
        priceUsd: 61_409.93501,
        confidenceUsd: 32.87868567,
        ema: { priceUsd: 60_940.047, confidenceUsd: 37.928878 },
        publishedMs: 1_714_746_101_000,
      })
      expect(((prices[0]?.confidenceUsd ?? 0) / (prices[0]?.priceUsd ?? 1)) * 1e4).toBeCloseTo(
        5.354,
        3,
      )
    },
  )

  test.skipIf(isAbsent)(
    'recorded from the stream has the published prices (needs ../shared/data)',
    () => {
      const events = new EventStream(UPDATE_CHARS_MAX).push(
        `${sample('updates_price_stream.sse.txt')}\n\n`,
      )
      const prices = events.flatMap(({ data }) => decodeUpdate(data, NOW_MS).prices)
      expect(prices).toMatchObject([
        { id: BTC, priceUsd: 61_632.6, confidenceUsd: 32.68548079, publishedMs: 1_714_748_300_000 },
        { id: BTC, publishedMs: 1_714_748_301_000 },
      ])
    },
  )

  property.prop([fc.bigInt({ min: 1n, max: 10n ** 15n }), fc.integer({ min: -12, max: 0 })])(
    'is the double nearest to the integer times the power of ten',
    (integer, expo) => {
      const values = { price: String(integer), conf: '0', expo }
      const [price] = decodeUpdate(update(row({}, values)), NOW_MS).prices
      const usd = decimalText(integer, expo)
      if (Number(usd) > 1e9) expect(price).toBeUndefined()
      else expect(price?.priceUsd).toBe(Number(usd))
    },
  )

  test.each([
    ['zero', {}, { price: '0' }],
    ['negative', {}, { price: '-6140993500000' }],
    ['no integer', {}, { price: '61409.9' }],
    ['a number instead of a string', {}, { price: 6_140_993_500_000 }],
    ['a price beyond reason', {}, { expo: 8 }],
    ['an exponent beyond reason', {}, { expo: -400 }],
    ['half an exponent', {}, { expo: -8.5 }],
    ['a confidence as large as the price', {}, { conf: '6140993501000' }],
    ['a negative confidence', {}, { conf: '-1' }],
    ['published in the future', {}, { publish_time: NOW_S + 11 }],
    ['never published', {}, { publish_time: 0 }],
    ['published at no time', {}, { publish_time: null }],
    ['an id that is none', { id: 'e62d' }, {}],
    ['no price', { price: null }, {}],
  ])('with %s is refused and reported', (_, changes, price) => {
    const good = row({ id: coreFeedIds.get('ETH') })
    const { prices, issues } = decodeUpdate(update(row(changes, price), good), NOW_MS)
    expect(prices.map(({ id }) => id)).toEqual([coreFeedIds.get('ETH')])
    expect(issues).toMatchObject([{ kind: 'price_refused' }])
  })

  test('an invalid average is null', () => {
    const { prices } = decodeUpdate(update(row({ ema_price: { price: 'x' } })), NOW_MS)
    expect(prices).toMatchObject([{ priceUsd: 61_409.93501, ema: null }])
  })

  test('a time a few seconds ahead is accepted', () => {
    const { prices } = decodeUpdate(update(row({}, { publish_time: NOW_S + 9 })), NOW_MS)
    expect(prices).toMatchObject([{ publishedMs: NOW_MS + 9_000 }])
  })

  test.each([
    '',
    'null',
    '[]',
    '{}',
    '{"parsed":null}',
    '{"parsed":',
    'Error',
    '{"__proto__":{"parsed":[]}}',
  ])('%j is undecodable', (text) => {
    expect(decodeUpdate(text, NOW_MS)).toMatchObject({
      prices: [],
      issues: [{ kind: 'undecodable' }],
    })
  })

  const body = update(
    row(),
    row({ id: coreFeedIds.get('USDC') }, { price: '99990000', conf: '5000' }),
  )
  property.prop([mutated(body)], { numRuns: 2_000 })(
    'mangled on its way gives no absurd price',
    (text) => {
      for (const price of decodeUpdate(text, NOW_MS).prices) {
        expect(price.id).toMatch(/^[0-9a-f]{64}$/)
        for (const one of [price, price.ema ?? price]) {
          expect(one.priceUsd).toBeGreaterThan(0)
          expect(one.priceUsd).toBeLessThanOrEqual(1e9)
          expect(one.confidenceUsd).toBeGreaterThanOrEqual(0)
          expect(one.confidenceUsd).toBeLessThan(one.priceUsd)
        }
        expect(price.publishedMs).toBeLessThanOrEqual(NOW_MS + 10_000)
      }
    },
  )
})

describe('the catalogue', () => {
  const id = (digit: string) => digit.repeat(64)
  const feed = (digit: string, symbol: string, description = 'X / US DOLLAR') => ({
    id: id(digit),
    attributes: { asset_type: 'Crypto', quote_currency: 'USD', symbol, description },
  })

  test('matches the exact symbol only', () => {
    const ids = decodeCatalogue(
      JSON.stringify([
        feed('1', 'Crypto.MBTC/USD'),
        feed('2', 'Crypto.BTC/USDT'),
        feed('3', 'Crypto.BTC/USD.RR'),
        feed('4', 'Equity.US.BTC/USD'),
        feed('5', 'Crypto.BTC/USD'),
        feed('6', 'Crypto.btc/USD'),
        feed('7', 'xCrypto.BTC/USD'),
      ]),
    )
    expect(ids).toEqual(
      new Map([
        ['MBTC', id('1')],
        ['BTC', id('5')],
      ]),
    )
  })

  test('skips deprecated feeds', () => {
    const rows = [
      feed('1', 'Crypto.SOL/USD', 'DEPRECATED FEED - SOLANA / US DOLLAR'),
      feed('2', 'Crypto.SOL/USD'),
      {
        ...feed('3', 'Crypto.UNI/USD'),
        attributes: { symbol: 'Crypto.UNI/USD', note: 'Deprecated' },
      },
    ]
    expect(decodeCatalogue(JSON.stringify(rows))).toEqual(new Map([['SOL', id('2')]]))
  })

  test('a symbol of two feeds is left out', () => {
    const rows = [feed('1', 'Crypto.S/USD'), feed('2', 'Crypto.S/USD'), feed('3', 'Crypto.SUI/USD')]
    expect(decodeCatalogue(JSON.stringify(rows))).toEqual(new Map([['SUI', id('3')]]))
  })

  test('null for a reply that is no list', () => {
    expect(decodeCatalogue('{"error":"x"}')).toBeNull()
    expect(decodeCatalogue('<html>')).toBeNull()
  })

  test('keeps valid rows of a list with invalid ones', () => {
    const rows = [
      null,
      7,
      { id: 3 },
      { id: id('1') },
      { id: 'zz', attributes: {} },
      feed('2', 'Crypto.A/USD'),
    ]
    expect(decodeCatalogue(JSON.stringify(rows))).toEqual(new Map([['A', id('2')]]))
  })
})

test('a refusal names its feed', () => {
  expect(refusedFeed(`Not entitled: feed ${BTC} (no grant accepts this feed)`)).toBe(BTC)
  expect(refusedFeed(`Price ids not found: 0x${BTC.toUpperCase()}`)).toBe(BTC)
  expect(refusedFeed('Not entitled: feed 3063')).toBeNull()
  expect(refusedFeed(`feed ${BTC}`)).toBeNull()
})

/** Long-hand decimal notation of integer * 10^expo, by moving the point. */
function decimalText(integer: bigint, expo: number): string {
  const digits = integer.toString().padStart(1 - expo, '0')
  return expo === 0 ? digits : `${digits.slice(0, expo)}.${digits.slice(expo)}`
}

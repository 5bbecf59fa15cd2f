import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { binance } from './binance.ts'
import { bybit } from './bybit.ts'
import { coinbase } from './coinbase.ts'
import { kraken } from './kraken.ts'
import { okx } from './okx.ts'
import type { ExchangeProtocol } from './protocol.ts'

const SHARED = join(import.meta.dirname, '../../../../../shared/data')
const TIME_MS = Date.UTC(2026, 4, 30, 12, 0, 1, 234)

const protocols: Readonly<Record<string, ExchangeProtocol>> = {
  coinbase,
  kraken,
  binance,
  okx,
  bybit,
}

/** In the exchanges' shapes, with figures of our own. */
const quoteFrames = {
  coinbase: {
    type: 'ticker',
    sequence: 37475248783,
    product_id: 'ETH-USD',
    price: '1285.22',
    open_24h: '1310.79',
    volume_24h: '245532.79269678',
    best_bid: '1285.04',
    best_bid_size: '0.46688654',
    best_ask: '1285.27',
    best_ask_size: '1.56637040',
    side: 'buy',
    time: '2026-05-30T12:00:01.234567Z',
    trade_id: 370843401,
    last_size: '11.4396987',
  },
  kraken: {
    channel: 'ticker',
    type: 'update',
    data: [
      {
        symbol: 'ETH/USD',
        bid: 1285.04,
        bid_qty: 0.46688654,
        ask: 1285.27,
        ask_qty: 1.5663704,
        last: 1285.22,
        volume: 6424.9,
        vwap: 1290.1,
        low: 1270,
        high: 1310.79,
        change: -25.57,
        change_pct: -1.95,
        timestamp: '2026-05-30T12:00:01.234567Z',
      },
    ],
  },
  binance: {
    stream: 'ethusdt@bookTicker',
    data: {
      u: 400900217,
      s: 'ETHUSDT',
      b: '1285.04000000',
      B: '0.46688654',
      a: '1285.27000000',
      A: '1.56637040',
    },
  },
  okx: {
    arg: { channel: 'bbo-tbt', instId: 'ETH-USDT' },
    data: [
      {
        asks: [['1285.27', '1.5663704', '0', '12']],
        bids: [['1285.04', '0.46688654', '0', '1']],
        ts: String(TIME_MS),
        seqId: 363996337,
      },
    ],
  },
  bybit: {
    topic: 'orderbook.1.ETHUSDT',
    ts: TIME_MS,
    type: 'snapshot',
    data: {
      s: 'ETHUSDT',
      b: [['1285.04', '0.46688654']],
      a: [['1285.27', '1.5663704']],
      u: 18521288,
      seq: 7961638724,
    },
    cts: TIME_MS - 6,
  },
} as const
type Name = keyof typeof quoteFrames
const names = Object.keys(quoteFrames) as Name[]

function decode(name: string, message: unknown) {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  return (protocols[name] as ExchangeProtocol).decode(text)
}

describe('a quote', () => {
  test.each(names)('of %s: best prices, their sizes, and when it was made', (name) => {
    const product = {
      ...{ coinbase: 'ETH-USD', kraken: 'ETH/USD', binance: 'ETHUSDT' },
      ...{ okx: 'ETH-USDT', bybit: 'ETHUSDT' },
    }[name]
    expect(decode(name, quoteFrames[name])).toEqual({
      kind: 'quotes',
      quotes: [
        {
          product,
          bid: 1285.04,
          ask: 1285.27,
          bidSize: 0.46688654,
          askSize: 1.5663704,
          timeMs: name === 'binance' ? null : TIME_MS,
        },
      ],
      dropped: 0,
    })
  })

  test('Bybit repeats a quote: for a minute it is confirmed, then it has the time of its change', () => {
    const unchanged = (forMs: number) =>
      decode('bybit', { ...quoteFrames.bybit, cts: TIME_MS - forMs })
    expect(unchanged(60_000)).toMatchObject({ quotes: [{ timeMs: TIME_MS }] })
    expect(unchanged(60_001)).toMatchObject({ quotes: [{ timeMs: TIME_MS - 60_001 }] })
  })

  test('Binance frames of a raw stream and Kraken rows without a time are decoded', () => {
    expect(decode('binance', quoteFrames.binance.data)).toEqual(
      decode('binance', quoteFrames.binance),
    )
    const [{ timestamp: _, ...row }] = quoteFrames.kraken.data
    expect(decode('kraken', { ...quoteFrames.kraken, data: [row] })).toMatchObject({
      quotes: [{ bid: 1285.04, timeMs: null }],
    })
  })

  test.each([
    ['no bid', { bids: [] }],
    ['a bid of nothing', { bids: [['1285.04', '0', '0', '1']] }],
    ['a price of zero', { asks: [['0', '1', '0', '1']] }],
    ['a negative price', { asks: [['-1285.27', '1', '0', '1']] }],
    ['an absurd price', { asks: [['1285270000000', '1', '0', '1']] }],
    ['an exponent', { asks: [['1e3', '1', '0', '1']] }],
    ['words', { asks: [['NaN', '1', '0', '1']] }],
    ['no time', { ts: undefined }],
    ['a time before there were exchanges', { ts: '1000000000000' }],
  ])('with %s is none', (_, change) => {
    const [book] = quoteFrames.okx.data
    const frame = decode('okx', { ...quoteFrames.okx, data: [{ ...book, ...change }] })
    expect(frame).toEqual({ kind: 'quotes', quotes: [], dropped: 1 })
  })

  test.each(['kraken', 'okx'] as const)('%s: a frame of 1 MiB is read, of 1,000 rows', (name) => {
    const { data, ...frame } = quoteFrames[name]
    const read = (rows: number) => decode(name, { ...frame, data: Array(rows).fill(data[0]) })
    expect(read(1_500)).toMatchObject({ quotes: { length: 1_000 }, dropped: 0 })
    expect(read(10_000)).toMatchObject({ kind: 'undecodable' })
  })

  test('a valid row is kept if another row of the frame is invalid', () => {
    const [row] = quoteFrames.kraken.data
    const data = [{ ...row, bid: null }, row, 'x']
    expect(decode('kraken', { ...quoteFrames.kraken, data })).toMatchObject({
      quotes: [{ product: 'ETH/USD' }],
      dropped: 2,
    })
  })
})

describe('answers to a subscription', () => {
  const accepted = (products: readonly string[] | null, request?: number) => ({
    ...{ kind: 'accepted', products },
    ...(request !== undefined && { request }),
  })
  const refused = (product: string | null) => expect.objectContaining({ kind: 'refused', product })
  const failed = 'Failed to subscribe'

  test.each([
    [
      'coinbase',
      {
        type: 'subscriptions',
        channels: [
          { name: 'heartbeat', product_ids: ['BTC-USD'], account_ids: null },
          { name: 'ticker', product_ids: ['ETH-USD', 'SOL-USD'], account_ids: null },
        ],
      },
      accepted(['ETH-USD', 'SOL-USD']),
    ],
    [
      'coinbase',
      { type: 'error', message: failed, reason: 'NOPE-USD is not a valid product' },
      refused('NOPE-USD'),
    ],
    ['coinbase', { type: 'error', message: failed, reason: 'No channels provided' }, refused(null)],
    [
      'kraken',
      {
        method: 'subscribe',
        result: { channel: 'ticker', snapshot: true, symbol: 'ETH/USD' },
        success: true,
        time_in: '2026-05-30T12:00:01.234567Z',
        time_out: '2026-05-30T12:00:01.234599Z',
        req_id: 1,
      },
      accepted(['ETH/USD']),
    ],
    [
      'kraken',
      {
        error: 'Currency pair not supported XBT/USD',
        method: 'subscribe',
        success: false,
        symbol: 'XBT/USD',
      },
      refused('XBT/USD'),
    ],
    [
      'kraken',
      { error: 'Currency pair not supported XBT/USD', method: 'subscribe', success: false },
      refused('XBT/USD'),
    ],
    [
      'kraken',
      { error: 'Already subscribed', method: 'subscribe', success: false, symbol: 'ETH/USD' },
      accepted(['ETH/USD']),
    ],
    [
      'kraken',
      { error: 'Rate limit exceeded', method: 'subscribe', success: false, symbol: 'ETH/USD' },
      expect.objectContaining({ kind: 'error' }),
    ],
    ['binance', { result: null, id: 1 }, accepted(null, 1)],
    ['binance', { result: null, id: null }, accepted(null)],
    ['binance', { error: { code: 2, msg: 'Invalid request' }, id: 1 }, refused(null)],
    ['binance', { code: 2, msg: 'Invalid request' }, refused(null)],
    [
      'okx',
      {
        event: 'subscribe',
        arg: { channel: 'bbo-tbt', instId: 'ETH-USDT' },
        connId: 'a4d3ae55',
      },
      accepted(['ETH-USDT']),
    ],
    [
      'okx',
      {
        event: 'error',
        code: '60018',
        msg: "Wrong URL or channel:bbo-tbt,instId:NOPE-USDT doesn't exist. Please use the correct URL.",
      },
      refused('NOPE-USDT'),
    ],
    [
      'okx',
      { event: 'error', code: '60012', msg: 'Illegal request: x' },
      expect.objectContaining({ kind: 'error' }),
    ],
    [
      'bybit',
      { success: true, ret_msg: '', conn_id: 'c', req_id: '1', op: 'subscribe' },
      accepted(null, 1),
    ],
    [
      'bybit',
      {
        success: false,
        ret_msg: 'error:handler not found,topic:orderbook.1.NOPEUSDT',
        op: 'subscribe',
      },
      refused('NOPEUSDT'),
    ],
    ['bybit', { success: false, ret_msg: 'args size >10', op: 'subscribe' }, refused(null)],
  ])('%s %j', (name, message, expected) => {
    expect(decode(name, message)).toEqual(expected)
  })
})

describe('everything else', () => {
  test.each<readonly [name: string, message: unknown, kind: string]>([
    ['coinbase', { type: 'heartbeat', sequence: 1, product_id: 'BTC-USD' }, 'heartbeat'],
    ['coinbase', { type: 'error', message: 'Malformed JSON' }, 'error'],
    ['coinbase', { type: 'status' }, 'undecodable'],
    ['kraken', { channel: 'heartbeat' }, 'heartbeat'],
    ['kraken', { channel: 'status', type: 'update', data: [{ system: 'online' }] }, 'heartbeat'],
    ...['maintenance', 'cancel_only', 'post_only'].map(
      (system) =>
        ['kraken', { channel: 'status', type: 'update', data: [{ system }] }, 'closing'] as const,
    ),
    ['kraken', { method: 'pong', req_id: 1 }, 'heartbeat'],
    ['binance', { e: 'serverShutdown', E: TIME_MS }, 'closing'],
    ['binance', { stream: 'x', data: { e: 'serverShutdown', E: TIME_MS } }, 'closing'],
    ['okx', 'pong', 'heartbeat'],
    ['okx', { event: 'channel-conn-count', channel: 'bbo-tbt', connCount: '1' }, 'heartbeat'],
    ['okx', { event: 'notice', code: '64008', msg: 'closed soon' }, 'closing'],
    ['bybit', { success: true, ret_msg: 'pong', conn_id: 'c', op: 'ping' }, 'heartbeat'],
    ['bybit', { success: false, ret_msg: 'error:invalid op', op: '' }, 'error'],
    ...names.map((name) => [name, '<html>', 'undecodable'] as const),
    ...names.map((name) => [name, '[]', 'undecodable'] as const),
  ])('of %s: %j is %s', (name, message, kind) => {
    expect(decode(name, message)).toMatchObject({ kind })
  })
})

describe('a frame that was damaged', () => {
  const damaged = (text: string) =>
    fc.oneof(
      fc
        .tuple(fc.nat(text.length - 1), fc.nat(6), fc.string({ maxLength: 4 }))
        .map(([at, length, other]) => text.slice(0, at) + other + text.slice(at + length)),
      fc.tuple(fc.nat(), fc.jsonValue()).map(([at, value]) => withValue(text, at, value)),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.string(),
    )

  for (const name of names) {
    property.prop([damaged(JSON.stringify(quoteFrames[name]))], { numRuns: 500 })(
      `of ${name} throws nothing, and gives no figure that is none`,
      (text) => {
        const frame = decode(name, text)
        if (frame.kind !== 'quotes') return
        for (const { product, bid, ask, bidSize, askSize, timeMs } of frame.quotes) {
          expect(product.length).toBeLessThanOrEqual(40)
          for (const figure of [bid, ask]) expect(figure > 0 && figure <= 1e9).toBe(true)
          for (const figure of [bidSize, askSize]) expect(figure > 0 && figure <= 1e18).toBe(true)
          expect(timeMs === null || Number.isFinite(timeMs)).toBe(true)
        }
      },
    )
  }

  /** One value somewhere in it is another. */
  function withValue(text: string, at: number, value: unknown): string {
    const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = []
    const root: unknown = JSON.parse(text, function (this: Record<string, unknown>, key, old) {
      if (key !== '') places.push({ holder: this, key })
      return old
    })
    const place = places[at % places.length]
    if (place !== undefined) place.holder[place.key] = value
    return JSON.stringify(root)
  }
})

const RECORDED = join(SHARED, 'binance-usdm-ws-2021/BINANCE_FUTURES.ws.1.0.gz')

test.skipIf(!existsSync(RECORDED))(
  'all best quotes that Binance sent in half a minute of 2021 (needs ../shared/data)',
  () => {
    const lines = gunzipSync(readFileSync(RECORDED)).toString('utf8').split('\n').slice(1)
    const frames = lines.filter((line) => line.includes('@bookTicker"'))
    expect(frames.length).toBe(613)
    for (const line of frames) {
      const text = line.slice(line.indexOf('{'))
      const { data } = JSON.parse(text) as { data: { s: string; b: string; a: string } }
      expect(decode('binance', text)).toMatchObject({
        quotes: [{ product: data.s, bid: Number(data.b), ask: Number(data.a), timeMs: null }],
      })
    }
  },
)

import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../../test/support/manual-clock.ts'
import type { Exchange } from '../../../domain/external.ts'
import { seededMarket } from '../../market/seeded-market.ts'
import { ReferencePrices } from '../reference-prices.ts'
import type { ScenarioEvent } from '../scenario.ts'
import type { UpstreamSession } from '../upstream.ts'
import { simulatedBinance } from './binance.ts'
import { simulatedBybit } from './bybit.ts'
import { simulatedCoinbase } from './coinbase.ts'
import { simulatedKraken } from './kraken.ts'
import { simulatedOkx } from './okx.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const SECOND_MS = 1_000

const makers = {
  coinbase: simulatedCoinbase,
  kraken: simulatedKraken,
  binance: simulatedBinance,
  okx: simulatedOkx,
  bybit: simulatedBybit,
}

/** One exchange, and connections to it. */
function open(exchange: Exchange, path = '/', scenario: readonly ScenarioEvent[] = []) {
  const clock = new ManualClock(START_MS)
  const market = seededMarket({ seed: 3, startMs: START_MS })
  const reference = new ReferencePrices({ market, seed: 3, scenario })
  const upstream = makers[exchange](reference, clock)
  const connect = () => {
    const sent: unknown[] = []
    const peer = { drops: 0, pings: 0 }
    const session = upstream.connect?.(path, {
      send: (text) => sent.push(text === 'pong' ? text : JSON.parse(text)),
      drop: () => (peer.drops += 1),
      ping: () => (peer.pings += 1),
    }) as UpstreamSession
    const say = (message: object | string) =>
      session.receive(typeof message === 'string' ? message : JSON.stringify(message))
    return { sent, peer, say, session }
  }
  return { clock, reference, connect, ...connect() }
}

describe('coinbase', () => {
  const subscribe = (...products: string[]) => ({
    type: 'subscribe',
    product_ids: products,
    channels: ['ticker'],
  })

  test('lists the subscriptions and quotes at once', () => {
    const { say, sent } = open('coinbase')
    say(subscribe('BTC-USD', 'ETH-USD'))
    expect(sent.slice(0, 2)).toMatchObject([{ type: 'ticker' }, { type: 'ticker' }])
    expect(sent[2]).toEqual({
      type: 'subscriptions',
      channels: [{ name: 'ticker', product_ids: ['BTC-USD', 'ETH-USD'], account_ids: null }],
    })
  })

  test('one unknown product, and it ignores the request', () => {
    const { clock, say, sent } = open('coinbase')
    say(subscribe('BTC-USD', 'NOPE-USD'))
    clock.advance(2 * SECOND_MS)
    expect(sent).toEqual([
      { type: 'error', message: 'Failed to subscribe', reason: 'NOPE-USD is not a valid product' },
    ])
  })

  test('beats once a second for a product of the heartbeat', () => {
    const { clock, say, sent } = open('coinbase')
    say({ type: 'subscribe', channels: [{ name: 'heartbeat', product_ids: ['BTC-USD'] }] })
    clock.advance(3 * SECOND_MS)
    expect(sent.slice(1)).toHaveLength(3)
    expect(sent[1]).toMatchObject({ type: 'heartbeat', product_id: 'BTC-USD' })
  })

  test('drops a client that subscribes nothing within five seconds or sends more than 100 messages a second', () => {
    const idle = open('coinbase')
    idle.clock.advance(5 * SECOND_MS)
    expect(idle.peer.drops).toBe(1)
    const loud = open('coinbase')
    for (let index = 0; index < 100; index += 1) loud.say('{}')
    expect(loud.peer.drops).toBe(0)
    loud.say('{}')
    expect(loud.peer.drops).toBe(1)
  })
})

describe('kraken', () => {
  const subscribe = (...symbol: string[]) => ({
    method: 'subscribe',
    params: { channel: 'ticker', symbol, event_trigger: 'bbo' },
    req_id: 7,
  })

  test('greets, answers every symbol by itself, and a snapshot comes first', () => {
    const { clock, say, sent } = open('kraken')
    say(subscribe('BTC/USD', 'XBT/USD', 'BTC/USD'))
    clock.advance(250)
    expect(sent).toMatchObject([
      { channel: 'status', data: [{ system: 'online', api_version: 'v2' }] },
      { method: 'subscribe', success: true, result: { symbol: 'BTC/USD' }, req_id: 7 },
      { channel: 'ticker', type: 'snapshot' },
      { success: false, error: 'Currency pair not supported XBT/USD', symbol: 'XBT/USD' },
      { success: false, error: 'Already subscribed', symbol: 'BTC/USD' },
      { channel: 'ticker', type: 'update', data: [{ symbol: 'BTC/USD' }] },
    ])
  })

  test('answers a ping', () => {
    const { say, sent } = open('kraken')
    say({ method: 'ping', req_id: 9 })
    expect(sent[1]).toMatchObject({ method: 'pong', req_id: 9 })
  })

  test('sends heartbeats between quotes and drops a client without subscriptions', () => {
    const quiet = open('kraken')
    quiet.clock.advance(60 * SECOND_MS)
    expect(quiet.sent).toHaveLength(1)
    expect(quiet.peer.drops).toBe(1)
    const busy = open('kraken')
    busy.say(subscribe('CELO/USD'))
    busy.clock.advance(10 * SECOND_MS)
    const beats = busy.sent.filter((one) => JSON.stringify(one) === '{"channel":"heartbeat"}')
    expect(beats.length, 'a quote comes about once a second').toBeLessThan(10)
  })
})

describe('binance', () => {
  const subscribe = (...params: string[]) => ({ method: 'SUBSCRIBE', params, id: 1 })

  test('acknowledges every name, and wraps what it sends at /stream only', () => {
    const { clock, say, sent } = open('binance', '/stream')
    say(subscribe('btcusdt@bookTicker', 'nopeusdt@bookTicker', 'rubbish'))
    clock.advance(SECOND_MS)
    expect(sent[0]).toEqual({ result: null, id: 1 })
    expect(sent[1]).toMatchObject({ stream: 'btcusdt@bookTicker', data: { s: 'BTCUSDT' } })
    expect(new Set(sent.slice(1).map((one) => (one as { stream: string }).stream)).size).toBe(1)
    const raw = open('binance', '/ws/btcusdt@bookTicker')
    expect(raw.sent).toMatchObject([{ s: 'BTCUSDT' }])
  })

  test.each([
    '/ws/btcusdt@bookTicker/ethusdt@bookTicker',
    '/stream?streams=btcusdt@bookTicker/ethusdt@bookTicker',
  ])('subscribes every stream that %s names', (target) => {
    const { say, sent } = open('binance', target)
    say({ method: 'LIST_SUBSCRIPTIONS', id: 1 })
    const quotes = sent.slice(0, 2) as { s?: string; data?: { s: string } }[]
    expect(quotes.map(({ s, data }) => s ?? data?.s)).toEqual(['BTCUSDT', 'ETHUSDT'])
    const result = ['btcusdt@bookTicker', 'ethusdt@bookTicker']
    expect(sent[2]).toEqual({ result, id: 1 })
  })

  test('drops a client that sends six messages in a second', () => {
    const { clock, peer, say } = open('binance', '/ws')
    for (let index = 0; index < 5; index += 1) say({ method: 'LIST_SUBSCRIPTIONS', id: index })
    clock.advance(SECOND_MS)
    for (let index = 0; index < 5; index += 1) say({ method: 'LIST_SUBSCRIPTIONS', id: index })
    expect(peer.drops).toBe(0)
    say({ method: 'LIST_SUBSCRIPTIONS', id: 6 })
    expect(peer.drops).toBe(1)
  })

  test('pings every 20 s and drops a client after a minute without a pong, or after a day', () => {
    const deaf = open('binance', '/ws')
    deaf.clock.advance(80 * SECOND_MS)
    expect([deaf.peer.pings, deaf.peer.drops]).toEqual([3, 1])
    const good = open('binance', '/ws')
    for (let ping = 0; ping < 4_320; ping += 1) {
      expect(good.peer.drops).toBe(0)
      good.clock.advance(20 * SECOND_MS)
      good.session.ponged?.()
    }
    expect(good.peer.drops).toBe(1)
  })

  test('says what it does not understand', () => {
    const { say, sent } = open('binance', '/ws')
    say('{')
    say({ method: 'DANCE', id: 3 })
    expect(sent).toMatchObject([{ error: { code: 3 } }, { error: { code: 2 }, id: 3 }])
  })
})

describe('okx', () => {
  const subscribe = (...instIds: string[]) => ({
    op: 'subscribe',
    args: instIds.map((instId) => ({ channel: 'bbo-tbt', instId })),
  })

  test('answers every argument by itself, and a ping as plain text', () => {
    const { say, sent } = open('okx')
    say(subscribe('NOPE-USDT', 'BTC-USDT'))
    say('ping')
    expect(sent).toMatchObject([
      { event: 'error', code: '60018', msg: expect.stringContaining("NOPE-USDT doesn't exist") },
      { event: 'subscribe', arg: { instId: 'BTC-USDT' } },
      { arg: { instId: 'BTC-USDT' }, data: [{ bids: [{ length: 4 }], asks: [{ length: 4 }] }] },
      'pong',
    ])
  })

  test('drops a connection on which nothing is said for 30 s', () => {
    const { clock, peer, say } = open('okx')
    clock.advance(29 * SECOND_MS)
    say('ping')
    clock.advance(29 * SECOND_MS)
    expect(peer.drops).toBe(0)
    clock.advance(SECOND_MS)
    expect(peer.drops).toBe(1)
  })

  test('takes 480 requests an hour, three connections a second, and nothing that it does not know', () => {
    const { connect, say, sent } = open('okx')
    for (let index = 0; index < 481; index += 1) say(subscribe('NOPE-USDT'))
    expect(sent.slice(-2)).toMatchObject([{ code: '60018' }, { code: '60014' }])
    say({ op: 'dance' })
    expect(sent.at(-1)).toMatchObject({ event: 'error', code: '60012' })
    expect([connect(), connect(), connect()].map(({ peer }) => peer.drops)).toEqual([0, 0, 1])
  })
})

describe('bybit', () => {
  const subscribe = (...symbols: string[]) => ({
    req_id: 'r',
    op: 'subscribe',
    args: symbols.map((symbol) => `orderbook.1.${symbol}`),
  })

  test('acknowledges a request as a whole, and a snapshot follows', () => {
    const { say, sent } = open('bybit')
    say(subscribe('BTCUSDT', 'NEIROCTOUSDT'))
    expect(sent).toMatchObject([
      { success: true, ret_msg: '', req_id: 'r', op: 'subscribe' },
      { topic: 'orderbook.1.BTCUSDT', type: 'snapshot', data: { s: 'BTCUSDT' } },
      { topic: 'orderbook.1.NEIROCTOUSDT' },
    ])
  })

  test('one unknown topic, or an eleventh, and it refuses the request', () => {
    const { clock, say, sent } = open('bybit')
    say(subscribe('BTCUSDT', 'NOPEUSDT'))
    say(subscribe(...Array<string>(11).fill('BTCUSDT')))
    clock.advance(SECOND_MS)
    expect(sent).toMatchObject([
      { success: false, ret_msg: 'error:handler not found,topic:orderbook.1.NOPEUSDT' },
      { success: false, ret_msg: 'args size >10' },
    ])
  })

  test('answers a ping and drops a client after ten idle minutes', () => {
    const { clock, peer, say, sent } = open('bybit')
    say({ op: 'ping' })
    expect(sent).toMatchObject([{ success: true, ret_msg: 'pong', op: 'ping' }])
    clock.advance(599 * SECOND_MS)
    expect(peer.drops).toBe(0)
    clock.advance(10 * SECOND_MS)
    expect(peer.drops).toBe(1)
  })
})

describe('a quote', () => {
  function quotes(scenario: readonly ScenarioEvent[], seconds: number) {
    const exchange = open('okx', '/', scenario)
    const instIds = ['BTC-USDT', 'PEPE-USDT', 'USDC-USDT']
    exchange.say({
      op: 'subscribe',
      args: instIds.map((instId) => ({ channel: 'bbo-tbt', instId })),
    })
    exchange.clock.advance(seconds * SECOND_MS)
    exchange.session.close()
    const books = exchange.sent.flatMap((one) => {
      const { arg, data } = one as {
        arg: { instId: string }
        data?: { bids: string[][]; asks: string[][]; ts: string }[]
      }
      const [book] = data ?? []
      if (book === undefined) return []
      const [bid, ask] = [Number(book.bids[0]?.[0]), Number(book.asks[0]?.[0])]
      return [{ instId: arg.instId, bid, ask, atMs: Number(book.ts) }]
    })
    return { books, reference: exchange.reference }
  }

  test('stands around what the exchange believes, in units of its currency', () => {
    const { books, reference } = quotes([], 20)
    expect(books.length).toBeGreaterThan(60)
    for (const { instId, bid, ask, atMs } of books) {
      const asset = instId.split('-')[0] ?? ''
      const usdt = reference.priceUsd('USDT', atMs) ?? Number.NaN
      const mid = (reference.seenUsd('okx', asset, atMs) ?? Number.NaN) / usdt
      expect(bid).toBeLessThan(mid)
      expect(ask).toBeGreaterThan(mid)
      expect(((ask - bid) / mid) * 1e4).toBeLessThan(7)
    }
  })

  test('is multiplied in a crash', () => {
    const crash = {
      kind: 'crash',
      factor: 10,
      fromMs: START_MS,
      untilMs: START_MS + 60_000,
    } as const
    const width = ({ books }: ReturnType<typeof quotes>) => {
      const [{ bid, ask } = { bid: 0, ask: 0 }] = books.filter(
        ({ instId }) => instId === 'BTC-USDT',
      )
      return (ask - bid) / ask
    }
    expect(width(quotes([crash], 1)) / width(quotes([], 1))).toBeCloseTo(10, 0)
  })

  test('of a frozen exchange does not change, while its clock advances', () => {
    const frozen = {
      kind: 'frozen',
      source: 'okx',
      fromMs: START_MS,
      untilMs: START_MS + 60_000,
    } as const
    const { books } = quotes([frozen], 30)
    expect(new Set(books.map(({ instId, bid, ask }) => `${instId} ${bid} ${ask}`)).size).toBe(3)
    expect(new Set(books.map(({ atMs }) => atMs)).size).toBeGreaterThan(100)
  })

  test('of a halted exchange answers a subscription with the time of the last change', () => {
    const span = { fromMs: START_MS + 10 * SECOND_MS, untilMs: START_MS + 60 * SECOND_MS }
    const exchange = open('coinbase', '/', [{ kind: 'halted', source: 'coinbase', ...span }])
    exchange.clock.advance(30 * SECOND_MS)
    const { say, sent } = exchange.connect()
    say({ type: 'subscribe', product_ids: ['BTC-USD'], channels: ['ticker', 'heartbeat'] })
    exchange.clock.advance(5 * SECOND_MS)
    const kinds = sent.map((one) => (one as { type: string }).type)
    expect(sent[0]).toMatchObject({ type: 'ticker', time: '2026-10-07T15:07:10.000000Z' })
    expect(kinds.slice(2)).toEqual(Array<string>(5).fill('heartbeat'))
  })

  test('Kraken reports maintenance while it is halted', () => {
    const span = { fromMs: START_MS + 10 * SECOND_MS, untilMs: START_MS + 20 * SECOND_MS }
    const { clock, sent } = open('kraken', '/', [{ kind: 'halted', source: 'kraken', ...span }])
    clock.advance(30 * SECOND_MS)
    expect(sent).toMatchObject(
      ['online', 'maintenance', 'online'].map((system) => ({ data: [{ system }] })),
    )
  })

  test('Bybit repeats the last quote while it is halted', () => {
    const span = { fromMs: START_MS + 10 * SECOND_MS, untilMs: START_MS + 60 * SECOND_MS }
    const exchange = open('bybit', '/', [{ kind: 'halted', source: 'bybit', ...span }])
    exchange.say({ op: 'subscribe', args: ['orderbook.1.BTCUSDT'] })
    exchange.clock.advance(20 * SECOND_MS)
    const [one, other] = exchange.sent.slice(-2) as { ts: number; cts: number; data: object }[]
    expect((other?.ts ?? 0) - (one?.ts ?? 0)).toBe(3 * SECOND_MS)
    expect(other).toMatchObject({ cts: span.fromMs - 3, data: one?.data })
  })

  test('stops with the connection', () => {
    const { clock, say, sent, session } = open('bybit')
    say({ op: 'subscribe', args: ['orderbook.1.BTCUSDT'] })
    session.close()
    const before = sent.length
    clock.advance(10 * SECOND_MS)
    expect(sent).toHaveLength(before)
  })
})

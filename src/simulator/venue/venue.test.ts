import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { catalog } from '../market/catalog.ts'
import { CoinMarkets } from '../market/coin-markets.ts'
import { readTapes } from '../market/recorded-tape.ts'
import { recordingMarket } from '../market/recording-market.ts'
import { modelCoins, seededMarket } from '../market/seeded-market.ts'
import type { VenueLimits } from './limits.ts'
import { venueCadences, venueLimits } from './limits.ts'
import { inflated, ScriptedClient } from './testing/scripted-client.ts'
import { Venue } from './venue.ts'

const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)

function openVenue(limits: Partial<VenueLimits> = {}): { venue: Venue; clock: ManualClock } {
  const clock = new ManualClock(startMs)
  const venue = new Venue({
    market: seededMarket({ seed: 5, startMs }),
    clock,
    limits: { ...venueLimits, ...limits },
    cadences: venueCadences,
  })
  return { venue, clock }
}

type TradeWire = { tid: number; time: number; px: string; coin: string }
type BookWire = { time: number; levels: { px: string; sz: string }[][]; fast?: true }

describe('the simulated venue over its websocket', () => {
  let venue: Venue
  let clock: ManualClock
  let client: ScriptedClient

  beforeEach(() => {
    ;({ venue, clock } = openVenue())
    client = new ScriptedClient(venue)
  })

  test('answers a ping with a pong that has no data', () => {
    client.send({ method: 'ping' })
    expect(client.texts).toEqual(['{"channel":"pong"}'])
  })

  test('acknowledges before data, with the subscription normalised', () => {
    client.subscribe({ type: 'l2Book', coin: 'BTC' })
    client.subscribe({ type: 'trades', coin: 'BTC' })
    clock.advance(400)
    expect(client.frames[0]).toEqual({
      channel: 'subscriptionResponse',
      data: {
        method: 'subscribe',
        subscription: { type: 'l2Book', coin: 'BTC', nSigFigs: null, mantissa: null, fast: false },
      },
    })
    expect(client.channels.slice(1, 3)).toEqual(['subscriptionResponse', 'trades'])
    expect(client.channels).toContain('l2Book')
  })

  test('replays the last 30 trades on every subscription and continues without a gap', () => {
    client.subscribe({ type: 'trades', coin: 'BTC' })
    clock.advance(20_000)
    const batches = client.data('trades') as TradeWire[][]
    const replay = batches[0] ?? []
    expect(replay).toHaveLength(30)
    expect(replay.at(-1)?.time).toBeLessThan(startMs)

    const late = new ScriptedClient(venue)
    late.subscribe({ type: 'trades', coin: 'BTC' })
    const lateReplay = (late.data('trades')[0] ?? []) as TradeWire[]
    const seen = batches.flat()
    expect(seen.slice(-30)).toEqual(lateReplay)
    expect(new Set(seen.map(({ tid }) => tid)).size, 'each trade once').toBe(seen.length)
    for (const [i, { time }] of seen.entries()) {
      expect(time).toBeGreaterThanOrEqual(seen[i - 1]?.time ?? 0)
    }
  })

  test('the figures of a spot pair come over a channel of their own', () => {
    client.subscribe({ type: 'activeAssetCtx', coin: '@107' })
    clock.advance(2_500)
    expect(client.data('activeAssetCtx')).toEqual([])
    const told = client.data('activeSpotAssetCtx') as { coin: string; ctx: { markPx: string } }[]
    expect(told.length).toBeGreaterThan(1)
    expect(told[0]).toMatchObject({ coin: '@107', ctx: { coin: '@107' } })
    expect(client.isConnected).toBe(true)
  })

  test('the other channels of a spot pair are quiet: empty books, no trades', () => {
    const coin = 'PURR/USDC'
    client.subscribe({ type: 'trades', coin })
    client.subscribe({ type: 'bbo', coin })
    client.subscribe({ type: 'candle', coin, interval: '15m' })
    client.subscribe({ type: 'l2Book', coin })
    client.subscribe({ type: 'l2Book', coin, nSigFigs: 3 })
    clock.advance(6_000)
    expect(client.isConnected).toBe(true)
    expect(new Set(client.channels)).toEqual(new Set(['subscriptionResponse', 'l2Book']))
    for (const book of client.data('l2Book')) expect(book).toMatchObject({ coin, levels: [[], []] })
  })

  test.each([
    ['an unknown coin', { type: 'trades', coin: 'NOPE' }],
    ['the wrong case', { type: 'l2Book', coin: 'KPEPE' }],
    ['six significant figures', { type: 'l2Book', coin: 'BTC', nSigFigs: 6 }],
  ])('closes the socket without a word for %s, 90 to 155 ms later', (_, subscription) => {
    client.subscribe(subscription)
    clock.advance(89)
    expect(client.isDropped).toBe(false)
    clock.advance(67)
    expect(client.isDropped).toBe(true)
    expect(client.texts).toEqual([])
  })

  test.each([
    ['not JSON', 'hello'],
    ['an unknown method', '{"method":"dance"}'],
    ['an unknown type', '{"method":"subscribe","subscription":{"type":"depth","coin":"BTC"}}'],
    ['several coins', '{"method":"subscribe","subscription":{"type":"trades","coin":["BTC"]}}'],
    ['a post without id', '{"method":"post","request":{"type":"info","payload":{"type":"meta"}}}'],
  ])('answers %s with the text that quotes it, and stays open', (_, text) => {
    client.sendText(text)
    clock.advance(1000)
    expect(client.frames).toEqual([
      { channel: 'error', data: `Error parsing JSON into valid websocket request: ${text}` },
    ])
    expect(client.isConnected).toBe(true)
  })

  test.each([
    ['a mantissa without five figures', { type: 'l2Book', coin: 'BTC', nSigFigs: 4, mantissa: 2 }],
    ['a mantissa that does not exist', { type: 'l2Book', coin: 'BTC', nSigFigs: 5, mantissa: 3 }],
    ['an unknown dex', { type: 'assetCtxs', dex: 'nope' }],
  ])('calls %s an invalid subscription', (_, subscription) => {
    client.subscribe(subscription)
    clock.advance(1000)
    expect(client.frames).toEqual([
      { channel: 'error', data: `Invalid subscription ${JSON.stringify(subscription)}` },
    ])
    expect(client.isConnected).toBe(true)
  })

  test("a user's channels begin with an empty snapshot, and say that they are one", () => {
    const user = `0x${'ab'.repeat(20)}`
    client.subscribe({ type: 'userFills', user })
    client.subscribe({ type: 'userFundings', user })
    client.subscribe({ type: 'orderUpdates', user })
    const subscription = { type: 'userFills', user, aggregateByTime: false }
    expect(client.frames.slice(0, 2)).toEqual([
      { channel: 'subscriptionResponse', data: { method: 'subscribe', subscription } },
      { channel: 'userFills', data: { isSnapshot: true, user, fills: [] } },
    ])
    expect(client.data('userFundings')).toEqual([{ isSnapshot: true, user, fundings: [] }])
    clock.advance(10_000)
    expect(client.channels.slice(4)).toEqual(['subscriptionResponse'])
  })

  test('names double and missing subscriptions', () => {
    const subscription = { type: 'bbo', coin: 'SOL' }
    client.subscribe(subscription)
    client.subscribe(subscription)
    client.send({ method: 'unsubscribe', subscription })
    client.send({ method: 'unsubscribe', subscription })
    expect(client.data('error')).toEqual([
      'Already subscribed: {"type":"bbo","coin":"SOL"}',
      'Already unsubscribed: {"type":"bbo","coin":"SOL"}',
    ])
  })

  test('sends books of all coins on one clock, unchanged ones too', () => {
    client.subscribe({ type: 'l2Book', coin: 'BTC' })
    client.subscribe({ type: 'l2Book', coin: 'UMA' })
    clock.advance(5400 * 6)
    const books = client.data('l2Book') as (BookWire & { coin: string })[]
    const times = (coin: string): number[] =>
      books.filter((book) => book.coin === coin).map(({ time }) => time)
    expect(times('BTC')).toHaveLength(7)
    expect(times('BTC').slice(1)).toEqual(times('UMA').slice(1))
  })

  test('a fast book has five levels, says so, and comes ten times as often', () => {
    client.subscribe({ type: 'l2Book', coin: 'ETH', fast: true })
    clock.advance(5400)
    const books = client.data('l2Book') as BookWire[]
    expect(books).toHaveLength(11)
    for (const { fast, levels } of books) {
      expect(fast).toBe(true)
      expect(levels.map((side) => side.length)).toEqual([5, 5])
    }
  })

  test('a delisted coin is accepted; its book is empty and its best prices are silent', () => {
    client.subscribe({ type: 'l2Book', coin: 'MATIC' })
    client.subscribe({ type: 'bbo', coin: 'MATIC' })
    clock.advance(6000)
    expect(client.isConnected).toBe(true)
    expect(client.data('bbo')).toEqual([])
    for (const { levels } of client.data('l2Book') as BookWire[]) expect(levels).toEqual([[], []])
  })

  test('best prices come on change only', () => {
    client.subscribe({ type: 'bbo', coin: 'SOL' })
    clock.advance(20_000)
    const updates = client.data('bbo') as { bbo: unknown }[]
    expect(updates.length).toBeGreaterThan(3)
    expect(updates.length).toBeLessThan(200)
    for (const [i, { bbo }] of updates.entries()) expect(bbo).not.toEqual(updates[i - 1]?.bbo)
  })

  test('a candle frame is the whole open bar and equals the snapshot of that moment', () => {
    client.subscribe({ type: 'candle', coin: 'BTC', interval: '15m' })
    client.subscribe({ type: 'trades', coin: 'BTC' })
    const request = { coin: 'BTC', interval: '15m', startTime: startMs, endTime: startMs + 60_000 }
    let compared = 0
    for (let i = 0; i < 100; i++) {
      const before = client.data('candle').length
      clock.advance(100)
      const candles = client.data('candle')
      expect(candles.length - before).toBeLessThanOrEqual(1)
      if (candles.length === before) continue
      const body = JSON.stringify({ type: 'candleSnapshot', req: request })
      const fresh = new ScriptedClient(venue, `reader ${i}`)
      expect(fresh.isConnected).toBe(true)
      expect(JSON.parse(venue.info(`reader ${i}`, body)?.body ?? '')).toEqual([candles.at(-1)])
      compared++
    }
    expect(compared).toBeGreaterThan(5)
    const tradeFrames = client.data('trades').length - 1
    expect(client.data('candle'), 'on trade activity only').toHaveLength(tradeFrames)
  })

  test('fastAssetCtxs is a snapshot and then what changed', () => {
    client.subscribe({ type: 'fastAssetCtxs' })
    clock.advance(10_000)
    const [first, ...deltas] = (client.data('fastAssetCtxs') as string[]).map(inflated)
    expect(deltas).toHaveLength(10)
    const state = { ...first }
    expect(Object.keys(state).length).toBeGreaterThan(220)
    const { MATIC } = state
    expect(MATIC).toEqual({ markPx: expect.any(String), midPx: null })
    for (const delta of deltas) {
      expect(Object.keys(delta).length).toBeLessThan(Object.keys(state).length / 2)
      for (const [coin, change] of Object.entries(delta))
        state[coin] = { ...state[coin], ...change }
    }
    const late = new ScriptedClient(venue)
    late.subscribe({ type: 'fastAssetCtxs' })
    const [snapshot] = (late.data('fastAssetCtxs') as string[]).map(inflated)
    expect(state, 'snapshot plus deltas is the state').toEqual(snapshot)
  })

  test('a new listing lengthens the contexts, by position', () => {
    client.subscribe({ type: 'allDexsAssetCtxs' })
    venue.addListing({
      coin: 'LATE',
      sizeDecimals: 1,
      maxLeverage: 3,
      priceUsd: 1.5,
      dayNotionalUsd: 1e6,
    })
    clock.advance(13_600)
    const [before, after] = (
      client.data('allDexsAssetCtxs') as { ctxs: [string, unknown[]][] }[]
    ).map(({ ctxs }) => ctxs[0]?.[1].length ?? 0)
    expect(after).toBe((before ?? 0) + 1)
    client.subscribe({ type: 'trades', coin: 'LATE' })
    clock.advance(200)
    expect(client.isConnected).toBe(true)
  })

  test('published states are 0.2 to 0.9 s old and never go back', () => {
    client.subscribe({ type: 'l2Book', coin: 'BTC', fast: true })
    let lastMs = 0
    for (let i = 0; i < 100; i++) {
      clock.advance(540)
      const { time } = client.data('l2Book').at(-1) as BookWire
      const ageMs = clock.nowMs() - time
      expect(ageMs).toBeGreaterThanOrEqual(199)
      expect(ageMs).toBeLessThanOrEqual(901)
      expect(time).toBeGreaterThan(lastMs)
      lastMs = time
    }
  })

  test('closes a connection on which it has said nothing for 60 s', () => {
    const talked = new ScriptedClient(venue)
    clock.advance(40_000)
    talked.send({ method: 'ping' })
    clock.advance(20_000)
    expect(client.isDropped).toBe(true)
    expect(talked.isDropped).toBe(false)
  })

  test('answers posts, null for an unknown coin, errors by name', () => {
    const post = (id: number, payload: object): void =>
      client.send({ method: 'post', id, request: { type: 'info', payload } })
    post(1, { type: 'l2Book', coin: 'BTC' })
    post(2, { type: 'l2Book', coin: 'NOPE' })
    post(3, { type: 'dance' })
    expect(client.texts, 'a post takes its time').toEqual([])
    clock.advance(100)
    const replies = client.data('post') as {
      id: number
      response: { type: string; payload: unknown }
    }[]
    expect(replies.map(({ id }) => id)).toEqual([1, 2, 3])
    expect(replies[0]?.response.payload).toMatchObject({ type: 'l2Book', data: { coin: 'BTC' } })
    expect(replies[1]?.response).toEqual({ type: 'info', payload: { type: 'l2Book', data: null } })
    expect(replies[2]?.response.type).toBe('error')
  })

  test('everything ends with close', () => {
    client.subscribe({ type: 'allMids' })
    const frames = client.texts.length
    venue.close()
    expect(client.isDropped).toBe(true)
    clock.advance(120_000)
    expect(client.texts).toHaveLength(frames)
  })
})

describe('the caps of an address, as the venue has them,', () => {
  /** One coin is enough, and quick. */
  const open = (): { venue: Venue; clock: ManualClock } => {
    const clock = new ManualClock(startMs)
    const model = modelCoins(5, startMs)
    const market = new CoinMarkets({
      clockShiftMs: 0,
      coins: catalog.map(model.ofCatalog),
      newCoin: model.ofListing,
    })
    return {
      venue: new Venue({ market, clock, limits: venueLimits, cadences: venueCadences }),
      clock,
    }
  }

  test('keep no 11th connection', () => {
    const { venue } = open()
    const clients = Array.from({ length: 11 }, () => new ScriptedClient(venue))
    expect(clients.map(({ isConnected }) => isConnected)).toEqual([...Array(10).fill(true), false])
  })

  test('keep no 31st new connection of a minute, also where the attempts are spread over it', () => {
    const { venue, clock } = open()
    let kept = 0
    for (let second = 0; second < 60; second++) {
      if (new ScriptedClient(venue).isConnected) kept++
      venue.dropConnections()
      clock.advance(1000)
    }
    expect(kept).toBe(30)
  })

  test('count an attempt that found ten connections open', () => {
    const { venue } = open()
    for (let attempt = 0; attempt < 30; attempt++) new ScriptedClient(venue)
    venue.dropConnections()
    expect(new ScriptedClient(venue).isConnected).toBe(false)
  })

  test('keep no 31st new connection of a minute', () => {
    const { venue, clock } = open()
    const isKept = (): boolean => {
      const { isConnected } = new ScriptedClient(venue)
      venue.dropConnections()
      return isConnected
    }
    expect(Array.from({ length: 31 }, isKept)).toEqual([...Array(30).fill(true), false])
    clock.advance(60_000)
    expect(isKept()).toBe(true)
  })

  test('refuse the 1,001st subscription by its text, across connections', () => {
    const { venue } = open()
    const [one, other] = [new ScriptedClient(venue), new ScriptedClient(venue)]
    const coins = catalog.map(([coin]) => coin)
    const subscriptions = ['trades', 'bbo', 'activeAssetCtx', 'l2Book', 'candle'].flatMap((type) =>
      coins.map((coin) => ({ type, coin, interval: '15m' })),
    )
    for (const [i, subscription] of subscriptions.slice(0, 1001).entries())
      (i % 2 === 0 ? one : other).subscribe(subscription)
    const answers = [one, other].flatMap((client) => client.data('subscriptionResponse'))
    expect(answers).toHaveLength(1000)
    expect([...one.data('error'), ...other.data('error')]).toEqual([
      'Cannot subscribe to more than 1000 channels.',
    ])
    expect(one.isConnected).toBe(true)
  })

  test('refuse the 2,001st message of a minute by its text', () => {
    const { venue, clock } = open()
    const client = new ScriptedClient(venue)
    for (let i = 0; i < 2001; i++) client.send({ method: 'ping' })
    expect(client.texts.slice(0, 2000).every((text) => text === '{"channel":"pong"}')).toBe(true)
    expect(client.data('error')).toEqual(['Cannot send more than 2000 messages per minute.'])
    expect(client.isConnected).toBe(true)
    clock.advance(59_999)
    client.send({ method: 'ping' })
    expect(client.channels.at(-1)).toBe('error')
    clock.advance(1)
    client.send({ method: 'ping' })
    expect(client.channels.at(-1)).toBe('pong')
  })

  test('refuse the 101st post in flight by its id', () => {
    const { venue, clock } = open()
    const client = new ScriptedClient(venue)
    const request = { type: 'info', payload: { type: 'l2Book', coin: 'NOPE' } }
    for (let id = 1; id <= 101; id++) client.send({ method: 'post', id, request })
    expect(client.data('error')).toEqual(['too many pending post requests id=101'])
    clock.advance(100)
    expect(client.data('post')).toHaveLength(100)
    client.send({ method: 'post', id: 102, request })
    clock.advance(100)
    expect(client.data('post')).toHaveLength(101)
  })

  test('refuse the 11th user by its text, until one is given back', () => {
    const { venue } = open()
    const client = new ScriptedClient(venue)
    const user = (i: number): string => `0x${i.toString(16).padStart(40, '0')}`
    for (let i = 0; i < 11; i++) client.subscribe({ type: 'userFills', user: user(i) })
    client.subscribe({ type: 'userEvents', user: user(0) })
    expect(client.data('error')).toEqual(['Cannot track more than 10 total users.'])
    client.send({ method: 'unsubscribe', subscription: { type: 'userFills', user: user(9) } })
    client.subscribe({ type: 'userFills', user: user(10) })
    expect(client.data('error')).toHaveLength(1)
  })
})

describe('the caps of an address', () => {
  test('refuses a connection too many and gives a closed one back', () => {
    const { venue } = openVenue({ connectionsMax: 2 })
    const clients = [1, 2, 3].map(() => new ScriptedClient(venue))
    expect(clients.map(({ isConnected }) => isConnected)).toEqual([true, true, false])
    expect(new ScriptedClient(venue, 'elsewhere').isConnected).toBe(true)
    venue.dropConnections()
    expect(new ScriptedClient(venue).isConnected).toBe(true)
  })

  test('refuses too many new connections in a minute', () => {
    const { venue, clock } = openVenue({ newConnectionsPerMinute: 3 })
    const connect = (): boolean => {
      const { isConnected } = new ScriptedClient(venue)
      venue.dropConnections()
      return isConnected
    }
    expect([connect(), connect(), connect(), connect()]).toEqual([true, true, true, false])
    clock.advance(60_000)
    expect(connect()).toBe(true)
  })

  test('refuses a subscription too many across connections', () => {
    const { venue } = openVenue({ subscriptionsMax: 2 })
    const [a, b] = [new ScriptedClient(venue), new ScriptedClient(venue)]
    a.subscribe({ type: 'candle', coin: 'BTC', interval: '15m' })
    b.subscribe({ type: 'candle', coin: 'ETH', interval: '15m' })
    b.subscribe({ type: 'candle', coin: 'SOL', interval: '15m' })
    expect(b.data('subscriptionResponse')).toHaveLength(1)
    expect(b.data('error')).toEqual(['Cannot subscribe to more than 2 channels.'])
  })

  test('ignores messages beyond those of a minute', () => {
    const { venue } = openVenue({ messagesPerMinute: 3 })
    const client = new ScriptedClient(venue)
    for (let i = 0; i < 5; i++) client.send({ method: 'ping' })
    expect(client.channels).toEqual(['pong', 'pong', 'pong', 'error', 'error'])
  })

  test('refuses a pending post too many by its id', () => {
    const { venue } = openVenue({ pendingPostsMax: 1 })
    const client = new ScriptedClient(venue)
    for (const id of [7, 8]) {
      client.send({ method: 'post', id, request: { type: 'info', payload: { type: 'allMids' } } })
    }
    expect(client.data('error')).toEqual(['too many pending post requests id=8'])
  })
})

const recording = fileURLToPath(
  new URL('../../../../shared/data/hl-l2-trades-2025-09', import.meta.url),
)

test.skipIf(!existsSync(recording))(
  'the recorded outage drops the sockets and lets nobody in until it is over (needs ../shared/data)',
  () => {
    const clock = new ManualClock(startMs)
    const market = recordingMarket(readTapes(recording), seededMarket({ seed: 5, startMs }), {
      startMs,
    })
    const venue = new Venue({ market, clock, limits: venueLimits, cadences: venueCadences })
    // The recorder lost its connection 691 s after the first trade that it had been given.
    clock.advance(685_000)
    const client = new ScriptedClient(venue)
    client.subscribe({ type: 'trades', coin: 'SOL' })
    clock.advance(3_000)
    expect(client.isConnected).toBe(true)
    clock.advance(10_000)
    expect(client.isDropped).toBe(true)
    expect(new ScriptedClient(venue).isConnected).toBe(false)
    clock.advance(18_000)
    const again = new ScriptedClient(venue)
    again.subscribe({ type: 'trades', coin: 'SOL' })
    expect(again.channels).toEqual(['subscriptionResponse', 'trades'])
    expect(again.data('trades')[0]).toHaveLength(30)
  },
)

test('two runs with the same seed and start send the same bytes', () => {
  const run = (): string[] => {
    const { venue, clock } = openVenue()
    const client = new ScriptedClient(venue)
    const script = [
      { type: 'fastAssetCtxs' },
      { type: 'allDexsAssetCtxs' },
      { type: 'allMids' },
      { type: 'l2Book', coin: 'BTC' },
      { type: 'l2Book', coin: 'HYPE', nSigFigs: 3 },
      { type: 'l2Book', coin: 'SOL', fast: true },
      { type: 'trades', coin: 'ETH' },
      { type: 'candle', coin: 'kPEPE', interval: '1h' },
      { type: 'bbo', coin: 'DOGE' },
      { type: 'activeAssetCtx', coin: 'XRP' },
    ]
    for (const subscription of script) {
      client.subscribe(subscription)
      clock.advance(777)
    }
    clock.advance(120_000)
    client.send({
      method: 'post',
      id: 1,
      request: {
        type: 'info',
        payload: {
          type: 'candleSnapshot',
          req: { coin: 'BTC', interval: '15m', startTime: startMs - 1e8 },
        },
      },
    })
    clock.advance(1000)
    venue.close()
    return client.texts
  }
  const first = run()
  expect(first.length).toBeGreaterThan(700)
  expect(run()).toEqual(first)
})

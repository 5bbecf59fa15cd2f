import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { catalog } from '../market/catalog.ts'
import { CoinMarkets } from '../market/coin-markets.ts'
import type { NewListing } from '../market/market.ts'
import { modelCoins } from '../market/seeded-market.ts'
import type { VenueFault } from './fault.ts'
import { venueCadences, venueLimits } from './limits.ts'
import type { Frame } from './testing/scripted-client.ts'
import { ScriptedClient } from './testing/scripted-client.ts'
import { Venue } from './venue.ts'

const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)
const MINUTE_MS = 60_000

type TradeWire = { tid: number }
type BookWire = { time: number }
type CandleWire = { t: number; T: number; n: number }

const newListing: NewListing = {
  coin: 'LATE',
  sizeDecimals: 1,
  maxLeverage: 3,
  priceUsd: 1.5,
  dayNotionalUsd: 1e6,
}

/** A venue with few coins, the last of which hardly trades. */
function openVenue(): { venue: Venue; clock: ManualClock } {
  const clock = new ManualClock(startMs)
  const model = modelCoins(5, startMs)
  const market = new CoinMarkets({
    clockShiftMs: 0,
    coins: [
      ...catalog.slice(0, 6).map(model.ofCatalog),
      model.ofCatalog(['QUIET', 1, 3, 2.5, 2000, 10_000]),
    ],
    newCoin: model.ofListing,
  })
  const venue = new Venue({ market, clock, limits: venueLimits, cadences: venueCadences })
  return { venue, clock }
}

describe('a fault of the simulated venue', () => {
  let venue: Venue
  let clock: ManualClock
  let client: ScriptedClient

  beforeEach(() => {
    ;({ venue, clock } = openVenue())
    client = new ScriptedClient(venue)
  })

  const ask = (body: object): unknown => {
    const answer = venue.info('reader', JSON.stringify(body))
    return answer === undefined ? undefined : JSON.parse(answer.body)
  }
  const status = (body: object = { type: 'exchangeStatus' }): number | undefined =>
    venue.info('reader', JSON.stringify(body))?.status
  /** Channels of what arrives while the clock moves on. */
  const heard = (byMs: number, of = client): string[] => {
    const before = of.texts.length
    clock.advance(byMs)
    return of.channels.slice(before)
  }
  const inject = (fault: VenueFault): void => {
    venue.inject(fault)
  }

  test('drop-connections ends all that are open, once', () => {
    const other = new ScriptedClient(venue, 'elsewhere')
    inject({ kind: 'drop-connections' })
    expect([client.isDropped, other.isDropped]).toEqual([true, true])
    expect(new ScriptedClient(venue).isConnected).toBe(true)
  })

  test('drop-connections ends the one that it names, counted on from the oldest', () => {
    const [second, third] = [new ScriptedClient(venue), new ScriptedClient(venue)]
    const dropped = (): boolean[] => [client, second, third].map(({ isDropped }) => isDropped)
    inject({ kind: 'drop-connections', connection: 4 })
    expect(dropped()).toEqual([false, true, false])
    inject({ kind: 'drop-connections', connection: 1 })
    expect(dropped()).toEqual([false, true, true])
  })

  test('drop-connections ends with the code that it names, and half-open ones with 1006', () => {
    const other = new ScriptedClient(venue)
    inject({ kind: 'half-open', durationMs: 90_000, connection: 0 })
    inject({ kind: 'drop-connections', code: 1000 })
    expect([client.code, other.code]).toEqual([1006, 1000])
  })

  describe('refuse-subscriptions', () => {
    const subscription = { type: 'activeAssetCtx', coin: 'BTC' }

    test('leaves a subscription without a word and without data', () => {
      inject({ kind: 'refuse-subscriptions', how: 'silent', durationMs: 20_000 })
      client.subscribe(subscription)
      expect(heard(10_000)).toEqual([])
      expect(client.texts).toEqual([])
      expect(client.isConnected).toBe(true)
    })

    test('calls it invalid where it is said', () => {
      inject({ kind: 'refuse-subscriptions', how: 'error', durationMs: 20_000 })
      client.subscribe(subscription)
      expect(client.data('error')).toEqual([
        'Invalid subscription {"type":"activeAssetCtx","coin":"BTC"}',
      ])
      expect(heard(10_000)).toEqual([])
    })

    test('spares what stands, and grants what is asked again when it is over', () => {
      client.subscribe({ type: 'activeAssetCtx', coin: 'ETH' })
      inject({ kind: 'refuse-subscriptions', how: 'silent', durationMs: 20_000 })
      client.subscribe(subscription)
      expect(new Set(heard(20_000))).toEqual(new Set(['activeAssetCtx']))
      client.subscribe(subscription)
      expect(client.data('subscriptionResponse')).toContainEqual({
        method: 'subscribe',
        subscription,
      })
    })
  })

  describe('refuse-connections', () => {
    beforeEach(() => inject({ kind: 'refuse-connections', durationMs: 20_000 }))

    test('ends open and new connections within a second', () => {
      expect(client.isDropped).toBe(false)
      clock.advance(1000)
      expect(client.isDropped).toBe(true)
      for (let attempt = 0; attempt < 5; attempt++) {
        const again = new ScriptedClient(venue)
        expect(again.isConnected).toBe(true)
        clock.advance(1000)
        expect(again.isDropped).toBe(true)
      }
    })

    test('leaves connections alone when it is over, one from shortly before its end too', () => {
      clock.advance(19_999)
      const last = new ScriptedClient(venue)
      clock.advance(30_000)
      expect(last.isConnected).toBe(true)
    })
  })

  describe('half-open', () => {
    test('lets nothing pass in either direction on connections of before', () => {
      client.subscribe({ type: 'activeAssetCtx', coin: 'BTC' })
      inject({ kind: 'half-open', durationMs: 90_000 })
      const before = client.texts.length
      client.send({ method: 'ping' })
      client.subscribe({ type: 'trades', coin: 'NOPE' })
      clock.advance(89_000)
      expect(client.texts).toHaveLength(before)
      expect(client.isDropped).toBe(false)
    })

    test('hides from the client that the venue has ended a silent connection', () => {
      inject({ kind: 'half-open', durationMs: 90_000 })
      clock.advance(89_000)
      expect(client.isDropped).toBe(false)
    })

    test('lets new connections work', () => {
      inject({ kind: 'half-open', durationMs: 90_000 })
      const fresh = new ScriptedClient(venue)
      fresh.send({ method: 'ping' })
      expect(fresh.channels).toEqual(['pong'])
      clock.advance(10_000)
      fresh.send({ method: 'ping' })
      expect(fresh.channels).toEqual(['pong', 'pong'])
    })

    test('resets its connections at the end, and only those', () => {
      inject({ kind: 'half-open', durationMs: 5_000 })
      const fresh = new ScriptedClient(venue)
      clock.advance(4_999)
      expect(client.isDropped).toBe(false)
      clock.advance(1)
      expect([client.isDropped, fresh.isDropped]).toEqual([true, false])
    })

    test('of one connection spares the others', () => {
      const other = new ScriptedClient(venue)
      inject({ kind: 'half-open', durationMs: 5_000, connection: 1 })
      for (const each of [client, other]) each.send({ method: 'ping' })
      expect([client.channels, other.channels]).toEqual([['pong'], []])
      clock.advance(5_000)
      expect([client.isDropped, other.isDropped]).toEqual([false, true])
    })

    test('of one connection where none is open befalls none that comes later', () => {
      inject({ kind: 'drop-connections' })
      inject({ kind: 'half-open', durationMs: 5_000, connection: 0 })
      const fresh = new ScriptedClient(venue)
      clock.advance(5_000)
      expect(fresh.isDropped).toBe(false)
    })

    test('lasts as long as the longest of those that a connection is in', () => {
      inject({ kind: 'half-open', durationMs: 5_000 })
      inject({ kind: 'half-open', durationMs: 10_000 })
      clock.advance(9_999)
      expect(client.isDropped).toBe(false)
      clock.advance(1)
      expect(client.isDropped).toBe(true)
    })
  })

  describe('stall', () => {
    const perCoin = (coin: string): object[] => [
      { type: 'trades', coin },
      { type: 'candle', coin, interval: '15m' },
      { type: 'l2Book', coin, fast: true },
      { type: 'bbo', coin },
      { type: 'activeAssetCtx', coin },
    ]

    test('silences one coin; acknowledgements, pongs and other coins go on', () => {
      inject({ kind: 'stall', coin: 'BTC', durationMs: 20_000 })
      for (const subscription of perCoin('BTC')) client.subscribe(subscription)
      expect(heard(10_000)).toEqual([])
      expect(client.channels).toEqual(Array(5).fill('subscriptionResponse'))
      client.send({ method: 'ping' })
      expect(client.channels.at(-1)).toBe('pong')
      client.subscribe({ type: 'activeAssetCtx', coin: 'ETH' })
      client.subscribe({ type: 'allMids' })
      expect(new Set(heard(5_000))).toEqual(new Set(['activeAssetCtx', 'allMids']))
    })

    test('of a delisted coin silences its empty books, its figures and its last trades', () => {
      const listener = new ScriptedClient(venue)
      for (const subscription of perCoin('MATIC')) listener.subscribe(subscription)
      clock.advance(10_000)
      const told = new Set(listener.channels)
      expect([...told]).toEqual(expect.arrayContaining(['l2Book', 'activeAssetCtx']))
      inject({ kind: 'stall', coin: 'MATIC', durationMs: 20_000 })
      for (const subscription of perCoin('MATIC')) client.subscribe(subscription)
      expect([...heard(10_000), ...heard(9_000, listener)]).toEqual([])
    })

    test('silences only the channels that it names', () => {
      for (const subscription of perCoin('BTC')) client.subscribe(subscription)
      inject({
        kind: 'stall',
        coin: 'BTC',
        durationMs: 20_000,
        channels: ['trades', 'bbo', 'l2Book'],
      })
      expect(new Set(heard(10_000))).toEqual(new Set(['candle', 'activeAssetCtx']))
    })

    test('loses the trades of its time, and ends', () => {
      const other = new ScriptedClient(venue, 'elsewhere')
      client.subscribe({ type: 'trades', coin: 'BTC' })
      clock.advance(5_000)
      inject({ kind: 'stall', coin: 'BTC', durationMs: 20_000 })
      expect(heard(20_000)).toEqual([])
      expect(new Set(heard(5_000))).toEqual(new Set(['trades']))
      other.subscribe({ type: 'trades', coin: 'BTC' })
      const told = tradeIds(client)
      const missing = tradeIds(other).filter((id) => !told.includes(id))
      expect(missing.length, 'the replay of another knows what was lost').toBeGreaterThan(0)
    })
  })

  describe('faults of frames', () => {
    const share = 0.4
    const run = (faults: readonly VenueFault[], forMs = 20_000): Frame[] => {
      const { venue: own, clock: ownClock } = openVenue()
      const listener = new ScriptedClient(own)
      listener.subscribe({ type: 'l2Book', coin: 'BTC', fast: true })
      ownClock.advance(2_000)
      for (const fault of faults) own.inject(fault)
      listener.texts.length = 0
      ownClock.advance(forMs)
      return listener.texts.map(parsedOrBroken)
    }
    const clean = run([])
    const times = (frames: readonly Frame[]): number[] =>
      frames.map(({ data }) => (data as BookWire).time)

    test('drop-frames loses a share of them and changes no other', () => {
      const frames = run([{ kind: 'drop-frames', share, durationMs: 20_000 }])
      expect(frames.length).toBeGreaterThan(0.3 * clean.length)
      expect(frames.length).toBeLessThan(0.9 * clean.length)
      for (const frame of frames) expect(clean).toContainEqual(frame)
    })

    test('duplicate-frames says a share of them twice', () => {
      const frames = run([{ kind: 'duplicate-frames', share, durationMs: 20_000 }])
      expect(frames.length).toBeGreaterThan(1.1 * clean.length)
      expect([...new Set(times(frames))]).toEqual(times(clean))
    })

    test('reorder-frames swaps neighbours of one subscription and loses none', () => {
      const frames = run([{ kind: 'reorder-frames', share, durationMs: 20_000 }])
      expect(times(frames)).not.toEqual(times(clean))
      expect(times(frames).toSorted((a, b) => a - b)).toEqual(times(clean))
    })

    test('reorder-frames hands over at its end what still waits', () => {
      const frames = run([{ kind: 'reorder-frames', share: 1, durationMs: 600 }], 600)
      expect(times(frames)).toEqual(times(run([], 600)))
    })

    test('garble-frames breaks a share of them', () => {
      const frames = run([{ kind: 'garble-frames', share, durationMs: 20_000 }])
      const whole = frames.filter((frame) =>
        clean.some((known) => JSON.stringify(known) === JSON.stringify(frame)),
      )
      expect(frames).toHaveLength(clean.length)
      expect(whole.length).toBeGreaterThan(0.3 * clean.length)
      expect(whole.length).toBeLessThan(0.9 * clean.length)
    })

    test('spare acknowledgements and pongs', () => {
      inject({ kind: 'drop-frames', share: 1, durationMs: 20_000 })
      inject({ kind: 'garble-frames', share: 1, durationMs: 20_000 })
      client.subscribe({ type: 'trades', coin: 'BTC' })
      client.send({ method: 'ping' })
      client.subscribe({ type: 'trades', coin: 'BTC' })
      expect(client.channels).toEqual(['subscriptionResponse', 'pong', 'error'])
    })

    test('compose', () => {
      const frames = run([
        { kind: 'duplicate-frames', share: 1, durationMs: 20_000 },
        { kind: 'duplicate-frames', share: 1, durationMs: 20_000 },
      ])
      expect(frames).toHaveLength(4 * clean.length)
    })

    test('do the same again, and leave no trace', () => {
      const faults: VenueFault[] = [
        { kind: 'drop-frames', share, durationMs: 8_000 },
        { kind: 'garble-frames', share, durationMs: 8_000 },
        { kind: 'reorder-frames', share, durationMs: 8_000 },
      ]
      const frames = run(faults)
      expect(run(faults)).toEqual(frames)
      const after = clean.slice(-20)
      expect(frames.slice(-20)).toEqual(after)
    })
  })

  describe('delay-frames', () => {
    test('keeps the order, pongs included, and ends in a burst', () => {
      const swift = new ScriptedClient(venue, 'elsewhere')
      client.subscribe({ type: 'activeAssetCtx', coin: 'BTC' })
      inject({ kind: 'delay-frames', delayMs: 3_000, durationMs: 10_000 })
      swift.subscribe({ type: 'activeAssetCtx', coin: 'BTC' })
      client.send({ method: 'ping' })
      expect(heard(2_900)).toEqual([])
      expect(heard(1_100)).toEqual(['pong', 'activeAssetCtx'])
      clock.advance(5_900)
      const before = client.texts.length
      clock.advance(100)
      expect(client.texts.length - before, 'three seconds at once').toBeGreaterThanOrEqual(3)
      expect(client.data('activeAssetCtx')).toEqual(swift.data('activeAssetCtx'))
      expect(heard(1_000)).toEqual(['activeAssetCtx'])
    })

    test('of one connection spares the others, and those opened later', () => {
      inject({ kind: 'delay-frames', delayMs: 3_000, durationMs: 10_000, connection: 0 })
      const fresh = new ScriptedClient(venue)
      for (const each of [client, fresh]) each.send({ method: 'ping' })
      expect([client.channels, fresh.channels]).toEqual([[], ['pong']])
      expect(heard(3_100)).toEqual(['pong'])
    })

    test('adds up', () => {
      inject({ kind: 'delay-frames', delayMs: 3_000, durationMs: 10_000 })
      inject({ kind: 'delay-frames', delayMs: 2_000, durationMs: 10_000 })
      client.send({ method: 'ping' })
      expect(heard(4_900)).toEqual([])
      expect(heard(200)).toEqual(['pong'])
    })
  })

  test('rest-429 refuses requests and posts, and ends', () => {
    inject({ kind: 'rest-429', durationMs: 5_000 })
    expect(status()).toBe(429)
    const request = { type: 'info', payload: { type: 'exchangeStatus' } }
    client.send({ method: 'post', id: 1, request })
    clock.advance(100)
    expect(client.data('post')).toEqual([
      { id: 1, response: { type: 'error', payload: '429 Too Many Requests' } },
    ])
    clock.advance(4_900)
    expect(status()).toBe(200)
  })

  describe('rest-outage', () => {
    test('answers 500, and ends', () => {
      inject({ kind: 'rest-outage', how: '500', durationMs: 5_000 })
      expect(status()).toBe(500)
      clock.advance(5_000)
      expect(status()).toBe(200)
    })

    test('answers nothing at all while it hangs', () => {
      inject({ kind: 'rest-outage', how: 'hang', durationMs: 5_000 })
      expect(status()).toBeUndefined()
      clock.advance(5_000)
      expect(status()).toBe(200)
    })

    test('answers with garbage under a good status', () => {
      const good = venue.info('reader', '{"type":"meta"}')?.body
      inject({ kind: 'rest-outage', how: 'garbage', durationMs: 5_000 })
      for (let i = 0; i < 20; i++) {
        const answer = venue.info(`reader ${i}`, '{"type":"meta"}')
        expect(answer?.status).toBe(200)
        expect(answer?.body).not.toBe(good)
      }
    })

    test('hangs where outages overlap', () => {
      inject({ kind: 'rest-outage', how: 'hang', durationMs: 5_000 })
      inject({ kind: 'rest-outage', how: 'garbage', durationMs: 10_000 })
      expect(status()).toBeUndefined()
      clock.advance(5_000)
      expect(status()).toBe(200)
    })
  })

  test('late-flat-bars ends the candles with the newest traded one until it is over', () => {
    const bars = (): CandleWire[] => {
      const range = { startTime: clock.nowMs() - 120 * MINUTE_MS, endTime: clock.nowMs() }
      const req = { coin: 'QUIET', interval: '1m', ...range }
      return ask({ type: 'candleSnapshot', req }) as CandleWire[]
    }
    while (
      !bars()
        .slice(-3)
        .every(({ n }) => n === 0)
    )
      clock.advance(MINUTE_MS)
    const all = bars()
    inject({ kind: 'late-flat-bars', durationMs: 5_000 })
    const fewer = bars()
    expect(fewer.at(-1)?.n).toBeGreaterThan(0)
    expect(fewer).toEqual(all.slice(0, all.findLastIndex(({ n }) => n > 0) + 1))
    clock.advance(5_000)
    expect(
      bars()
        .slice(-3)
        .every(({ n }) => n === 0),
    ).toBe(true)
  })

  test('list and delist change the universe', () => {
    type Meta = { universe: { name: string; isDelisted?: true }[] }
    inject({ kind: 'list', listing: newListing })
    inject({ kind: 'delist', coin: 'SOL' })
    const { universe } = ask({ type: 'meta' }) as Meta
    expect(universe.at(-1)?.name).toBe('LATE')
    expect(universe.find(({ name }) => name === 'SOL')?.isDelisted).toBe(true)
  })

  test('relist moves a coin to the end, in metadata and contexts alike', () => {
    type Reply = [{ universe: { name: string }[] }, { markPx: string }[]]
    const marks = () => {
      const [{ universe }, contexts] = ask({ type: 'metaAndAssetCtxs' }) as Reply
      return universe.map(({ name }, place) => [name, contexts[place]?.markPx] as const)
    }
    const before = marks()
    inject({ kind: 'relist', coin: 'BTC' })
    const moved = before.filter(([name]) => name === 'BTC')
    expect(marks()).toEqual([...before.filter(([name]) => name !== 'BTC'), ...moved])
  })

  test.each([0, 2, 5])(
    'list at the lowest price that is allowed with %i size decimals: a whole book all day',
    (sizeDecimals) => {
      const priceUsd = 100 / 10 ** (6 - sizeDecimals)
      const model = modelCoins(5, startMs)
      const market = model.ofListing({ ...newListing, sizeDecimals, priceUsd }, startMs)
      for (let hour = 1; hour <= 24; hour++) {
        const atMs = startMs + hour * 60 * MINUTE_MS
        const { bids, asks } = market.book(atMs, 20)
        expect([bids.length, asks.length]).toEqual([20, 20])
        expect(market.context(atMs).markPrice).toBeGreaterThan(0)
      }
    },
  )

  test('what finds nothing to befall says so', () => {
    const halfOpen = { kind: 'half-open', durationMs: 5_000 } as const
    expect(venue.inject(halfOpen)).toBe(true)
    expect(venue.inject({ kind: 'drop-connections' })).toBe(true)
    expect(venue.inject({ kind: 'drop-connections' })).toBe(false)
    expect(venue.inject(halfOpen)).toBe(false)
    expect(venue.inject({ ...halfOpen, connection: 0 })).toBe(false)
    expect(venue.inject({ kind: 'delist', coin: 'SOL' })).toBe(true)
    expect(venue.inject({ kind: 'delist', coin: 'SOL' })).toBe(false)
    expect(venue.inject({ kind: 'refuse-connections', durationMs: 5_000 })).toBe(true)
  })

  test('clock-skew shifts the times that the venue stamps, and no others', () => {
    const timeOf = (reply: unknown): number => (reply as { time: number }).time
    const request = { coin: 'BTC', interval: '15m', startTime: startMs - 60 * MINUTE_MS }
    const trades = ask({ type: 'recentTrades', coin: 'BTC' })
    const candles = ask({ type: 'candleSnapshot', req: request })
    const book = ask({ type: 'l2Book', coin: 'BTC' })
    inject({ kind: 'clock-skew', offsetMs: -7_000, durationMs: 20_000 })
    expect(timeOf(ask({ type: 'l2Book', coin: 'BTC' }))).toBe(timeOf(book) - 7_000)
    expect(ask({ type: 'recentTrades', coin: 'BTC' })).toEqual(trades)
    expect(ask({ type: 'candleSnapshot', req: request })).toEqual(candles)
    client.subscribe({ type: 'l2Book', coin: 'BTC', fast: true })
    client.subscribe({ type: 'bbo', coin: 'BTC' })
    clock.advance(10_000)
    for (const { time } of [...client.data('l2Book'), ...client.data('bbo')] as BookWire[])
      expect(time).toBeLessThan(clock.nowMs() - 7_000)
    const readMs = timeOf(ask({ type: 'exchangeStatus' }))
    expect(clock.nowMs() - readMs).toBeGreaterThan(7_000)
    clock.advance(10_000)
    expect(clock.nowMs() - timeOf(ask({ type: 'exchangeStatus' }))).toBeLessThan(1_000)
  })
})

function tradeIds(client: ScriptedClient): number[] {
  return (client.data('trades') as TradeWire[][]).flat().map(({ tid }) => tid)
}

function parsedOrBroken(text: string): Frame {
  try {
    return JSON.parse(text)
  } catch {
    return { channel: 'broken', data: text }
  }
}

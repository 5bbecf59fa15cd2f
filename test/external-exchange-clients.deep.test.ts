import ccxt from 'ccxt'
import { asyncScheduler, EMPTY } from 'rxjs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MarketEvent } from '../src/domain/event.ts'
import type { Exchange } from '../src/domain/external.ts'
import { exchanges } from '../src/domain/external.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { connectWebSocket } from '../src/roles/system-runtime.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import { SimulatedSources } from '../src/simulator/external/simulated-sources.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { externalFeed } from '../src/streams/external/external-feed.ts'
import type { SourceNotice } from '../src/streams/external/source.ts'

/** Real sockets to the simulated exchanges, from our adapters and from a public client. */

const SEED = 5
const SECOND_MS = 1_000
let venue: SimulatedVenue
let reference: ReferencePrices
let startMs: number
const pricesUsd = new Map<string, number>()

// A new exchange per test, because exchanges limit connections per second and address.
beforeEach(async () => {
  startMs = systemClock.nowMs()
  pricesUsd.clear()
  const market = seededMarket({ seed: SEED, startMs })
  reference = new ReferencePrices({ market, seed: SEED })
  const external = new SimulatedSources(reference, systemClock)
  venue = await startSimulatedVenue({ market, external, clock: systemClock, port: 0 })
})

afterEach(() => venue.close())

function urlOf(exchange: Exchange): string {
  return `${venue.externalUrl.replace(/^http/, 'ws')}${exchange}`
}

/** @returns the distance from the nearest reference price of the test so far, however long it takes */
function awayBps(asset: string, quote: string, mid: number): number {
  const untilMs = systemClock.nowMs()
  let nearestBps = Number.POSITIVE_INFINITY
  for (let atMs = startMs; atMs <= untilMs; atMs += SECOND_MS) {
    const unitUsd = quote === 'USD' ? 1 : priceUsd(quote, atMs)
    nearestBps = Math.min(nearestBps, Math.abs((mid * unitUsd) / priceUsd(asset, atMs) - 1) * 1e4)
  }
  return nearestBps
}

function priceUsd(asset: string, atMs: number): number {
  const key = `${asset} ${atMs}`
  const usd = pricesUsd.get(key) ?? reference.priceUsd(asset, atMs) ?? Number.NaN
  pricesUsd.set(key, usd)
  return usd
}

describe('our adapters', () => {
  /** 4 at Coinbase, 8 at Kraken, 6 at each of the others. */
  const PRODUCTS = 30

  test('receive quotes of all exchanges, and every status is up', async () => {
    const events: MarketEvent[] = []
    const notices: SourceNotice[] = []
    const addresses = Object.fromEntries(exchanges.map((id) => [id, { urls: [urlOf(id)] }]))
    const context = {
      assets: () => ['BTC', 'ETH', 'PEPE'],
      onNotice: (notice: SourceNotice) => notices.push(notice),
    }
    const runtime = {
      scheduler: asyncScheduler,
      random: () => 0.5,
      connect: connectWebSocket,
      post: () => EMPTY,
      get: () => EMPTY,
      follow: () => EMPTY,
    }
    const received = () =>
      new Set(events.flatMap((one) => (one.kind === 'exchange-quote' ? keyOf(one) : [])))
    await new Promise<void>((resolve) => {
      const feed = externalFeed(addresses, context, runtime).subscribe((batch) => {
        events.push(...batch)
        if (received().size < PRODUCTS) return
        feed.unsubscribe()
        resolve()
      })
    })
    expect([...received()].filter((key) => key.includes('PEPE')).toSorted()).toEqual([
      'binance PEPE/USDT',
      'bybit PEPE/USDT',
      'coinbase PEPE/USD',
      'kraken PEPE/USD',
      'okx PEPE/USDT',
    ])
    for (const event of events) {
      if (event.kind === 'source-status')
        expect(event).toMatchObject({ state: event.reason === 'connecting' ? 'down' : 'up' })
      if (event.kind === 'exchange-quote')
        expect(awayBps(event.asset, event.quote, (event.bid + event.ask) / 2)).toBeLessThan(20)
    }
    expect(notices).toEqual([])
  })
})

function keyOf({ exchange, asset, quote }: MarketEvent & { readonly kind: 'exchange-quote' }) {
  return [`${exchange} ${asset}/${quote}`]
}

/** Shorter than the client's default, to keep the test short; it gives up after so many periods without a pong. */
const KEEP_ALIVE_MS = 500
const PONGS_MISSED_MAX = 60

const clients = {
  coinbase: () =>
    new ccxt.pro.coinbaseexchange({ ...settings, urls: { api: { ws: urlOf('coinbase') } } }),
  kraken: () =>
    new ccxt.pro.kraken({
      ...settings,
      urls: { api: { ws: { publicV2: `${urlOf('kraken')}/v2` } } },
    }),
  binance: () =>
    new ccxt.pro.binance({
      ...settings,
      urls: { api: { ws: { spot: `${urlOf('binance')}/ws` } } },
    }),
  okx: () => new ccxt.pro.okx({ ...settings, urls: { api: { ws: `${urlOf('okx')}/ws/v5` } } }),
  bybit: () =>
    new ccxt.pro.bybit({
      ...settings,
      urls: { api: { ws: { public: { spot: `${urlOf('bybit')}/v5/public/spot` } } } },
    }),
}
const settings = {
  newUpdates: true,
  streaming: { keepAlive: KEEP_ALIVE_MS, maxPingPongMisses: PONGS_MISSED_MAX },
}

describe.each(exchanges)('the public client ccxt 4.5.84 at %s', (exchange) => {
  const isUsd = exchange === 'coinbase' || exchange === 'kraken'
  const currency = isUsd ? 'USD' : 'USDT'
  const separator = { coinbase: '-', kraken: '/', binance: '', okx: '-', bybit: '' }[exchange]
  let client: ReturnType<(typeof clients)[typeof exchange]>

  beforeEach(async () => {
    client = clients[exchange]()
    // Otherwise the client refuses unencrypted URLs.
    await client.loadHttpProxyAgent()
    client.setMarkets(['BTC', 'ETH', 'NOPE'].map((base) => marketOf(base, currency, separator)))
  })

  afterEach(() => client.close())

  async function watch(asset: string) {
    const symbol = `${asset}/${currency}`
    if (exchange === 'coinbase') return client.watchTicker(symbol)
    return (await client.watchBidsAsks([symbol]))[symbol]
  }

  test('watches best bids and asks', async () => {
    for (const asset of ['BTC', 'ETH', 'BTC']) {
      const { bid = 0, ask = 0, bidVolume = 0, askVolume = 0 } = (await watch(asset)) ?? {}
      expect(bid).toBeGreaterThan(0)
      expect(ask).toBeGreaterThan(bid)
      expect(Math.min(bidVolume, askVolume)).toBeGreaterThan(0)
      expect(awayBps(asset, currency, (bid + ask) / 2)).toBeLessThan(20)
    }
  })

  test('receives pongs', async () => {
    await watch('BTC')
    const [socket] = Object.values(client.clients)
    const pongMs = () => Number(socket?.lastPong ?? 0)
    const firstMs = await poll(pongMs, 0)
    await poll(pongMs, firstMs)
  })

  test('receives the error of the exchange for an unknown symbol', async () => {
    if (exchange === 'binance' || exchange === 'kraken') {
      // The first exchange does not reply; the client does not match the reply of the second to its request.
      const both = await client.watchBidsAsks([`NOPE/${currency}`, `BTC/${currency}`])
      expect(Object.keys(both)).toEqual([`BTC/${currency}`])
    } else {
      await watch('BTC')
      await expect(watch('NOPE')).rejects.toThrow(
        /NOPE\S*( is not a valid product| doesn't exist|$)/,
      )
      expect((await watch('BTC'))?.bid).toBeGreaterThan(0)
    }
  })
})

/** @returns the first value above `beyond` */
async function poll(value: () => number, beyond: number): Promise<number> {
  await expect.poll(value).toBeGreaterThan(beyond)
  return value()
}

/** A market as the client would derive it from the exchange's list. */
function marketOf(base: string, quote: string, separator: string) {
  const id = `${base}${separator}${quote}`
  const names = { base, quote, baseId: base, quoteId: quote, lowercaseId: id.toLowerCase() }
  const kind = { type: 'spot', spot: true, active: true, info: { wsname: id } }
  return { id, symbol: `${base}/${quote}`, ...names, ...kind, precision: {}, limits: {} }
}

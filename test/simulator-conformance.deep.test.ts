import * as nktkas from '@nktkas/hyperliquid'
import ccxt from 'ccxt'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest'
import type { Clock } from '../src/domain/clock.ts'
import { seededBuilderDexes } from '../src/simulator/market/builder-dexes.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { addressOf } from '../src/simulator/venue/traders.ts'

/**
 * Public client libraries, as they are published, against the simulated venue: they must not notice.
 * One kills a connection under each of them.
 */

const HOUR_MS = 3_600_000
/** Limit for a hang. */
const EVENT_MS_MAX = 120_000
const BUILDER_COIN = 'xyz:XYZ100'
const USER = `0x${'ab'.repeat(20)}` as const
const DECIMAL = /^-?\d+\.\d+$/

/** Real time that began at a busy hour, so that the model trades often enough for a short test. */
const CLOCK_START_MS = Date.UTC(2026, 9, 7, 15, 7)
const bootMs = performance.now()

const movingClock: Clock = {
  nowMs: () => CLOCK_START_MS + performance.now() - bootMs,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs)
    return () => clearInterval(timer)
  },
}

function startVenue(): Promise<SimulatedVenue> {
  return startSimulatedVenue({
    market: seededMarket({ seed: 11, startMs: CLOCK_START_MS }),
    builders: seededBuilderDexes({ seed: 11, startMs: CLOCK_START_MS }),
    clock: movingClock,
    port: 0,
    cadences: {
      l2BookMs: 300,
      allMidsMs: 300,
      allDexsAssetCtxsMs: 500,
      activeAssetCtxMs: 200,
      fastAssetCtxsMs: 200,
      fastL2BookMs: 100,
    },
  })
}

/** Where clients append `/info` themselves. */
function baseUrl({ httpUrl }: SimulatedVenue): string {
  return httpUrl.replace(/\/info$/, '')
}

function infoClient(venue: SimulatedVenue): nktkas.InfoClient {
  return new nktkas.InfoClient({ transport: new nktkas.HttpTransport({ apiUrl: baseUrl(venue) }) })
}

/** The events that a client delivered, by what they were subscribed as. */
class Inbox {
  readonly #events = new Map<string, unknown[]>()
  readonly #waiting = new Map<string, () => void>()

  readonly listen =
    (name: string) =>
    (event: unknown): void => {
      this.#events.set(name, [...(this.#events.get(name) ?? []), event])
      this.#waiting.get(name)?.()
    }

  count(name: string): number {
    return this.#events.get(name)?.length ?? 0
  }

  at(name: string, index: number): unknown {
    return this.#events.get(name)?.[index]
  }

  /** The lengths of those events that are lists, from an index on. */
  lengths(name: string, from: number): readonly number[] {
    return (this.#events.get(name) ?? []).slice(from).map((list) => (list as unknown[]).length)
  }

  /** Waits until there are more events than that. */
  async more(name: string, than: number): Promise<void> {
    while (this.count(name) <= than) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no ${name} event`)), EVENT_MS_MAX)
        this.#waiting.set(name, () => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }
}

type Channels = {
  readonly names: readonly string[]
  /** Subscribes to all of them; `failed` receives each subscription that the client gave up. */
  subscribe(inbox: Inbox, failed: (name: string) => void): Promise<void>
  close(): Promise<void>
}

/** More than the client's three attempts, and without its growing pauses. */
const reconnect = { maxRetries: 20, reconnectionDelay: 100 }

const channelNames = [
  'trades',
  'l2Book',
  'candle',
  'activeAssetCtx',
  'bbo',
  'allMids',
  'allDexsAssetCtxs',
  'assetCtxs',
  'trades of a builder',
  'allMids of a builder',
  'fastAssetCtxs',
  'fast l2Book',
] as const

function openChannels(url: string): Channels {
  const transport = new nktkas.WebSocketTransport({ url, reconnect })
  const client = new nktkas.SubscriptionClient({ transport })
  return {
    names: channelNames,
    async subscribe({ listen }, failed) {
      const on = (name: string) => ({ onError: () => failed(name) })
      await Promise.all([
        client.trades({ coin: 'BTC' }, listen('trades'), on('trades')),
        client.l2Book({ coin: 'BTC' }, listen('l2Book'), on('l2Book')),
        client.candle({ coin: 'BTC', interval: '15m' }, listen('candle'), on('candle')),
        client.activeAssetCtx({ coin: 'BTC' }, listen('activeAssetCtx'), on('activeAssetCtx')),
        client.bbo({ coin: 'BTC' }, listen('bbo'), on('bbo')),
        client.allMids(listen('allMids'), on('allMids')),
        client.allDexsAssetCtxs(listen('allDexsAssetCtxs'), on('allDexsAssetCtxs')),
        client.assetCtxs({ dex: 'xyz' }, listen('assetCtxs'), on('assetCtxs')),
        client.trades({ coin: BUILDER_COIN }, listen('trades of a builder'), on('builder')),
        client.allMids({ dex: 'xyz' }, listen('allMids of a builder'), on('builder')),
        client.fastAssetCtxs(listen('fastAssetCtxs'), on('fastAssetCtxs')),
        client.l2Book({ coin: 'ETH', fast: true }, listen('fast l2Book'), on('fast l2Book')),
      ])
    },
    close: async () => transport.close(),
  }
}

describe('the public client @nktkas/hyperliquid', () => {
  let venue: SimulatedVenue

  beforeAll(async () => {
    venue = await startVenue()
  })

  afterAll(async () => {
    await venue.close()
  })

  test('reads the universe of every dex and its contexts', async () => {
    const info = infoClient(venue)
    const meta = await info.meta()
    const [metaAgain, contexts] = await info.metaAndAssetCtxs()
    expect(metaAgain).toEqual(meta)
    expect(contexts).toHaveLength(meta.universe.length)
    expect(meta.universe.filter(({ isDelisted }) => !isDelisted).length).toBeGreaterThanOrEqual(180)
    const [main, ...dexes] = await info.perpDexs()
    expect(main).toBeNull()
    const names = dexes.map((dex) => dex?.name ?? '')
    expect(names.length).toBeGreaterThanOrEqual(2)
    const metas = await Promise.all(names.map((dex) => info.meta({ dex })))
    expect(await info.allPerpMetas()).toEqual([meta, ...metas])
    for (const dex of names) {
      const [{ universe }, rows] = await info.metaAndAssetCtxs({ dex })
      expect(rows).toHaveLength(universe.length)
      expect(Number((await info.perpDexLimits({ dex }))?.totalOiCap)).toBeGreaterThan(0)
      expect((await info.perpDexStatus({ dex })).totalNetDeposit).toMatch(DECIMAL)
    }
    const { universe } = meta
    expect(universe.map(({ name }) => name)).toEqual(
      expect.arrayContaining(await info.perpsAtOpenInterestCap()),
    )
    const table = await info.marginTable({ id: universe[0]?.marginTableId ?? 0 })
    expect(table.marginTiers[0]?.maxLeverage).toBe(universe[0]?.maxLeverage)
  })

  test('reads prices, books, candles, funding and trades, of a builder too', async () => {
    const info = infoClient(venue)
    const endTime = Math.floor(movingClock.nowMs())
    for (const coin of ['BTC', BUILDER_COIN]) {
      const candles = await info.candleSnapshot({
        coin,
        interval: '15m',
        startTime: endTime - 100 * HOUR_MS,
        endTime,
      })
      expect(candles.length).toBeGreaterThanOrEqual(400)
      for (const { o, v } of candles) expect([o, v].every((text) => DECIMAL.test(text))).toBe(true)
      const funding = await info.fundingHistory({ coin, startTime: endTime - 48 * HOUR_MS })
      expect(funding).toHaveLength(48)
      const book = await info.l2Book({ coin })
      expect(book?.levels.map((side) => side.length)).toEqual([20, 20])
      expect(await info.recentTrades({ coin })).toHaveLength(10)
    }
    const { BTC } = await info.allMids()
    expect(Number(BTC)).toBeGreaterThan(0)
    expect(Object.keys(await info.allMids({ dex: 'xyz' }))).toContain(BUILDER_COIN)
    const [name, venues] = (await info.predictedFundings())[0] ?? []
    expect(name).toBe('0G')
    expect(venues?.map(([exchange]) => exchange)).toEqual(['BinPerp', 'HlPerp', 'BybitPerp'])
  })

  test('reads spot, an account and the clock', async () => {
    const info = infoClient(venue)
    const [spot, contexts] = await info.spotMetaAndAssetCtxs()
    expect(await info.spotMeta()).toEqual(spot)
    expect(spot.tokens[0]?.name).toBe('USDC')
    expect(contexts).toHaveLength(spot.universe.length)
    const account = await info.clearinghouseState({ user: USER })
    expect(account.assetPositions).toEqual([])
    expect((await info.exchangeStatus()).time).toBeLessThanOrEqual(movingClock.nowMs())
  })

  test('reads the positions of accounts that its trades name', async () => {
    const info = infoClient(venue)
    const traded = await info.recentTrades({ coin: 'BTC' })
    const users = new Set(traded.flatMap((trade) => trade.users))
    const accounts = await Promise.all(
      Array.from(users, (user) => info.clearinghouseState({ user })),
    )
    const rows = accounts.flatMap(({ assetPositions }) => assetPositions)
    expect(rows.length).toBeGreaterThan(0)
    for (const { type, position } of rows) {
      expect(type).toBe('oneWay')
      const { szi, entryPx, positionValue, liquidationPx, marginUsed, leverage } = position
      for (const text of [szi, entryPx, positionValue, marginUsed, liquidationPx ?? '0.0'])
        expect(text).toMatch(DECIMAL)
      expect(leverage.value).toBeLessThanOrEqual(position.maxLeverage)
      if (leverage.type === 'isolated') expect(leverage.rawUsd).toMatch(DECIMAL)
      expect(Object.values(position.cumFunding).join()).toMatch(/^-?[\d.]+,-?[\d.]+,-?[\d.]+$/)
    }
    for (const { marginSummary, crossMarginSummary, withdrawable } of accounts)
      for (const text of [
        ...Object.values(marginSummary),
        ...Object.values(crossMarginSummary),
        withdrawable,
      ])
        expect(text).toMatch(DECIMAL)
  })

  test('is refused a dex and a coin that do not exist', async () => {
    const info = infoClient(venue)
    await expect(info.meta({ dex: 'nope' })).rejects.toThrow('500')
    const startTime = CLOCK_START_MS - HOUR_MS
    await expect(info.fundingHistory({ coin: 'NOPE', startTime })).rejects.toThrow('500')
    expect(await info.l2Book({ coin: 'NOPE' })).toBeNull()
  })

  test('gets events on every channel, and again after its connection was killed', async () => {
    const channels = openChannels(venue.wsUrl)
    onTestFinished(() => channels.close())
    const inbox = new Inbox()
    const failed: string[] = []
    await channels.subscribe(inbox, (name) => failed.push(name))
    await Promise.all(channels.names.map((name) => inbox.more(name, 0)))
    expect(inbox.at('trades', 0), 'the replay comes first').toHaveLength(30)

    venue.dropConnections()
    const before = channels.names.map((name) => [name, inbox.count(name)] as const)
    await Promise.all(before.map(([name, count]) => inbox.more(name, count)))

    const tradesBefore = new Map(before).get('trades') ?? 0
    // Frames that were sent before the end of the connection come before it.
    await expect
      .poll(() => inbox.lengths('trades', tradesBefore), {
        message: 'and again after the reconnect',
      })
      .toContain(30)
    expect(failed, 'no subscription failed').toEqual([])
  })

  test('reads over the websocket what it reads over HTTP', async () => {
    const transport = new nktkas.WebSocketTransport({ url: venue.wsUrl })
    onTestFinished(() => transport.close())
    const info = new nktkas.InfoClient({ transport })
    expect(await info.meta()).toEqual(await infoClient(venue).meta())
    expect(await info.perpDexs()).toEqual(await infoClient(venue).perpDexs())
    expect(await info.l2Book({ coin: 'NOPE' })).toBeNull()
  })
})

describe('compressed and fast channels of @nktkas/hyperliquid', () => {
  let venue: SimulatedVenue
  let transport: nktkas.WebSocketTransport

  beforeEach(async () => {
    venue = await startVenue()
    transport = new nktkas.WebSocketTransport({ url: venue.wsUrl, reconnect })
  })

  afterEach(async () => {
    transport.close()
    await venue.close()
  })

  test('inflates fastAssetCtxs: everything first, then what changed', async () => {
    const client = new nktkas.SubscriptionClient({ transport })
    const inbox = new Inbox()
    await client.fastAssetCtxs(inbox.listen('marks'))
    await inbox.more('marks', 1)
    const [all, changed] = [0, 1].map((index) => Object.keys(inbox.at('marks', index) as object))
    expect(all).toEqual(expect.arrayContaining(['BTC', 'kPEPE', BUILDER_COIN, '@107', '#10']))
    expect(changed?.length).toBeLessThan(all?.length ?? 0)
  })

  test('gets fast books of five levels beside those of twenty', async () => {
    const client = new nktkas.SubscriptionClient({ transport })
    const inbox = new Inbox()
    await client.l2Book({ coin: 'BTC', fast: true }, inbox.listen('fast'))
    await inbox.more('fast', 2)
    expect(inbox.at('fast', 2)).toMatchObject({ coin: 'BTC', fast: true })
    const { levels } = inbox.at('fast', 2) as { levels: object[][] }
    expect(levels.map((side) => side.length)).toEqual([5, 5])
  })
})

describe('the public client ccxt 4.5.84', () => {
  const symbol = 'BTC/USDC:USDC'
  const builderSymbol = 'XYZ-XYZ100/USDC:USDC'
  let venue: SimulatedVenue
  let exchange: InstanceType<typeof ccxt.pro.hyperliquid>

  beforeAll(async () => {
    venue = await startVenue()
    const url = baseUrl(venue)
    exchange = new ccxt.pro.hyperliquid({
      // Its own brake would make a minute of this test.
      enableRateLimit: false,
      timeout: EVENT_MS_MAX,
      urls: { api: { public: url, private: url, ws: { public: venue.wsUrl } } },
    })
    // Without it the client refuses any URL that is not encrypted.
    await exchange.loadHttpProxyAgent()
    await exchange.loadMarkets()
  })

  afterAll(async () => {
    await exchange.close()
    await venue.close()
  })

  test('finds the perpetuals of every dex, in their collateral', () => {
    const symbols = Object.keys(exchange.markets ?? {})
    expect(symbols.length).toBeGreaterThan(200)
    expect(symbols).toEqual(
      expect.arrayContaining([symbol, builderSymbol, 'FLX-TSLA/USDH:USDH', 'HYNA-BTC/USDE:USDE']),
    )
    expect(exchange.market(builderSymbol)).toMatchObject({ baseName: BUILDER_COIN, swap: true })
  })

  test('reads books, candles, tickers, funding and the clock', async () => {
    expect((await exchange.fetchStatus()).status).toBe('ok')
    expect(await exchange.fetchTime()).toBeLessThanOrEqual(movingClock.nowMs())
    for (const each of [symbol, builderSymbol]) {
      const { bids, asks } = await exchange.fetchOrderBook(each)
      expect([bids.length, asks.length]).toEqual([20, 20])
      expect(bids[0]?.[0]).toBeLessThan(asks[0]?.[0] ?? 0)
      const endMs = Math.floor(movingClock.nowMs())
      const candles = await exchange.fetchOHLCV(each, '15m', endMs - 10 * HOUR_MS, 41, {
        until: endMs,
      })
      expect(candles.length).toBeGreaterThanOrEqual(40)
    }
    const tickers = await exchange.fetchTickers([symbol, builderSymbol])
    expect(Object.keys(tickers)).toEqual(expect.arrayContaining([symbol, builderSymbol]))
    const { [symbol]: rate } = await exchange.fetchFundingRates([symbol])
    expect(rate?.fundingRate).toBeTypeOf('number')
    const history = await exchange.fetchFundingRateHistory(symbol, CLOCK_START_MS - 24 * HOUR_MS)
    expect(history.length).toBeGreaterThanOrEqual(24)
    expect((await exchange.fetchOpenInterest(symbol)).openInterestAmount).toBeGreaterThan(0)
    expect(await exchange.fetchPositions([], { user: USER })).toEqual([])
    const positions = await exchange.fetchPositions(undefined, { user: addressOf(0) })
    expect(positions.length, 'a large account holds many coins').toBeGreaterThan(10)
    for (const { side, contracts, leverage, entryPrice } of positions) {
      expect(['long', 'short']).toContain(side)
      expect([contracts, leverage, entryPrice].every((value) => Number(value) > 0)).toBe(true)
    }
  })

  test('watches trades, books, candles and tickers, and again after its connection was killed', async () => {
    const watchAll = async (): Promise<void> => {
      expect((await exchange.watchTrades(symbol)).length).toBeGreaterThan(0)
      expect((await exchange.watchOrderBook(symbol)).bids).toHaveLength(20)
      expect((await exchange.watchOHLCV(symbol, '15m')).length).toBeGreaterThan(0)
      expect((await exchange.watchTicker(symbol)).last).toBeGreaterThan(0)
      expect((await exchange.watchTrades(builderSymbol)).length).toBeGreaterThan(0)
    }
    await watchAll()
    // Frames that have arrived before the connection ends are trades.
    const watching = async () => {
      for (;;) await exchange.watchTrades(symbol)
    }
    const watched = watching()
    venue.dropConnections()
    await expect(watched).rejects.toThrow('1006')
    await watchAll()
  })
})

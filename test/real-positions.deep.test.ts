import { of } from 'rxjs'
import { beforeAll, describe, expect, test } from 'vitest'
import { CandleLadder } from '../src/compute/candles/candle-ladder.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import { heatmapOf } from '../src/compute/liquidation/heatmap.ts'
import { LiquidationExposure } from '../src/compute/liquidation/liquidation-exposure.ts'
import { newCoin } from '../src/compute/testing/new-market.ts'
import type { AccountPositionEvent, CoinEvent, MarketEvent } from '../src/domain/event.ts'
import { Accounts } from '../src/simulator/market/accounts.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { traderAt } from '../src/simulator/venue/traders.ts'
import type { FeedOptions } from '../src/streams/hyperliquid/backfill/feed-parts.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../src/streams/hyperliquid/backfill/weight-budget.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import type { Arrival } from '../src/streams/hyperliquid/ingest/arrival.ts'
import type { FeedEvent } from '../src/streams/hyperliquid/ingest/feed-event.ts'
import { Ingest } from '../src/streams/hyperliquid/ingest/ingest.ts'
import type { Post } from '../src/streams/runtime.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

/** The feed at the simulated venue, in virtual time: positions of single accounts and their request cost. */

const START_MS = Date.UTC(2026, 0, 1, 12)
const MINUTE_MS = 60_000
const MINUTES = 22
const SOCKETS = 2
const COINS = 12
const REPLY_MS = 50
const AGE_MS_MIN = 200
const AGE_MS_MAX = 900

type Asked = { readonly atMs: number; readonly type: string }
type AccountWire = {
  readonly assetPositions: readonly {
    readonly position: {
      readonly coin: string
      readonly szi: string
      readonly entryPx: string
      readonly liquidationPx: string | null
      readonly leverage: { readonly value: number }
    }
  }[]
}

describe('the positions of real accounts', () => {
  const events: MarketEvent[] = []
  const notices: FeedEvent[] = []
  const arrivals: { readonly arrival: Arrival; readonly atMs: number }[] = []
  const asked: Asked[] = []
  const virtual = new VirtualVenue(fewCoins(), START_MS)
  const positions = () => events.filter((event) => event.kind === 'account-position')

  beforeAll(() => {
    const runtime = virtual.runtime()
    play(virtual, {
      onEvent: (event) => events.push(event),
      onFeedEvent: (notice) => notices.push(notice),
      onArrival: (arrival, atMs) => arrivals.push({ arrival, atMs }),
      post: (url, body) => {
        asked.push({ atMs: virtual.nowMs, type: typeOf(body) })
        return runtime.post(url, body)
      },
    })
    virtual.runUntil(START_MS + MINUTES * MINUTE_MS)
  })

  test('equal the venue’s positions of every requested account', () => {
    const told = held(positions())
    expect(told.size, 'accounts').toBeGreaterThan(60)
    let compared = 0
    for (const { arrival } of lastOfEach(arrivals)) {
      const { assetPositions } = JSON.parse(arrival.body) as AccountWire
      const rows = assetPositions.map(({ position }) => [
        position.coin,
        Number(position.szi),
        Number(position.entryPx),
        position.leverage.value,
        position.liquidationPx === null ? null : Number(position.liquidationPx),
      ])
      const found = [...(told.get(arrival.account)?.values() ?? [])].map((event) => [
        event.coin,
        event.sizeBase,
        event.entryPrice,
        event.leverage,
        event.liquidationPrice,
      ])
      expect(new Set(found.map(String)), arrival.account).toEqual(new Set(rows.map(String)))
      compared += rows.length
    }
    expect(compared).toBeGreaterThan(200)
  })

  test('equal the model’s positions at that instant', () => {
    // The venue's figures are 0.2 to 0.9 s old; an account moves at whole minutes or by a liquidation.
    const [early, late] = [0, 1].map(() => new Accounts(fewCoins(), START_MS - AGE_MS_MIN))
    for (const event of positions()) {
      const account = traderAt(event.account) ?? -1
      const answeredMs = event.timeReceivedMs + REPLY_MS
      const held = [
        ...(early?.account(account, answeredMs - AGE_MS_MAX).positions ?? []),
        ...(late?.account(account, answeredMs - AGE_MS_MIN).positions ?? []),
      ].filter(({ instrument }) => instrument.coin === event.coin)
      const sizes = held.length === 2 ? [] : [0]
      expect([...sizes, ...held.map(({ sizeBase }) => sizeBase)]).toContain(event.sizeBase)
      const same = held.find(({ sizeBase }) => sizeBase === event.sizeBase)
      if (same === undefined) continue
      expect(event.leverage).toBe(same.leverage)
      // A liquidation price that depends on the marks of other coins moves with them.
      if (same.isIsolated)
        expect(event.liquidationPrice ?? 0).toBeCloseTo(same.liquidationPrice ?? 0, 9)
      expect(event.liquidationPrice === null).toBe(same.liquidationPrice === null)
      expect(Math.abs(event.entryPrice / same.entryPrice - 1)).toBeLessThan(1e-3)
    }
  })

  test('cover most of the open interest of these coins', () => {
    const contexts = new Map(
      events.flatMap((event) => (event.kind === 'context' ? [[event.coin, event]] : [])),
    )
    const sums = new Map<string, number>()
    for (const account of held(positions()).values())
      for (const { coin, sizeBase } of account.values())
        sums.set(coin, (sums.get(coin) ?? 0) + Math.abs(sizeBase))
    for (const coin of ['BTC', 'ETH', 'SOL']) {
      const both = 2 * (contexts.get(coin)?.openInterestBase ?? Number.NaN)
      expect((sums.get(coin) ?? 0) / both, coin).toBeGreaterThan(0.7)
      expect((sums.get(coin) ?? 0) / both, coin).toBeLessThan(1.05)
    }
  })

  test.each(['BTC', 'ETH', 'SOL'])(
    "are in the map of %s at the venue's liquidation prices, each side within the open interest",
    (name) => {
      const { exposure, map } = mapOf(name, events)
      const { markPrice, openInterestBase } = exposure
      expect(map.long.beyond.positions + map.short.beyond.positions, 'some').toBeGreaterThan(0)
      const open = (side: 1 | -1) =>
        [...held(positions()).values()]
          .flatMap((account) => [...account.values()])
          .filter(({ coin, sizeBase }) => coin === name && sizeBase * side > 0)
          .filter(({ liquidationPrice }) => (liquidationPrice ?? 0) * side < markPrice * side)
      for (const [side, found] of [
        [1, map.long],
        [-1, map.short],
      ] as const) {
        const reported = open(side)
        const sum = (of: readonly AccountPositionEvent[]) =>
          of.reduce((total, { sizeBase }) => total + Math.abs(sizeBase), 0)
        const scale = Math.min(1, openInterestBase / sum(reported))
        const share = (usd: number) => usd / (openInterestBase * markPrice)
        const expected = (isOne: (multiple: number | null) => boolean) =>
          (scale / openInterestBase) *
          sum(
            reported.filter(({ liquidationPrice }) =>
              isOne(liquidationPrice === null ? null : liquidationPrice / markPrice),
            ),
          )
        const isBeyond = (multiple: number | null) =>
          multiple !== null && (side > 0 ? multiple < 0.45 : multiple > 2.2)
        expect(share(found.withoutPriceUsd)).toBeCloseTo(
          expected((one) => one === null),
          9,
        )
        expect(share(found.beyond.observedUsd)).toBeCloseTo(expected(isBeyond), 9)
        expect(share(found.observedUsd)).toBeCloseTo(
          expected((one) => one !== null && !isBeyond(one)),
          9,
        )
        const whole = found.notionalUsd + found.beyond.notionalUsd + found.withoutPriceUsd
        expect(share(whole), 'the side is the open interest').toBeCloseTo(1, 9)
      }
    },
  )

  test('have the time of their request, by both clocks', () => {
    for (const { timeReceivedMs, timeExchangeMs } of positions()) {
      expect(asked.some(({ atMs, type }) => atMs === timeReceivedMs && isAccount(type))).toBe(true)
      expect(Math.abs(timeReceivedMs - timeExchangeMs)).toBeLessThan(1_000)
    }
  })

  test('some are gone at the next request', () => {
    const gone = positions().filter(({ sizeBase }) => sizeBase === 0)
    expect(gone.length).toBeGreaterThan(0)
    for (const { account, coin, timeReceivedMs } of gone) {
      const before = positions().filter(
        (event) => event.account === account && event.coin === coin && event.sizeBase !== 0,
      )
      expect(before.some((event) => event.timeReceivedMs < timeReceivedMs)).toBe(true)
    }
  })

  test('wait until every history is loaded, and cost no more than their share', () => {
    const lastHistoryMs = Math.max(
      ...events.map((event) => (event.kind === 'history' ? event.timeReceivedMs : 0)),
    )
    const times = asked.filter(({ type }) => isAccount(type)).map(({ atMs }) => atMs)
    expect(times[0]).toBeGreaterThan(lastHistoryMs)
    for (const fromMs of times) {
      const minute = times.filter((atMs) => atMs >= fromMs && atMs < fromMs + MINUTE_MS)
      expect(2 * minute.length).toBeLessThanOrEqual(0.06 * WEIGHT_PER_MINUTE_DEFAULT + 2)
    }
    expect(times.length, 'and use it').toBeGreaterThan(28 * (MINUTES - 4))
    expect(notices.filter(({ kind }) => kind === 'paused' || kind === 'request-failed')).toEqual([])
  })

  test('are the same from a recording', () => {
    const ingest = new Ingest({ sockets: SOCKETS })
    const replayed = arrivals.flatMap(({ arrival, atMs }) => ingest.take(arrival, atMs))
    expect(replayed.filter(({ kind }) => kind === 'account-position')).toEqual(positions())
  })

  test('every trade names both accounts', () => {
    const trades = events.filter((event) => event.kind === 'trade')
    expect(trades.length).toBeGreaterThan(1_000)
    for (const { buyer, seller } of trades)
      expect([buyer, seller].join()).toMatch(/^0x[0-9a-f]{40},0x[0-9a-f]{40}$/)
  })
})

test('a venue without positions is asked for them at growing intervals, and for history as before', () => {
  const virtual = new VirtualVenue(fewCoins(), START_MS)
  const runtime = virtual.runtime()
  const asked: number[] = []
  const reasons = new Set<string>()
  const histories = new Set<string>()
  play(virtual, {
    onEvent: (event) => {
      if (event.kind === 'history') histories.add(event.coin)
    },
    onFeedEvent: (notice) => {
      if (notice.kind === 'request-failed') reasons.add(notice.reason)
    },
    post: (url, body) => {
      if (!isAccount(typeOf(body))) return runtime.post(url, body)
      asked.push(virtual.nowMs)
      return of({ status: 500, body: 'null' })
    },
  })
  virtual.runUntil(START_MS + 8 * MINUTE_MS)
  expect(histories.size).toBe(COINS - 1)
  expect(asked.length).toBeGreaterThan(3)
  expect(asked.length).toBeLessThan(12)
  expect([...reasons], 'and no address is reported').toEqual([
    'request_refused: clearinghouseState: HTTP 500',
  ])
})

/** A feed whose engine needs the history of every coin, once. */
function play(
  virtual: VirtualVenue,
  hooks: Pick<FeedOptions, 'onFeedEvent' | 'onArrival'> & {
    readonly onEvent: (event: MarketEvent) => void
    readonly post: Post
  },
): void {
  const { onEvent, post, ...listeners } = hooks
  const known = new Set<string>()
  hyperliquidFeed(
    {
      wsUrl: 'ws://venue',
      infoUrl: 'http://venue',
      weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
      sockets: SOCKETS,
      historyOf: (coin, nowMs) =>
        known.has(coin) ? [] : [{ timeframe: '15m', fromMs: nowMs - 1_000 * 15 * MINUTE_MS }],
      ...listeners,
    },
    { ...virtual.runtime(), post },
  ).subscribe((batch) => {
    for (const event of batch) {
      if (event.kind === 'history') known.add(event.coin)
      onEvent(event)
    }
  })
}

/** The engine's map of a coin at the end of these events. */
function mapOf(name: string, events: readonly MarketEvent[]) {
  const listing = events
    .flatMap((event) => (event.kind === 'universe' ? event.listings : []))
    .find(({ coin }) => coin === name)
  if (listing === undefined) throw new Error(`${name} is listed`)
  const coin = newCoin(listing, new CandleLadder(new PulsePool(3)))
  for (const event of events)
    if ('coin' in event && event.coin === name) coin.apply(event as CoinEvent)
  const exposure = LiquidationExposure.of(coin)
  if (exposure === null) throw new Error(`the feed has read ${name}`)
  return { exposure, map: heatmapOf(exposure, coin.midPrice) }
}

/** Positions at the end, by account and coin. */
function held(
  told: readonly AccountPositionEvent[],
): Map<string, Map<string, AccountPositionEvent>> {
  const accounts = new Map<string, Map<string, AccountPositionEvent>>()
  for (const event of told) {
    const coins = accounts.get(event.account) ?? new Map<string, AccountPositionEvent>()
    accounts.set(event.account, coins)
    if (event.sizeBase === 0) coins.delete(event.coin)
    else coins.set(event.coin, event)
  }
  return accounts
}

type AccountArrival = { readonly arrival: Extract<Arrival, { kind: 'account' }> }

function lastOfEach(arrivals: readonly { readonly arrival: Arrival }[]): readonly AccountArrival[] {
  const last = new Map<string, AccountArrival>()
  for (const { arrival } of arrivals)
    if (arrival.kind === 'account') last.set(arrival.account, { arrival })
  return [...last.values()]
}

function typeOf(body: unknown): string {
  return (body as { readonly type: string }).type
}

function isAccount(type: string): boolean {
  return type === 'clearinghouseState'
}

function fewCoins(): CoinMarkets {
  const model = modelCoins(7, START_MS)
  return new CoinMarkets({
    clockShiftMs: 0,
    coins: catalog.slice(0, COINS).map((row) => model.ofCatalog(row)),
    newCoin: model.ofListing,
  })
}

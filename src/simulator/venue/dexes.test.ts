import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { seededBuilderDexes } from '../market/builder-dexes.ts'
import { catalog } from '../market/catalog.ts'
import { CoinMarkets } from '../market/coin-markets.ts'
import { modelCoins } from '../market/seeded-market.ts'
import { venueCadences, venueLimits } from './limits.ts'
import { inflated, ScriptedClient } from './testing/scripted-client.ts'
import { Venue } from './venue.ts'

const startMs = Date.UTC(2026, 9, 7, 15, 7, 33, 211)
const HOUR_MS = 3_600_000

type Meta = {
  universe: { name: string; maxLeverage: number; isDelisted?: true; growthMode?: string }[]
  marginTables: [number, object][]
  collateralToken: number
}
type ContextWire = {
  oraclePx: string
  premium: string | null
  impactPxs: [string, string] | null
}
type DexWire = {
  name: string
  assetToFundingMultiplier: [string, string][]
  assetToStreamingOiCap: [string, string][]
  assetToFundingClamp: [string, string][]
}
type Limits = { totalOiCap: string; coinToOiCap: [string, string][] }

/** A venue with six coins on the main dex. */
function openVenue(hasBuilders = true): { venue: Venue; clock: ManualClock } {
  const clock = new ManualClock(startMs)
  const model = modelCoins(5, startMs)
  const market = new CoinMarkets({
    clockShiftMs: 0,
    coins: catalog.slice(0, 6).map(model.ofCatalog),
    newCoin: model.ofListing,
  })
  const venue = new Venue({
    market,
    builders: hasBuilders ? seededBuilderDexes({ seed: 5, startMs }) : [],
    clock,
    limits: venueLimits,
    cadences: venueCadences,
  })
  return { venue, clock }
}

let calls = 0

function ask<Reply>(venue: Venue, body: object): Reply {
  const answer = venue.info(`caller ${calls++}`, JSON.stringify(body))
  if (answer?.status !== 200) throw new Error(`HTTP ${answer?.status}: ${answer?.body}`)
  return JSON.parse(answer.body)
}

function namesOf({ universe }: Meta): string[] {
  return universe.map(({ name }) => name)
}

describe('the dexes of builders', () => {
  let venue: Venue
  let clock: ManualClock

  beforeEach(() => {
    ;({ venue, clock } = openVenue())
  })

  const metaOf = (dex: string): Meta => ask(venue, { type: 'meta', dex })

  test('are listed after a null that stands for the main one', () => {
    const [main, ...dexes] = ask<(DexWire | null)[]>(venue, { type: 'perpDexs' })
    expect(main).toBeNull()
    expect(dexes.map((dex) => dex?.name)).toEqual(['xyz', 'flx', 'hyna'])
    for (const dex of dexes) {
      const coins = namesOf(metaOf(dex?.name ?? ''))
      expect(dex?.assetToFundingMultiplier.map(([coin]) => coin)).toEqual(coins)
      expect(dex?.assetToStreamingOiCap.map(([coin]) => coin)).toEqual(coins)
      expect(dex?.assetToFundingClamp, 'the default for all').toEqual([])
    }
  })

  test('have coins with full names, some of which other dexes have too', () => {
    const names = ['', 'xyz', 'flx', 'hyna'].map((dex) => namesOf(metaOf(dex)))
    const bare = names.map((coins) => coins.map((coin) => coin.replace(/^.*:/, '')))
    expect(names[1]).toContain('xyz:XYZ100')
    expect(bare[1]).toContain('TSLA')
    expect(bare[2]).toContain('TSLA')
    expect(bare[3]).toContain('BTC')
    expect(bare[0]).toContain('BTC')
    for (const coin of names.slice(1).flat()) expect(coin).toMatch(/^[a-z]{1,6}:[A-Z0-9]+$/)
  })

  test('have metadata of their own: collateral, growth mode, margin tables, delisted coins', () => {
    expect(ask(venue, { type: 'allPerpMetas' })).toEqual(
      ['', 'xyz', 'flx', 'hyna'].map((dex) => metaOf(dex)),
    )
    expect(['', 'xyz', 'flx', 'hyna'].map((dex) => metaOf(dex).collateralToken)).toEqual([
      0, 0, 6, 5,
    ])
    expect(metaOf('xyz').universe[0]).toEqual({
      szDecimals: 4,
      name: 'xyz:XYZ100',
      maxLeverage: 30,
      marginTableId: 30,
      growthMode: 'enabled',
      lastGrowthModeChangeTime: '2025-11-23T17:37:10.033211662',
    })
    expect(metaOf('flx').universe[0]).toMatchObject({ onlyIsolated: true, marginMode: 'noCross' })
    expect(metaOf('xyz').marginTables.map(([id]) => id)).toEqual([50])
    expect(metaOf('flx').universe.find(({ isDelisted }) => isDelisted)?.name).toBe('flx:SILVER')
    const { tokens } = ask<{ tokens: { name: string }[] }>(venue, { type: 'spotMeta' })
    expect([0, 6, 5].map((index) => tokens[index]?.name)).toEqual(['USDC', 'USDH', 'USDE'])
  })

  test('make their premium from the middle of the impact prices', () => {
    for (const dex of ['xyz', 'flx', 'hyna']) {
      const [meta, contexts] = ask<[Meta, ContextWire[]]>(venue, { type: 'metaAndAssetCtxs', dex })
      expect(contexts).toHaveLength(meta.universe.length)
      for (const { oraclePx, premium, impactPxs } of contexts) {
        if (premium === null || impactPxs === null) continue
        const [bid, ask] = impactPxs
        const middle = 0.5 * (Number(bid) + Number(ask))
        expect(Number(premium)).toBeCloseTo(middle / Number(oraclePx) - 1, 9)
        expect(Number(premium)).not.toBe(0)
      }
    }
  })

  test('have mids, books, trades, candles and funding by full name', () => {
    const mids = ask<Record<string, string>>(venue, { type: 'allMids', dex: 'xyz' })
    expect(Object.keys(mids)).toEqual(namesOf(metaOf('xyz')))
    const coin = 'xyz:XYZ100'
    expect(ask<{ levels: object[][] }>(venue, { type: 'l2Book', coin }).levels[0]).toHaveLength(20)
    expect(ask<object[]>(venue, { type: 'recentTrades', coin })).toHaveLength(10)
    const startTime = startMs - 24 * HOUR_MS
    const req = { coin, interval: '1h', startTime, endTime: startMs }
    expect(ask<object[]>(venue, { type: 'candleSnapshot', req })).toHaveLength(25)
    expect(ask<object[]>(venue, { type: 'fundingHistory', coin, startTime })).toHaveLength(24)
  })

  test('have limits and deposits, of which the main dex has only deposits', () => {
    const limits = ask<Limits>(venue, { type: 'perpDexLimits', dex: 'flx' })
    const sum = limits.coinToOiCap.reduce((total, [, cap]) => total + Number(cap), 0)
    expect(Number(limits.totalOiCap)).toBe(sum)
    expect(ask(venue, { type: 'perpDexLimits', dex: '' })).toBeNull()
    for (const dex of ['', 'flx']) {
      const { totalNetDeposit } = ask<{ totalNetDeposit: string }>(venue, {
        type: 'perpDexStatus',
        dex,
      })
      expect(Number(totalNetDeposit)).toBeGreaterThan(0)
    }
  })

  test.each([
    'meta',
    'metaAndAssetCtxs',
    'allMids',
    'perpsAtOpenInterestCap',
    'perpDexLimits',
    'perpDexStatus',
    'clearinghouseState',
    'spotClearinghouseState',
    'marginTable',
  ])('are refused by %s with 500 null when they are unknown', (type) => {
    const answer = venue.info('here', JSON.stringify({ type, dex: 'XYZ', id: 3 }))
    expect(answer).toEqual({ status: 500, body: 'null', isJson: true })
  })

  test('list no coin on the main dex for a name of another that does not exist', () => {
    const listing = {
      coin: 'nope:NEW',
      sizeDecimals: 1,
      maxLeverage: 3,
      priceUsd: 1.5,
      dayNotionalUsd: 1e6,
    }
    expect(() => venue.addListing(listing)).toThrow('nope:NEW belongs to no dex')
    expect(namesOf(metaOf(''))).not.toContain('nope:NEW')
  })

  describe('over the websocket', () => {
    let client: ScriptedClient

    beforeEach(() => {
      client = new ScriptedClient(venue)
    })

    test('speak on every channel of a coin', () => {
      const coin = 'xyz:XYZ100'
      client.subscribe({ type: 'trades', coin })
      client.subscribe({ type: 'candle', coin, interval: '15m' })
      client.subscribe({ type: 'l2Book', coin })
      client.subscribe({ type: 'bbo', coin })
      client.subscribe({ type: 'activeAssetCtx', coin })
      clock.advance(20_000)
      expect(client.isConnected).toBe(true)
      for (const channel of ['trades', 'candle', 'l2Book', 'bbo', 'activeAssetCtx'])
        expect(client.data(channel).length, channel).toBeGreaterThan(1)
      expect(client.data('trades')[0]).toHaveLength(30)
      expect(client.data('bbo')[0]).toMatchObject({ coin })
    })

    test.each(['XYZ100', 'XYZ:XYZ100', 'xyz:xyz100', 'flx:XYZ100', 'nope:BTC', 'xyz:'])(
      'end the connection for %s',
      (coin) => {
        client.subscribe({ type: 'trades', coin })
        clock.advance(160)
        expect(client.isDropped).toBe(true)
      },
    )

    test('are all in allDexsAssetCtxs, by name', () => {
      client.subscribe({ type: 'allDexsAssetCtxs' })
      const [{ ctxs }] = client.data('allDexsAssetCtxs') as [{ ctxs: [string, ContextWire[]][] }]
      expect(ctxs.map(([name]) => name)).toEqual(['', 'flx', 'hyna', 'xyz'])
      for (const [name, contexts] of ctxs)
        expect(contexts, name).toHaveLength(metaOf(name).universe.length)
    })

    test('have contexts and mids of one dex where it is named', () => {
      client.subscribe({ type: 'assetCtxs', dex: 'flx' })
      client.subscribe({ type: 'allMids', dex: 'hyna' })
      const [{ dex, ctxs }] = client.data('assetCtxs') as [{ dex: string; ctxs: object[] }]
      expect([dex, ctxs.length]).toEqual(['flx', 4])
      expect(client.data('allMids')[0]).toMatchObject({
        dex: 'hyna',
        mids: { 'hyna:BTC': expect.any(String) },
      })
    })

    test('are an invalid subscription when they are unknown', () => {
      client.subscribe({ type: 'allMids', dex: 'nope' })
      expect(client.data('error')).toEqual(['Invalid subscription {"type":"allMids","dex":"nope"}'])
      expect(client.isConnected).toBe(true)
    })

    test('are in fastAssetCtxs among spot pairs and outcome markets', () => {
      client.subscribe({ type: 'fastAssetCtxs' })
      const marks = inflated(client.data('fastAssetCtxs')[0] as string)
      const expected = ['BTC', 'hyna:BTC', 'xyz:TSLA', 'flx:TSLA', '@1', '#10']
      expect(Object.keys(marks)).toEqual(expect.arrayContaining(expected))
      for (const { markPx } of Object.values(marks)) expect(markPx).toMatch(/^\d+\.\d+$/)
      const mids = ask<Record<string, string>>(venue, { type: 'allMids' })
      expect(Object.keys(mids)).toEqual(expect.arrayContaining(['BTC', '@1', '#10']))
    })

    test('take a listing and a delisting by full name', () => {
      venue.addListing({
        coin: 'flx:NEW',
        sizeDecimals: 1,
        maxLeverage: 3,
        priceUsd: 1.5,
        dayNotionalUsd: 1e6,
      })
      venue.delist('xyz:CL')
      expect(namesOf(metaOf('flx')).at(-1)).toBe('flx:NEW')
      expect(metaOf('xyz').universe.find(({ isDelisted }) => isDelisted)?.name).toBe('xyz:CL')
      client.subscribe({ type: 'trades', coin: 'flx:NEW' })
      clock.advance(200)
      expect(client.isConnected).toBe(true)
    })
  })

  test('change nothing on the main dex', () => {
    const run = (hasBuilders: boolean): unknown[] => {
      const rig = openVenue(hasBuilders)
      const client = new ScriptedClient(rig.venue)
      client.subscribe({ type: 'assetCtxs' })
      for (const type of ['trades', 'l2Book', 'bbo', 'activeAssetCtx'])
        client.subscribe({ type, coin: 'BTC' })
      client.subscribe({ type: 'candle', coin: 'ETH', interval: '15m' })
      rig.clock.advance(15_000)
      return [...client.texts, ask(rig.venue, { type: 'metaAndAssetCtxs' })]
    }
    expect(run(true)).toEqual(run(false))
  })
})

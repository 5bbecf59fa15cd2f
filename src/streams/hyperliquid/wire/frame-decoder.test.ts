import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { ContextEvent, MarketEvent } from '../../../domain/event.ts'
import type { Listing } from '../../../domain/listing.ts'
import { decodeCandleSnapshot } from './candles.ts'
import { FrameDecoder } from './frame-decoder.ts'
import type { Universe } from './universe.ts'
import { decodeMeta, decodeMetaAndAssetContexts } from './universe.ts'

const FIXTURES = join(import.meta.dirname, '../../../../../shared/data/hl-api-fixtures')
const hasFixtures = existsSync(FIXTURES)
const RECEIVED_MS = Date.UTC(2026, 4, 30, 12)
const QUARTER_MS = 900_000

const context = {
  prevDayPx: '76317.0',
  dayNtlVlm: '1516669192.1953897476',
  dayBaseVlm: '19707.77457',
  markPx: '77562.0',
  midPx: '77558.5',
  oraclePx: '77605.0',
  funding: '-0.0000015186',
  openInterest: '27353.17682',
  premium: '-0.0005927453',
  impactPxs: ['77558.0', '77559.0'],
}
const bar = {
  t: RECEIVED_MS,
  T: RECEIVED_MS + QUARTER_MS - 1,
  s: 'kPEPE',
  i: '15m',
  o: '0.0101',
  h: '0.0103',
  l: '0.01',
  c: '0.0102',
  v: '1200.0',
  n: 7,
}
const trade = {
  coin: 'BTC',
  side: 'B',
  px: '77562.0',
  sz: '0.001',
  time: RECEIVED_MS - 400,
  hash: `0x${'0'.repeat(64)}`,
  tid: 745210434703679,
  users: ['0x1', '0x2'],
}
/** One frame of each channel, in the shapes of the venue. */
const frames = {
  trades: frame('trades', [trade, { ...trade, side: 'A', px: '77561.5', tid: 1 }]),
  candle: frame('candle', bar),
  candleArray: frame('candle', [bar]),
  l2Book: frame('l2Book', {
    coin: 'BTC',
    time: RECEIVED_MS - 700,
    levels: [
      [
        { px: '99.5', sz: '2.0', n: 2 },
        { px: '99.0', sz: '1.5', n: 1 },
      ],
      [{ px: '100.0', sz: '3.0', n: 4 }],
    ],
  }),
  l2BookEmpty: frame('l2Book', { coin: 'OLD', time: RECEIVED_MS, levels: [[], []] }),
  bbo: frame('bbo', { coin: 'BTC', time: RECEIVED_MS, bbo: [{ px: '99.5', sz: '2', n: 1 }, null] }),
  activeAssetCtx: frame('activeAssetCtx', { coin: 'BTC', ctx: context }),
  allDexsAssetCtxs: frame('allDexsAssetCtxs', {
    ctxs: [
      ['xyz', [context]],
      [
        '',
        [
          context,
          { ...context, markPx: '0.0101' },
          { ...context, midPx: null, premium: null, impactPxs: null, openInterest: '0.0' },
        ],
      ],
    ],
  }),
  fastAssetCtxs: frame(
    'fastAssetCtxs',
    deflateRawSync(
      JSON.stringify({
        BTC: { markPx: '77562.0', midPx: '77558.5' },
        OLD: { midPx: null },
        kPEPE: {},
        NEW: { markPx: '1' },
        'xyz:TSLA': { markPx: '1' },
        '@107': { markPx: '1' },
        '#3': { markPx: '1' },
        'PURR/USDC': { markPx: '1' },
      }),
    ).toString('base64'),
  ),
}
const channels = [
  'trades',
  'candle',
  'l2Book',
  'bbo',
  'activeAssetCtx',
  'allDexsAssetCtxs',
  'fastAssetCtxs',
  'subscriptionResponse',
  'error',
]

function frame(channel: string, data: unknown): string {
  return JSON.stringify({ channel, data })
}

function listing(coin: string): Listing {
  return {
    coin,
    sizeDecimals: 2,
    maxLeverage: 10,
    marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 10 }],
    isDelisted: false,
  }
}

function decoderOf(coins: readonly string[]): FrameDecoder {
  const decoder = new FrameDecoder()
  const universe: Universe = coins.map(listing)
  decoder.setUniverse(universe)
  return decoder
}

function decode(text: string): ReturnType<FrameDecoder['decode']> {
  return decoderOf(['BTC', 'kPEPE', 'OLD']).decode(text, RECEIVED_MS)
}

function eventsOf(text: string): readonly MarketEvent[] {
  const decoded = decode(text)
  expect(decoded).toMatchObject({ kind: 'events', drops: [] })
  return decoded.kind === 'events' ? decoded.events : []
}

describe('a frame of each channel', () => {
  test('trades carry both times, the taker side and the identifier', () => {
    expect(eventsOf(frames.trades)).toEqual([
      {
        kind: 'trade',
        coin: 'BTC',
        timeExchangeMs: RECEIVED_MS - 400,
        timeReceivedMs: RECEIVED_MS,
        tradeId: 745210434703679,
        takerSide: 'buy',
        price: 77562,
        sizeBase: 0.001,
      },
      expect.objectContaining({ coin: 'BTC', takerSide: 'sell', price: 77561.5 }),
    ])
  })

  test('a candle is the whole bar, as an object or an array', () => {
    const candle = {
      kind: 'candle',
      coin: 'kPEPE',
      timeExchangeMs: RECEIVED_MS,
      timeReceivedMs: RECEIVED_MS,
      timeframe: '15m',
      bar: {
        openTimeMs: RECEIVED_MS,
        open: 0.0101,
        high: 0.0103,
        low: 0.01,
        close: 0.0102,
        volumeBase: 1200,
      },
    }
    expect(eventsOf(frames.candle)).toEqual([candle])
    expect(eventsOf(frames.candleArray)).toEqual([candle])
  })

  test('a book keeps its levels, best first, and an empty side empty', () => {
    expect(eventsOf(frames.l2Book)).toMatchObject([
      {
        kind: 'book',
        timeExchangeMs: RECEIVED_MS - 700,
        bids: [
          { price: 99.5, sizeBase: 2 },
          { price: 99, sizeBase: 1.5 },
        ],
        asks: [{ price: 100, sizeBase: 3 }],
      },
    ])
    expect(eventsOf(frames.l2BookEmpty)).toMatchObject([{ bids: [], asks: [] }])
  })

  test('a one-sided top of book has null on the other side', () => {
    expect(eventsOf(frames.bbo)).toMatchObject([
      { kind: 'top-of-book', bid: { price: 99.5, sizeBase: 2 }, ask: null },
    ])
  })

  test('a context of one coin', () => {
    expect(eventsOf(frames.activeAssetCtx)).toEqual([
      {
        kind: 'context',
        coin: 'BTC',
        timeExchangeMs: RECEIVED_MS,
        timeReceivedMs: RECEIVED_MS,
        markPrice: 77562,
        oraclePrice: 77605,
        midPrice: 77558.5,
        premium: -0.0005927453,
        impactBid: 77558,
        impactAsk: 77559,
        fundingRateHourly: -0.0000015186,
        openInterestBase: 27353.17682,
        dayNotional: 1516669192.1953897,
        prevDayPrice: 76317,
      },
    ])
  })

  test('figures with floating-point noise, as the venue sends them', () => {
    // `openInterest` and `dayBaseVlm` may have more decimals than the coin's sizes.
    const noisy = { ...context, openInterest: '605822.2557999999', dayBaseVlm: '1552235.51999999' }
    const ofAll = frame('allDexsAssetCtxs', { ctxs: [['', [noisy, noisy, noisy]]] })
    const ofOne = frame('activeAssetCtx', { coin: 'BTC', ctx: noisy })
    const received = [...eventsOf(ofAll), ...eventsOf(ofOne)]
    expect(received).toMatchObject(Array(4).fill({ openInterestBase: 605822.2557999999 }))
  })

  test('contexts of all coins are joined by position; delisted coins have nulls', () => {
    expect(eventsOf(frames.allDexsAssetCtxs)).toMatchObject([
      { coin: 'BTC', markPrice: 77562 },
      { coin: 'kPEPE', markPrice: 0.0101 },
      { coin: 'OLD', midPrice: null, premium: null, impactBid: null, impactAsk: null },
    ])
  })

  test.each([null, '0.0'])(
    'a coin listed today has no price of the previous day: %j',
    (prevDayPx) => {
      const text = frame('activeAssetCtx', { coin: 'BTC', ctx: { ...context, prevDayPx } })
      expect(decode(text)).toMatchObject({ events: [{ markPrice: 77562, prevDayPrice: null }] })
    },
  )

  test('contexts of another length are rejected', () => {
    const decoder = decoderOf(['BTC', 'kPEPE'])
    expect(decoder.decode(frames.allDexsAssetCtxs, RECEIVED_MS)).toEqual({
      kind: 'rejected',
      reason: 'context_length',
    })
  })

  test('an unreadable row of the universe keeps its place', () => {
    const decoder = new FrameDecoder()
    decoder.setUniverse([null, listing('kPEPE'), listing('OLD')])
    const frame = decoder.decode(frames.allDexsAssetCtxs, RECEIVED_MS)
    expect(frame).toMatchObject({ events: [{ coin: 'kPEPE', markPrice: 0.0101 }, { coin: 'OLD' }] })
  })

  test('compressed marks contain changes, and only perpetuals are read', () => {
    expect(decode(frames.fastAssetCtxs)).toEqual({
      kind: 'events',
      events: [
        {
          kind: 'mark',
          coin: 'BTC',
          timeExchangeMs: RECEIVED_MS,
          timeReceivedMs: RECEIVED_MS,
          markPrice: 77562,
          midPrice: 77558.5,
        },
        {
          kind: 'mark',
          coin: 'OLD',
          timeExchangeMs: RECEIVED_MS,
          timeReceivedMs: RECEIVED_MS,
          midPrice: null,
        },
      ],
      drops: [{ reason: 'unknown_coin', field: 'NEW', coin: null }],
      channel: 'fastAssetCtxs',
      unlisted: [
        {
          kind: 'mark',
          coin: 'NEW',
          timeExchangeMs: RECEIVED_MS,
          timeReceivedMs: RECEIVED_MS,
          markPrice: 1,
        },
      ],
    })
  })

  test('an inflation bomb is rejected', () => {
    const bomb = deflateRawSync(Buffer.alloc(5 * 1024 * 1024, 0x20)).toString('base64')
    expect(decode(frame('fastAssetCtxs', bomb))).toEqual({
      kind: 'rejected',
      reason: 'bad_compression',
    })
  })

  test.each([
    ['Websocket connection established.', { kind: 'ignored' }],
    ['{"channel":"pong"}', { kind: 'pong' }],
    [frame('allMids', { mids: { BTC: '1' } }), { kind: 'ignored' }],
    [frame('error', 'Already subscribed: {}'), { kind: 'refused', text: 'Already subscribed: {}' }],
    [frame('error', { toString: 1 }), { kind: 'rejected', reason: 'bad_shape' }],
    [frame('webData3', {}), { kind: 'rejected', reason: 'unknown_channel' }],
    ['[]', { kind: 'rejected', reason: 'bad_shape' }],
    ['null', { kind: 'rejected', reason: 'bad_shape' }],
    ['', { kind: 'rejected', reason: 'not_json' }],
    [frame('trades', {}), { kind: 'rejected', reason: 'bad_shape' }],
  ])('%s', (text, expected) => {
    expect(decode(text)).toEqual(expected)
  })

  test.each([
    ['{"type":"fastAssetCtxs"}', { channel: 'fastAssetCtxs', coin: null }],
    ['{"type":"candle","coin":"BTC","interval":"15m"}', { channel: 'candle', coin: 'BTC' }],
  ])('an existing subscription %s is distinguished from a new one', (text, expected) => {
    expect(decode(frame('error', `Already subscribed: ${text}`))).toEqual({
      kind: 'already-subscribed',
      ...expected,
    })
  })

  test('an acknowledgement is read from the normalised echo', () => {
    const acknowledged = (subscription: object, method = 'subscribe') =>
      decode(frame('subscriptionResponse', { method, subscription }))
    expect(
      acknowledged({ type: 'l2Book', coin: 'BTC', nSigFigs: null, mantissa: null, fast: false }),
    ).toEqual({ kind: 'acknowledged', channel: 'l2Book', coin: 'BTC' })
    expect(acknowledged({ type: 'fastAssetCtxs' })).toMatchObject({ coin: null })
    expect(acknowledged({ type: 'trades', coin: 'BTC' }, 'unsubscribe')).toEqual({
      kind: 'ignored',
    })
    expect(acknowledged({ type: 'candle', coin: 'NEVERHEARD' })).toMatchObject({
      events: [],
      drops: [{ reason: 'unknown_coin', coin: null }],
    })
  })
})

describe('a single bad value', () => {
  const trade = { coin: 'BTC', side: 'B', px: '1.5', sz: '2', time: RECEIVED_MS, tid: 1 }
  const bar = { t: RECEIVED_MS, s: 'BTC', i: '15m', o: '2', h: '3', l: '1', c: '2', v: '0' }
  const book = { coin: 'BTC', time: RECEIVED_MS }
  const level = (px: string, sz = '1') => ({ px, sz, n: 1 })
  test.each([
    ['trades', [{ ...trade, px: 'NaN' }], 'bad_price'],
    ['trades', [{ ...trade, px: '0.0' }], 'bad_price'],
    ['trades', [{ ...trade, px: '-1' }], 'bad_price'],
    ['trades', [{ ...trade, px: 'Infinity' }], 'bad_price'],
    ['trades', [{ ...trade, px: '' }], 'bad_price'],
    ['trades', [{ ...trade, px: ' ' }], 'bad_price'],
    ['trades', [{ ...trade, px: '1e5' }], 'bad_price'],
    ['trades', [{ ...trade, px: '9999999999' }], 'bad_price'],
    ['trades', [{ ...trade, px: 1.5 }], 'bad_price'],
    ['trades', [{ ...trade, sz: '0' }], 'bad_size'],
    ['trades', [{ ...trade, time: 1 }], 'bad_time'],
    ['trades', [{ ...trade, time: RECEIVED_MS + 60_001 }], 'bad_time'],
    ['trades', [{ ...trade, time: RECEIVED_MS + 0.5 }], 'bad_time'],
    ['trades', [{ ...trade, tid: 2 ** 60 }], 'bad_trade_id'],
    ['trades', [{ ...trade, side: 'C' }], 'bad_side'],
    ['trades', [{ ...trade, coin: 'btc' }], 'unknown_coin'],
    ['trades', [null], 'bad_row'],
    ['candle', { ...bar, i: '1m' }, 'unknown_interval'],
    ['candle', { ...bar, t: RECEIVED_MS + 1 }, 'bad_time'],
    ['candle', { ...bar, t: RECEIVED_MS + QUARTER_MS }, 'bad_time'],
    ['candle', { ...bar, h: '1.9' }, 'bad_bar'],
    ['candle', { ...bar, v: '-1' }, 'bad_size'],
    ['l2Book', { ...book, levels: [[level('2')], [level('2')]] }, 'bad_book'],
    ['l2Book', { ...book, levels: [[level('2'), level('3')], []] }, 'bad_book'],
    ['l2Book', { ...book, levels: [[level('2', '0')], []] }, 'bad_book'],
    ['l2Book', { ...book, levels: [[]] }, 'bad_book'],
    ['l2Book', { ...book, time: RECEIVED_MS + 60_001, levels: [[], []] }, 'bad_time'],
    ['bbo', { ...book, bbo: [level('2'), level('1')] }, 'bad_book'],
    ['bbo', { ...book, time: RECEIVED_MS + 60_001, bbo: [level('1'), null] }, 'bad_time'],
  ] as const)('%s %j is dropped as %s', (channel, data, reason) => {
    const expected = { kind: 'events', events: [], drops: [{ reason }] }
    expect(decode(frame(channel, data))).toMatchObject(expected)
  })

  property.prop([
    fc.oneof(
      fc.stringMatching(/^-?\d{1,9}(\.\d{1,12})?$/),
      fc.stringMatching(/^[-.\d]{0,8}$/),
      fc.string({ maxLength: 6 }),
    ),
  ])('only plain decimals are accepted', (px) => {
    const isSound = /^-?\d+(\.\d+)?$/.test(px) && Number(px) > 0
    expect(decode(frame('trades', [{ ...trade, px }]))).toMatchObject(
      isSound
        ? { events: [{ price: Number(px) }] }
        : { events: [], drops: [{ reason: 'bad_price', field: 'px', coin: 'BTC' }] },
    )
  })

  test('a time within a minute ahead is valid, and so is a bar that ends later', () => {
    expect(decode(frame('trades', [{ ...trade, time: RECEIVED_MS + 60_000 }]))).toMatchObject({
      events: [{ timeExchangeMs: RECEIVED_MS + 60_000 }],
    })
    const earlyMs = RECEIVED_MS - 60_000
    const candle = frame('candle', { ...bar, i: '4h', T: RECEIVED_MS + 14_400_000 - 1 })
    expect(decoderOf(['BTC']).decode(candle, earlyMs)).toMatchObject({
      events: [{ bar: { openTimeMs: RECEIVED_MS } }],
      drops: [],
    })
  })

  test('does not affect the other rows', () => {
    const data = [trade, { ...trade, px: 'x' }, { ...trade, tid: 2 }]
    expect(decode(frame('trades', data))).toMatchObject({
      events: [{ tradeId: 1 }, { tradeId: 2 }],
      drops: [{ reason: 'bad_price', field: 'px', coin: 'BTC' }],
      lost: ['BTC'],
    })
  })
})

describe('hostile input causes no exception and no invalid number', () => {
  const samples = Object.values(frames)

  property.prop([fc.constantFrom(...samples), edits()])('mutated frames', (text, changes) => {
    expectSound(decode(mutated(text, changes)))
  })

  property.prop([fc.constantFrom(...samples), fc.nat()])('truncated frames', (text, at) => {
    expectSound(decode(text.slice(0, at % text.length)))
  })

  property.prop([fc.constantFrom(...channels), fc.jsonValue()])('any data', (channel, data) => {
    expectSound(decode(frame(channel, data)))
  })

  property.prop([fc.string({ unit: 'binary' })])('any text', (text) => {
    expectSound(decode(text))
  })

  property.prop([fc.constantFrom(...samples), fc.array(fc.nat()), hostileValue()])(
    'frames with a hostile value anywhere inside',
    (text, path, value) => {
      expectSound(decode(withValueAt(text, path, value)))
    },
  )

  property.prop([fc.json(), fc.constantFrom('15m', '1h', '4h')])('any reply', (body, timeframe) => {
    const reply = decodeCandleSnapshot(body, { coin: 'BTC', timeframe, fromMs: 0 }, RECEIVED_MS)
    expect(['bars', 'rejected']).toContain(reply.kind)
    expect(['meta', 'rejected']).toContain(decodeMeta(body).kind)
    expect(['meta-and-contexts', 'rejected']).toContain(
      decodeMetaAndAssetContexts(body, RECEIVED_MS).kind,
    )
  })
})

describe('the real venue', () => {
  const title = (what: string) => `${what} (needs ../shared/data)`

  test.skipIf(!hasFixtures)(title('metaAndAssetCtxs decodes without a drop'), () => {
    const reply = decodeMetaAndAssetContexts(
      readFileSync(join(FIXTURES, 'meta-and-asset-ctxs-2026-05.json'), 'utf8'),
      RECEIVED_MS,
    )
    expect(reply).toMatchObject({ kind: 'meta-and-contexts', drops: [] })
    if (reply.kind === 'rejected') return
    expect(reply.universe).toHaveLength(227)
    expect(reply.contexts).toHaveLength(227)
    const delisted = new Set(
      reply.universe.flatMap((row) => (row?.isDelisted === true ? [row.coin] : [])),
    )
    for (const context of reply.contexts)
      if (context.midPrice === null) expect(delisted).toContain(context.coin)
    expectPremiums(reply.contexts)
  })

  test.skipIf(!hasFixtures)(title('every context of a frame reproduces its premium'), () => {
    const text = readFileSync(join(FIXTURES, 'nautilus/ws_all_dexs_asset_ctxs.json'), 'utf8')
    const decoder = decoderOf(Array.from({ length: 230 }, (_, index) => `C${index}`))
    const frame = decoder.decode(text, RECEIVED_MS)
    expect(frame).toMatchObject({ kind: 'events', drops: [] })
    if (frame.kind !== 'events') return
    const contexts = frame.events.filter((event) => event.kind === 'context')
    expect(contexts).toHaveLength(230)
    expect(contexts.filter(({ midPrice }) => midPrice === null)).toHaveLength(51)
    expect(expectPremiums(contexts)).toBe(179)
  })

  test.skipIf(!hasFixtures)(title('a candleSnapshot of 2023'), () => {
    const reply = decodeCandleSnapshot(
      recordedReply('candleSnapshot'),
      { coin: 'kPEPE', timeframe: '1h', fromMs: 1684702007000 },
      RECEIVED_MS,
    )
    expect(reply).toMatchObject({ kind: 'bars', drops: [] })
    if (reply.kind === 'rejected') return
    expect(reply.bars.length).toBeGreaterThanOrEqual(23)
    for (const [index, bar] of reply.bars.entries())
      expect(bar.openTimeMs).toBe((reply.bars[0]?.openTimeMs ?? 0) + index * 3_600_000)
  })

  test.skipIf(!hasFixtures)(title('books and metas of other years'), () => {
    const book = JSON.parse(recordedReply('l2Book'))
    expect(decoderOf(['DYDX']).decode(frame('l2Book', book), RECEIVED_MS)).toMatchObject({
      events: [{ kind: 'book', coin: 'DYDX', bids: expect.any(Array) }],
      drops: [],
    })
    expect(decodeMeta(recordedReply('meta'))).toMatchObject({ kind: 'meta', drops: [] })
    const sample = readFileSync(join(FIXTURES, 'nautilus/http_meta_perp_sample.json'), 'utf8')
    expect(decodeMeta(sample)).toMatchObject({ universe: [{ coin: 'BTC' }, {}, {}], drops: [] })
  })

  const real = hasFixtures
    ? [
        readFileSync(join(FIXTURES, 'nautilus/ws_all_dexs_asset_ctxs.json'), 'utf8'),
        readFileSync(join(FIXTURES, 'nautilus/ws_user_fill_liquidation.json'), 'utf8'),
        frame(
          'l2Book',
          JSON.parse(readFileSync(join(FIXTURES, 'nautilus/http_l2_book_btc.json'), 'utf8')),
        ),
      ]
    : ['']
  test.skipIf(!hasFixtures)(title('mutated frames'), async () => {
    const decoder = decoderOf(['BTC', ...Array.from({ length: 229 }, (_, index) => `C${index}`)])
    await fc.assert(
      fc.property(fc.constantFrom(...real), edits(), fc.array(fc.nat()), (text, changes, path) => {
        expectSound(decoder.decode(mutated(text, changes), RECEIVED_MS))
        expectSound(decoder.decode(withValueAt(text, path, 'NaN'), RECEIVED_MS))
        expectSound(decoder.decode(text.slice(0, (path[0] ?? 0) % text.length), RECEIVED_MS))
      }),
      { numRuns: 60 },
    )
  })
})

/** max(impact bid - oracle, 0) - max(oracle - impact ask, 0), over the oracle. @returns rows checked */
function expectPremiums(contexts: readonly ContextEvent[]): number {
  let checked = 0
  for (const { coin, oraclePrice, impactBid, impactAsk, premium } of contexts) {
    if (impactBid === null || impactAsk === null || premium === null) continue
    const above = Math.max(impactBid - oraclePrice, 0)
    const below = Math.max(oraclePrice - impactAsk, 0)
    expect((above - below) / oraclePrice, coin).toBeCloseTo(premium, 9)
    checked += 1
  }
  return checked
}

function recordedReply(type: string): string {
  const records = JSON.parse(readFileSync(join(FIXTURES, 'info-responses-2023.json'), 'utf8'))
  return JSON.stringify(
    records.find((record: { request: { type: string } }) => record.request.type === type).response,
  )
}

function expectSound(frame: ReturnType<FrameDecoder['decode']>): void {
  if (frame.kind !== 'events') return
  for (const event of frame.events) {
    expect(event.timeReceivedMs).toBe(RECEIVED_MS)
    expect(Number.isSafeInteger(event.timeExchangeMs)).toBe(true)
    for (const number of numbersIn(event)) expect(Number.isFinite(number)).toBe(true)
    if (event.kind === 'book') {
      const [bid, ask] = [event.bids[0]?.price ?? 0, event.asks[0]?.price ?? Infinity]
      expect(bid, 'a book is never crossed').toBeLessThan(ask)
    }
  }
}

function numbersIn(value: unknown): readonly number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

type Edit = { readonly at: number; readonly remove: number; readonly insert: string }

function edits(): fc.Arbitrary<readonly Edit[]> {
  const insert = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.constantFrom('null', '-', 'NaN', '1e999', '0', '"', '{', '[', ',', '\u0000'),
  )
  return fc.array(fc.record({ at: fc.nat(), remove: fc.nat(4), insert }), {
    minLength: 1,
    maxLength: 4,
  })
}

function mutated(text: string, changes: readonly Edit[]): string {
  return changes.reduce((changed, { at, remove, insert }) => {
    const from = at % (changed.length + 1)
    return changed.slice(0, from) + insert + changed.slice(from + remove)
  }, text)
}

function hostileValue(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.constantFrom(null, '', ' ', 'NaN', 'Infinity', '-1', '0', '1e309', '1'.repeat(400), [], {}),
    fc.double(),
    fc.jsonValue(),
  )
}

/** Replaces the value at the path; each step is taken modulo the number of members. */
function withValueAt(text: string, path: readonly number[], value: unknown): string {
  const replace = (node: unknown, depth: number): unknown => {
    const step = path[depth]
    if (step === undefined || typeof node !== 'object' || node === null) return value
    const entries = Object.entries(node)
    if (entries.length === 0) return value
    const changed = entries.map(([key, child], index) =>
      index === step % entries.length ? [key, replace(child, depth + 1)] : [key, child],
    )
    return Array.isArray(node) ? changed.map(([, child]) => child) : Object.fromEntries(changed)
  }
  try {
    return JSON.stringify(replace(JSON.parse(text), 0)) ?? ''
  } catch {
    return text
  }
}

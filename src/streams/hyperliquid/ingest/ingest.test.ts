import { beforeEach, describe, expect, test } from 'vitest'
import { LISTINGS_MAX } from '../../../domain/listing.ts'
import type { IngestOptions } from './ingest.ts'
import { Ingest } from './ingest.ts'

const START_MS = Date.UTC(2026, 0, 1)

describe('a clock that is minutes behind', () => {
  const BEHIND_MS = 300_000

  /** A book a second for so long, told 400 ms after it was so. @param fromSecond from then on the clocks disagree */
  function hearBooks(seconds: number, fromSecond = 0, ingest = new Ingest({ sockets: 1 })) {
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    const heard = Array.from({ length: seconds }, (_, second) => {
      const nowMs = START_MS + second * 1_000
      const level = (px: string) => [{ px, sz: '1', n: 1 }]
      const time = nowMs + (second < fromSecond ? 0 : BEHIND_MS) - 400
      const data = { coin: 'BTC', time, levels: [level('99'), level('101')] }
      const { batch } = ingest.process(
        { kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'l2Book', data }) },
        nowMs,
      )
      const said = ingest.process({ kind: 'tick' }, nowMs).batch
      return [...batch, ...said]
    })
    return heard
  }

  test('is believed at first, and then the venue is', () => {
    const heard = hearBooks(30)
    expect(heard.slice(0, 20).flat()).not.toContainEqual(expect.objectContaining({ kind: 'book' }))
    for (const [second, events] of heard.entries()) {
      if (second < 20) continue
      const nowMs = START_MS + second * 1_000
      expect(events).toContainEqual(
        expect.objectContaining({
          kind: 'book',
          timeExchangeMs: nowMs + BEHIND_MS - 400,
          timeReceivedMs: nowMs,
        }),
      )
    }
  })

  test('the venue is believed as well when its clock is put forward later, by minutes', () => {
    const heard = hearBooks(120, 30)
    const counted = heard.flat().filter(({ kind }) => kind === 'book')
    expect(counted.length).toBeGreaterThan(90)
    const nowMs = START_MS + 119_000
    expect(counted.at(-1)).toMatchObject({
      timeExchangeMs: nowMs + BEHIND_MS - 400,
      timeReceivedMs: nowMs,
    })
  })

  test('drops no settled funding', () => {
    const ingest = new Ingest({ sockets: 1 })
    hearBooks(30, 0, ingest)
    const nowMs = START_MS + 30_000
    const row = { coin: 'BTC', fundingRate: '0.0000125', premium: '0.0', time: nowMs + BEHIND_MS }
    const reply = { coin: 'BTC', fromMs: START_MS, askedMs: nowMs, body: JSON.stringify([row]) }
    expect(ingest.process({ kind: 'fundings', ...reply }, nowMs)).toMatchObject({
      batch: [{ kind: 'funding-history', rows: [{ timeMs: START_MS }] }],
    })
  })

  test('is told', () => {
    expect(hearBooks(30).flat()).toContainEqual(
      expect.objectContaining({ kind: 'feed-status', state: 'degraded', reason: 'clock_offset' }),
    )
  })
})

test('all dexes together list no more than the engine has room for', () => {
  const ingest = new Ingest({ sockets: 1 })
  const taken = (dex: string, length: number) => {
    const prefix = dex === '' ? '' : `${dex}:`
    const universe = Array.from({ length }, (_, index) => ({
      name: `${prefix}C${index}`,
      szDecimals: 1,
      maxLeverage: 3,
    }))
    const body = JSON.stringify({ universe })
    return ingest.process({ kind: 'universe', request: 'meta', dex, body }, START_MS)
  }
  const room = LISTINGS_MAX / 2
  const refused = { kind: 'rejected', reason: 'universe_length' }
  expect(taken('', 234)).toMatchObject({ isNew: true })
  expect(taken('big', room + 1)).toEqual(refused)
  expect(taken('big', room)).toMatchObject({ isNew: true })
  expect(taken('big', room), 'its own listings do not count twice').toMatchObject({ isNew: false })
  expect(taken('small', 1)).toEqual(refused)
  expect(taken('', 235), 'the venue’s own dex has room for more').toMatchObject({ isNew: true })
})

test('a book that is ahead of all trades ends no bar: it is stamped by the clock of the trades', () => {
  const ingest = new Ingest({ sockets: 1 })
  const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
  ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
  const toldAt = (second: number, aheadMs: number) => {
    const nowMs = START_MS + second * 1_000
    const time = nowMs - 300
    const trade = { coin: 'BTC', side: 'B', px: '100', sz: '1', time, hash: `0x${'0'.repeat(64)}` }
    const data = [{ ...trade, tid: second, users: [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] }]
    ingest.process(
      { kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'trades', data }) },
      nowMs,
    )
    const level = (px: string) => [{ px, sz: '1', n: 1 }]
    const book = { coin: 'BTC', time: time + aheadMs, levels: [level('99'), level('101')] }
    const { batch } = ingest.process(
      { kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'l2Book', data: book }) },
      nowMs,
    )
    const told = batch.find(({ kind }) => kind === 'book')
    return (told?.timeExchangeMs ?? Number.NaN) - nowMs
  }
  const before = Array.from({ length: 60 }, (_, second) => toldAt(second, 0))
  const ahead = Array.from({ length: 60 }, (_, second) => toldAt(60 + second, 22_000))
  expect(new Set(before)).toEqual(new Set([-300]))
  expect(new Set(ahead)).toEqual(new Set([1_700]))
})

test('a replay of old trades says nothing of the clock that bars go by', () => {
  const ingest = new Ingest({ sockets: 1 })
  const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
  ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
  const trade = (tid: number, time: number) => ({
    ...{ coin: 'BTC', side: 'B', px: '100', sz: '1', hash: `0x${'0'.repeat(64)}` },
    ...{ tid, time, users: [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] },
  })
  const told = (channel: string, data: unknown) =>
    ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel, data }) }, START_MS)
  const level = (px: string) => [{ px, sz: '1', n: 1 }]
  const replay = [trade(1, START_MS - 95_000), trade(2, START_MS - 90_000)]
  told('subscriptionResponse', {
    method: 'subscribe',
    subscription: { type: 'trades', coin: 'BTC' },
  })
  told('trades', replay)
  told('trades', replay)
  told('l2Book', { coin: 'BTC', time: START_MS - 300, levels: [level('99'), level('101')] })
  expect(ingest.venueMs(START_MS)).toBe(START_MS - 300)
})

test('what waited while the process slept is as old as the sleep, also what is read before any timer ran', () => {
  const ingest = new Ingest({ sockets: 1 })
  const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
  ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
  const context = (nowMs: number) =>
    ingest.process({ kind: 'frame', socket: 0, text: contextFrame(1) }, nowMs).batch
  for (let second = 0; second < 5; second += 1) {
    ingest.process({ kind: 'tick' }, START_MS + second * 1_000)
    context(START_MS + second * 1_000)
  }
  const wokenMs = START_MS + 90_000
  expect(context(wokenMs)).toContainEqual(
    expect.objectContaining({ kind: 'context', timeReceivedMs: START_MS + 5_000 }),
  )
  ingest.process({ kind: 'tick' }, wokenMs + 1)
  expect(context(wokenMs + 2), 'until a frame tells when it was sent').toContainEqual(
    expect.objectContaining({ kind: 'context', timeReceivedMs: START_MS + 5_002 }),
  )
})

test('what comes after a late first pong, and before any book, is as old as the pong was late', () => {
  const ingest = new Ingest({ sockets: 1 })
  const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
  ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
  ingest.process({ kind: 'ping', socket: 0 }, START_MS)
  const nowMs = START_MS + 6_500
  ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'pong' }) }, nowMs)
  const { batch } = ingest.process({ kind: 'frame', socket: 0, text: contextFrame(8) }, nowMs)
  const [context] = batch.filter(({ kind }) => kind === 'context')
  expect(context?.timeReceivedMs).toBe(START_MS)
})

test('so is what comes over a new connection, however well another one has shown the clocks to agree', () => {
  const ingest = new Ingest({ sockets: 2 })
  const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
  ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
  const pong = (socket: number, nowMs: number) =>
    ingest.process({ kind: 'frame', socket, text: JSON.stringify({ channel: 'pong' }) }, nowMs)
  ingest.process({ kind: 'ping', socket: 0 }, START_MS)
  pong(0, START_MS + 100)
  ingest.process({ kind: 'frame', socket: 0, text: bookFrame(START_MS) }, START_MS + 300)
  ingest.process({ kind: 'ping', socket: 1 }, START_MS + 1_000)
  const nowMs = START_MS + 6_000
  pong(1, nowMs)
  const { batch } = ingest.process({ kind: 'frame', socket: 1, text: contextFrame(8) }, nowMs)
  expect(batch).toContainEqual(
    expect.objectContaining({ kind: 'context', timeReceivedMs: START_MS + 1_000 }),
  )
  ingest.process({ kind: 'frame', socket: 1, text: bookFrame(nowMs - 300) }, nowMs)
  expect(
    ingest.process({ kind: 'frame', socket: 1, text: contextFrame(8) }, nowMs).batch,
    'as soon as a frame shows it',
  ).toContainEqual(expect.objectContaining({ kind: 'context', timeReceivedMs: nowMs }))
})

describe('what comes after a silence of its connection', () => {
  const receivedMs = (ingest: Ingest, nowMs: number) =>
    ingest
      .process({ kind: 'frame', socket: 0, text: contextFrame(8) }, nowMs)
      .batch.find(({ kind }) => kind === 'context')?.timeReceivedMs

  /** Books a second, all as late; then none for so long. @returns when it is heard again */
  function silent(ingest: Ingest, silentMs: number, lateMs = 0): number {
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS - 60_000)
    ingest.process(
      { kind: 'frame', socket: 0, text: bookFrame(START_MS - 2_300) },
      START_MS - 2_000,
    )
    ingest.process({ kind: 'frame', socket: 0, text: bookFrame(START_MS - 300 - lateMs) }, START_MS)
    for (let sinceMs = 1_000; sinceMs < silentMs; sinceMs += 1_000)
      ingest.process({ kind: 'tick' }, START_MS + sinceMs)
    return START_MS + silentMs
  }

  test('counts as held up as long, until a book tells', () => {
    const ingest = new Ingest({ sockets: 1 })
    const nowMs = silent(ingest, 11_000)
    expect(receivedMs(ingest, nowMs)).toBe(START_MS)
    expect(receivedMs(ingest, nowMs + 10)).toBe(START_MS + 10)
    ingest.process({ kind: 'frame', socket: 0, text: bookFrame(nowMs - 300) }, nowMs + 20)
    expect(receivedMs(ingest, nowMs + 30)).toBe(nowMs + 30)
    ingest.process({ kind: 'frame', socket: 0, text: bookFrame(nowMs - 4_300) }, nowMs + 40)
    expect(receivedMs(ingest, nowMs + 50), 'what the book tells counts').toBe(nowMs - 3_990)
  })

  test('is that much later than what had been late before', () => {
    const ingest = new Ingest({ sockets: 1 })
    const nowMs = silent(ingest, 11_000, 15_000)
    expect(receivedMs(ingest, nowMs)).toBe(START_MS - 15_000)
  })

  test('is as late as that also where we paused meanwhile', () => {
    const ingest = new Ingest({ sockets: 1 })
    silent(ingest, 11_000)
    const nowMs = START_MS + 16_000
    ingest.process({ kind: 'tick' }, nowMs)
    expect(receivedMs(ingest, nowMs)).toBe(START_MS)
  })

  test('counts as new after no more than the time between two books', () => {
    const ingest = new Ingest({ sockets: 1 })
    const nowMs = silent(ingest, 6_000)
    expect(receivedMs(ingest, nowMs)).toBe(nowMs)
  })

  test('counts as new once a pong was prompt, where no frame told when it was sent', () => {
    const ingest = new Ingest({ sockets: 1 })
    const nowMs = silent(ingest, 11_000)
    ingest.process({ kind: 'lost', socket: 0, reason: 'socket_closed', coins: [] }, nowMs)
    ingest.process({ kind: 'ping', socket: 0 }, nowMs)
    ingest.process({ kind: 'frame', socket: 0, text: contextFrame(8) }, nowMs + 20_000)
    ingest.process({ kind: 'ping', socket: 0 }, nowMs + 20_000)
    ingest.process(
      { kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'pong' }) },
      nowMs + 20_050,
    )
    expect(receivedMs(ingest, nowMs + 20_060)).toBe(nowMs + 20_060)
  })
})

describe('a pause of ours', () => {
  test('makes what is read after it later than it was before', () => {
    const ingest = new Ingest({ sockets: 1 })
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    ingest.process({ kind: 'tick' }, START_MS)
    ingest.process({ kind: 'frame', socket: 0, text: bookFrame(START_MS - 300) }, START_MS)
    ingest.process({ kind: 'frame', socket: 0, text: bookFrame(START_MS - 20_300) }, START_MS)
    const nowMs = START_MS + 5_000
    const { batch } = ingest.process({ kind: 'frame', socket: 0, text: contextFrame(8) }, nowMs)
    expect(batch).toContainEqual(
      expect.objectContaining({ kind: 'context', timeReceivedMs: START_MS - 19_000 }),
    )
  })

  test('is one for a connection that has only just been opened as well', () => {
    const ingest = new Ingest({ sockets: 1 })
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    ingest.process({ kind: 'tick' }, START_MS)
    ingest.process({ kind: 'ping', socket: 0 }, START_MS + 100)
    const nowMs = START_MS + 12_000
    ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'pong' }) }, nowMs)
    const [context] = ingest
      .process({ kind: 'frame', socket: 0, text: contextFrame(8) }, nowMs)
      .batch.filter(({ kind }) => kind === 'context')
    expect(context?.timeReceivedMs).toBe(START_MS + 1_000)
  })
})

test('a trade keeps the time at which it happened where books are stamped by a clock that was put back', () => {
  const ingest = new Ingest({ sockets: 1 })
  const universe = [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }]
  ingest.process(
    { kind: 'universe', request: 'meta', dex: '', body: JSON.stringify({ universe }) },
    START_MS,
  )
  const tradeFrame = (tid: number, time: number) => {
    const trade = { coin: 'BTC', side: 'B', px: '100', sz: '1', time, tid }
    const users = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`]
    const whole = { ...trade, hash: `0x${'0'.repeat(64)}`, users }
    // Beside one that cannot be read, which leaves a gap before it.
    const data = tid === 30 ? [{ ...whole, tid: 1_000, px: 'x' }, whole] : [whole]
    return JSON.stringify({ channel: 'trades', data })
  }
  const times = Array.from({ length: 60 }, (_, second) => {
    const nowMs = START_MS + second * 1_000
    ingest.process({ kind: 'tick' }, nowMs)
    if (second % 20 === 0) ingest.process({ kind: 'ping', socket: 0 }, nowMs)
    if (second % 20 === 0)
      ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'pong' }) }, nowMs)
    ingest.process(
      { kind: 'frame', socket: 0, text: bookFrame(nowMs - 300 - (second < 5 ? 0 : 12_000)) },
      nowMs,
    )
    const { batch } = ingest.process(
      { kind: 'frame', socket: 0, text: tradeFrame(second + 1, nowMs - 200) },
      nowMs,
    )
    const trade = batch.find(({ kind }) => kind === 'trade')
    return nowMs - (trade?.timeExchangeMs ?? Number.NaN)
  })
  expect(new Set(times)).toEqual(new Set([200]))
})

describe('the first frame of trades after a subscription', () => {
  let ingest: Ingest

  beforeEach(() => {
    ingest = new Ingest({ sockets: 1 })
    const universe = [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }]
    const body = JSON.stringify({ universe, marginTables: [] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    for (const type of ['trades', 'candle', 'l2Book']) acknowledge(type)
  })

  test('is a replay of the past, which no candle follows', () => {
    trade(START_MS + 20_000, START_MS - 60_000)
    expect(silentAfter(START_MS + 31_000)).toEqual([])
  })

  test('is news where the replay was lost: a candle has to follow it', () => {
    trade(START_MS + 20_000, START_MS + 19_500)
    expect(silentAfter(START_MS + 31_000)).toMatchObject([{ coin: 'BTC', channel: 'candle' }])
  })

  test('is followed by a candle that cannot be: a hole that is asked for, once', () => {
    ingest.process({ kind: 'frame', socket: 0, text: contextFrame(9) }, START_MS + 19_000)
    trade(START_MS + 20_000, START_MS + 19_500)
    const { batch, recovered } = candle(START_MS + 20_100, '100000')
    expect(recovered).toMatchObject([{ coin: 'BTC', channel: 'candle' }])
    expect(batch).toMatchObject([{ kind: 'silence', coin: 'BTC', state: 'heard' }])
    expect(candle(START_MS + 20_600, '100000')).toMatchObject({ batch: [], recovered: [] })
    expect(silentAfter(START_MS + 120_000), 'nothing more has to come').toEqual([])
  })

  test('is followed by a candle that can', () => {
    ingest.process({ kind: 'frame', socket: 0, text: contextFrame(9) }, START_MS + 19_000)
    trade(START_MS + 20_000, START_MS + 19_500)
    candle(START_MS + 20_100, '101')
    expect(silentAfter(START_MS + 31_000)).toEqual([])
  })

  test('is the replay over a new connection, whether or not an acknowledgement came: what is missing is told', () => {
    trade(START_MS + 20_000, START_MS + 19_500)
    ingest.process(
      { kind: 'lost', socket: 0, reason: 'socket_closed', coins: ['BTC'] },
      START_MS + 21_000,
    )
    const { batch } = trade(START_MS + 90_000, START_MS + 80_000, 2)
    expect(batch).toContainEqual(
      expect.objectContaining({
        ...{ kind: 'trade-gap', coin: 'BTC' },
        ...{ fromMs: START_MS + 19_500, toMs: START_MS + 80_000 },
      }),
    )
  })

  test('has a coin watched where all that is known of its books is that their subscription stands', () => {
    ingest.process({ kind: 'lost', socket: 0, reason: 'socket_closed', coins: ['BTC'] }, START_MS)
    trade(START_MS + 10_000, START_MS + 9_500)
    expect(silentAfter(START_MS + 21_000), 'nothing was asked of this connection').toEqual([])
    hear('error', 'Already subscribed: {"type":"l2Book","coin":"BTC"}', START_MS + 21_000)
    trade(START_MS + 30_000, START_MS + 29_500, 2)
    expect(silentAfter(START_MS + 41_000)).toMatchObject([{ coin: 'BTC', channel: 'candle' }])
  })

  function candle(nowMs: number, high: string) {
    const bar = { o: '100', h: high, l: '99', c: '100', v: '1', n: 1 }
    const told = { t: START_MS, T: START_MS + 899_999, s: 'BTC', i: '15m', ...bar }
    return hear('candle', told, nowMs)
  }

  function acknowledge(type: string): void {
    const subscription = { type, coin: 'BTC', ...(type === 'candle' ? { interval: '15m' } : {}) }
    hear('subscriptionResponse', { method: 'subscribe', subscription }, START_MS)
  }

  function trade(nowMs: number, timeMs: number, tid = 1) {
    const hash = `0x${'0'.repeat(64)}`
    const users = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`]
    const told = { coin: 'BTC', side: 'B', px: '100', sz: '1', time: timeMs, hash, tid, users }
    return hear('trades', [told], nowMs)
  }

  function hear(channel: string, data: unknown, nowMs: number) {
    return ingest.process(
      { kind: 'frame', socket: 0, text: JSON.stringify({ channel, data }) },
      nowMs,
    )
  }

  function silentAfter(nowMs: number) {
    return ingest.process({ kind: 'tick' }, nowMs).silent
  }
})

describe('the trades of a coin that had none', () => {
  const trade = (tid: number) => ({
    ...{ coin: 'BTC', side: 'B', px: '100', sz: '1', hash: `0x${'0'.repeat(64)}` },
    ...{
      tid,
      time: START_MS + 60_000 + tid,
      users: [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`],
    },
  })
  const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })

  /** Of the 30 trades that the venue repeats over a new connection. */
  function gapsOf(known: IngestOptions['known'], isLost: boolean) {
    const ingest = new Ingest({
      sockets: 1,
      ...(known && { known }),
      knownTrades: () => ({ newestMs: Number.NaN, observedMs: START_MS }),
    })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    const hear = (channel: string, data: unknown, nowMs: number) =>
      ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel, data }) }, nowMs)
    const subscription = { type: 'trades', coin: 'BTC' }
    const acknowledge = (nowMs: number) =>
      hear('subscriptionResponse', { method: 'subscribe', subscription }, nowMs)
    acknowledge(START_MS)
    if (isLost) {
      const lost = { kind: 'lost', socket: 0, reason: 'socket_closed', coins: ['BTC'] } as const
      ingest.process(lost, START_MS + 30_000)
      acknowledge(START_MS + 70_000)
    }
    const trades = Array.from({ length: 30 }, (_, tid) => trade(tid))
    const { batch } = hear('trades', trades, START_MS + 70_100)
    return batch.filter(({ kind }) => kind === 'trade-gap')
  }

  const gap = { fromMs: START_MS - 60_000, toMs: START_MS + 60_000 }
  const btc = { coin: 'BTC', sizeDecimals: 5, maxLeverage: 40, isDelisted: false, marginTiers: [] }

  test('lack those before the replay after a lost connection', () => {
    expect(gapsOf(undefined, true)).toMatchObject([gap])
  })

  test('lack them after a restart', () => {
    expect(gapsOf([btc], false)).toMatchObject([gap])
  })

  test('begin with the listing of a coin that was delisted', () => {
    const ingest = new Ingest({ sockets: 1 })
    const list = (isDelisted: boolean) => {
      const row = { name: 'BTC', szDecimals: 5, maxLeverage: 40, isDelisted }
      const reply = JSON.stringify({ universe: [row, { ...row, name: 'ETH', isDelisted: false }] })
      // A list that removes a coin needs three replies.
      for (let replies = 0; replies < 3; replies += 1)
        ingest.process({ kind: 'universe', request: 'meta', dex: '', body: reply }, START_MS)
    }
    const replay = (first: number) => {
      const subscription = { type: 'trades', coin: 'BTC' }
      const hear = (channel: string, data: unknown) =>
        ingest.process(
          { kind: 'frame', socket: 0, text: JSON.stringify({ channel, data }) },
          START_MS + 70_100,
        ).batch
      hear('subscriptionResponse', { method: 'subscribe', subscription })
      return hear('trades', [trade(first), trade(first + 1)]).map(({ kind }) => kind)
    }
    list(false)
    expect(replay(1)).toEqual(['trade', 'trade'])
    list(true)
    list(false)
    expect(replay(100)).toEqual(['trade', 'trade'])
  })

  test('begin with the first replay', () => {
    expect(gapsOf(undefined, false)).toEqual([])
  })
})

describe('a trade that is told once', () => {
  const told = (tid: number, figures: object) => ({
    ...{ coin: 'BTC', side: 'B', px: '100', sz: '1', hash: `0x${'0'.repeat(64)}` },
    ...{ tid, time: START_MS - 300, users: [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] },
    ...figures,
  })
  const gap = (atMs: number) => ({ kind: 'trade-gap', coin: 'BTC', fromMs: atMs, toMs: atMs })

  function hear(data: readonly object[]) {
    const ingest = new Ingest({ sockets: 1 })
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    ingest.process({ kind: 'frame', socket: 0, text: contextFrame(9) }, START_MS)
    return ingest.process(
      { kind: 'frame', socket: 0, text: JSON.stringify({ channel: 'trades', data }) },
      START_MS,
    ).batch
  }

  test.each([
    ['cannot be read', { px: 'x' }],
    ['is no part of this market', { px: '100000' }],
  ])('and %s is lost, and the others of its frame are not', (_, figures) => {
    expect(hear([told(1, {}), told(2, figures)])).toMatchObject([
      gap(START_MS - 301),
      { kind: 'trade', tradeId: 1 },
    ])
  })

  test('and cannot be read is lost also where it comes alone', () => {
    expect(hear([told(1, { px: 'x' })])).toMatchObject([gap(START_MS)])
  })
})

describe('the silence of a coin that nobody trades any more', () => {
  const SECONDS = 300
  const subscribed = (type: string) =>
    JSON.stringify({
      channel: 'subscriptionResponse',
      data: { method: 'subscribe', subscription: { type, coin: 'BTC' } },
    })
  const trades = (ids: readonly number[], second: number) => {
    const told = { coin: 'BTC', side: 'B', px: '100', sz: '1', hash: `0x${'0'.repeat(64)}` }
    const users = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`]
    const data = ids.map((tid) => ({ ...told, tid, users, time: START_MS + second * 1_000 - 300 }))
    return JSON.stringify({ channel: 'trades', data })
  }

  /** @param told what comes beside books, by second @param renewed the answer to a new subscription */
  function play(told: (second: number) => readonly string[], renewed: readonly string[]) {
    const ingest = new Ingest({ sockets: 1 })
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    for (const type of ['candle', 'trades', 'l2Book'])
      ingest.process({ kind: 'frame', socket: 0, text: subscribed(type) }, START_MS)
    ingest.process({ kind: 'frame', socket: 0, text: trades([1], 0) }, START_MS)
    const found: unknown[] = []
    const recovered: unknown[] = []
    for (let second = 1; second < SECONDS; second += 1) {
      const nowMs = START_MS + second * 1_000
      const frames = [...told(second), ...(second % 5 === 0 ? [bookFrame(nowMs - 300)] : [])]
      for (const frame of frames)
        recovered.push(
          ...ingest.process({ kind: 'frame', socket: 0, text: frame }, nowMs).recovered,
        )
      const { silent } = ingest.process({ kind: 'tick' }, nowMs)
      found.push(...silent)
      if (silent.length > 0)
        for (const frame of renewed)
          recovered.push(
            ...ingest.process({ kind: 'frame', socket: 0, text: frame }, nowMs).recovered,
          )
    }
    return { found, recovered }
  }

  test('is over where the replay has the trades that were missing', () => {
    const rising = (second: number) => [contextFrame(9, 1_000 + Math.min(second, 40))]
    const told = (second: number) => (second % 10 === 0 ? rising(second) : [])
    const { found, recovered } = play(told, [subscribed('trades'), trades([1, 2, 3, 4], 30)])
    expect(found).toEqual([{ coin: 'BTC', channel: 'trades', times: 1 }])
    expect(recovered).toEqual([{ coin: 'BTC', channel: 'trades', times: 1 }])
  })

  test('is not over where the replay has none of them', () => {
    const rising = (second: number) => [contextFrame(9, 1_000 + Math.min(second, 40))]
    const told = (second: number) => (second % 10 === 0 ? rising(second) : [])
    const { found, recovered } = play(told, [subscribed('trades'), trades([1], 0)])
    expect(found.length).toBeGreaterThan(1)
    expect(recovered).toEqual([])
  })

  test('is over where its candles are acknowledged anew, since their history is asked then', () => {
    const told = (second: number) => (second === 20 ? [trades([2], 20)] : [])
    const { found, recovered } = play(told, [subscribed('candle')])
    expect(found).toEqual([{ coin: 'BTC', channel: 'candle', times: 1 }])
    expect(recovered).toEqual([{ coin: 'BTC', channel: 'candle', times: 1 }])
  })
})

describe('nothing open in a coin', () => {
  /** Each is told so many seconds after the start. */
  test.each([
    { what: 'is a broken figure by one word', told: { 0: 9, 14: 0, 28: 8 }, believed: [9, 8] },
    { what: 'is one too where its frame comes twice', told: { 0: 9, 14: 0, 15: 0 }, believed: [9] },
    { what: 'is so where it is told again', told: { 0: 9, 14: 0, 28: 0 }, believed: [9, 0] },
    { what: 'is so from the start', told: { 0: 0, 14: 0 }, believed: [0] },
    { what: 'is doubted anew', told: { 0: 0, 14: 0, 28: 9, 42: 0 }, believed: [0, 9] },
  ])('$what', ({ told, believed }) => {
    const ingest = new Ingest({ sockets: 1 })
    const body = JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    const heard = Object.entries(told).flatMap(([second, openInterestBase]) => {
      const nowMs = START_MS + Number(second) * 1_000
      const { batch, contradicted } = ingest.process(
        { kind: 'frame', socket: 0, text: contextFrame(openInterestBase) },
        nowMs,
      )
      // The feed asks for the list, and the venue confirms it.
      if (contradicted.length > 0)
        for (const afterMs of [100, 5_100])
          ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, nowMs + afterMs)
      return batch
    })
    const contexts = heard.filter((event) => event.kind === 'context')
    expect(contexts.map(({ openInterestBase }) => openInterestBase)).toEqual(believed)
  })
})

/** Of a venue that lists one coin. */
function contextFrame(openInterestBase: number, dayNotional = 1): string {
  const prices = { markPx: '100', oraclePx: '100', prevDayPx: '99' }
  const openInterest = `${openInterestBase}.0`
  const row = { ...prices, funding: '0.0', openInterest, dayNtlVlm: `${dayNotional}.0` }
  return JSON.stringify({ channel: 'allDexsAssetCtxs', data: { ctxs: [['', [row]]] } })
}

/** Of the same coin, stamped by the venue. */
function bookFrame(timeMs: number): string {
  const level = (px: string) => [{ px, sz: '1', n: 1 }]
  const data = { coin: 'BTC', time: timeMs, levels: [level('99'), level('101')] }
  return JSON.stringify({ channel: 'l2Book', data })
}

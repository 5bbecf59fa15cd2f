import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { FeedRun } from './testing/feed-run.ts'
import { mostInAMinute, play } from './testing/feed-run.ts'
import { ScriptedVenue } from './testing/scripted-venue.ts'

const HOUR_MS = 3_600_000

describe('a lost socket', () => {
  test('is reported in-band, replaced, resubscribed, and its history requested again', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    const run = play(venue, {
      sockets: 2,
      needs: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - HOUR_MS }],
    })
    run.advance(30_000)
    expect(run.of('history')).toHaveLength(2)
    const before = venue.sockets[0]?.heard.map(({ text }) => text)
    venue.sockets[0]?.drop()
    expect(run.of('feed-status')).toMatchObject([
      { state: 'up' },
      { state: 'down', reason: 'socket_closed' },
    ])
    run.advance(10_000)
    expect(run.of('feed-status')).toMatchObject([{ state: 'up' }, {}, { state: 'up' }])
    const subscriptions = (texts: readonly string[] | undefined) =>
      texts?.filter((text) => text.includes('"subscribe"'))
    expect(subscriptions(venue.sockets[2]?.heard.map(({ text }) => text))).toEqual(
      subscriptions(before),
    )
    expect(run.of('history').map(({ coin }) => coin)).toEqual(['BTC', 'ETH', 'BTC'])
  })

  test('names the coins that came over it, and no others', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C', 'D', '-OLD', 'F'] })
    const run = play(venue, {
      sockets: 2,
      needs: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - HOUR_MS }],
    })
    run.advance(30_000)
    const coinsOf = (socket: number) =>
      [...(venue.sockets[socket]?.held.values() ?? [])].flatMap(({ type, coin }) =>
        type === 'candle' ? [coin] : [],
      )
    const lost = coinsOf(1)
    expect(lost.toSorted()).toEqual(['B', 'D', 'F'])
    venue.sockets[1]?.drop()
    run.advance(100_000)
    expect(run.of('feed-status')).toMatchObject([
      { state: 'up', coins: [] },
      { state: 'down', coins: lost },
      { state: 'up', coins: [] },
    ])
    const again = run.of('history').slice(5)
    expect(again.map(({ coin }) => coin)).toEqual(['B', 'D', 'F'])
  })

  test('the feed is up again only when the last lost socket is', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    const run = play(venue, { sockets: 2 })
    run.advance(5_000)
    for (const socket of venue.sockets) socket.drop()
    run.advance(10_000)
    const states = run.of('feed-status').map(({ state }) => state)
    expect(states).toEqual(['up', 'down', 'down', 'up'])
  })

  test('its coins wait for a new acknowledgement before their history is asked', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    venue.replyAfterMs = 5_000
    const run = play(venue, {
      needs: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - HOUR_MS }],
    })
    run.advance(7_000)
    expect(venue.candleRequests).toHaveLength(1)
    venue.isLosing = ({ coin }) => coin !== undefined
    venue.sockets[0]?.drop()
    run.advance(150_000)
    expect(run.of('feed-status').map(({ state }) => state)).toEqual(['up', 'down', 'up'])
    expect(run.of('history'), 'what was on its way is from before the loss').toEqual([])
    expect(venue.candleRequests).toHaveLength(1)
  })

  test('an earlier audit request does not replace the history request after it', () => {
    const venue = new ScriptedVenue({ coins: ['A'] })
    const request = { timeframe: '15m', fromMs: venue.nowMs - HOUR_MS } as const
    const run = play(venue, { needs: () => [request], auditOf: () => request })
    run.advance(2_000)
    venue.replyAfterMs = 5_000
    const before = venue.candleRequests.length
    while (venue.candleRequests.length === before) run.advance(100)
    venue.sockets[0]?.drop()
    const droppedMs = venue.nowMs
    run.advance(20_000)
    expect(run.of('feed-status').map(({ state }) => state)).toEqual(['up', 'down', 'up'])
    const [, ...after] = run.of('history')
    expect(after[0]?.timeReceivedMs, 'when it was asked').toBeGreaterThan(droppedMs)
  })

  test('the trades that the venue replays are delivered once', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    for (let step = 0; step < 5; step += 1) {
      run.advance(10_000)
      for (let trade = 0; trade < 12; trade += 1) venue.trade('BTC')
      venue.sockets.at(-1)?.drop()
    }
    run.advance(10_000)
    const ids = run.of('trade').map(({ tradeId }) => tradeId)
    expect(ids.length).toBeGreaterThanOrEqual(60)
    expect(new Set(ids).size).toBe(ids.length)
    expect(venue.tradesSent, 'the venue did replay').toBeGreaterThan(ids.length + 100)
  })

  test.prop([fc.integer({ min: 1 }), fc.integer({ min: 1, max: 8 })], { numRuns: 10 })(
    'back-off grows within its bounds and respects the connection limit',
    (seed, sockets) => {
      const venue = new ScriptedVenue({ coins: ['BTC'], seed })
      venue.isRefusing = true
      const run = play(venue, { sockets })
      run.advance(600_000)
      for (let socket = 0; socket < sockets; socket += 1) {
        const delays = run.notices.flatMap((notice) =>
          notice.kind === 'reconnect' && notice.socket === socket ? [notice.delayMs] : [],
        )
        expect(delays.length, 'nobody is passed over').toBeGreaterThan(10)
        for (const [index, delayMs] of delays.entries()) {
          expect(delayMs).toBeGreaterThanOrEqual(1_000)
          expect(delayMs).toBeLessThanOrEqual(Math.min(30_000, 1_000 * 2 ** index))
        }
      }
      expect(mostInAMinute(venue.connectionsMs)).toBeLessThanOrEqual(30)
    },
  )

  test('a long good connection starts the back-off afresh', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    const drop = (afterMs: number) => {
      run.advance(afterMs)
      venue.sockets.at(-1)?.drop()
    }
    for (let failure = 0; failure < 6; failure += 1) drop(31_000)
    drop(100_000)
    const delays = run.notices.flatMap((notice) =>
      notice.kind === 'reconnect' ? [notice.delayMs] : [],
    )
    expect(delays).toHaveLength(7)
    expect(Math.max(...delays)).toBeGreaterThan(2_000)
    expect(delays.at(-1)).toBe(1_000)
  })
})

describe('a dead socket', () => {
  test('is pinged every 20 seconds, and lives while it answers', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    play(venue).advance(90_000)
    const [socket] = venue.sockets
    const pings = socket?.heard.filter(({ text }) => text === '{"method":"ping"}') ?? []
    const openedMs = socket?.openedMs ?? 0
    expect(pings.map(({ atMs }) => atMs - openedMs)).toEqual([0, 20_000, 40_000, 60_000, 80_000])
    expect(venue.sockets).toHaveLength(1)
  })

  test('is replaced 15 seconds after a ping without pong, although data flow', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    run.advance(30_000)
    venue.isPonging = false
    for (let second = 0; second < 24; second += 1) {
      venue.trade('BTC')
      run.advance(1_000)
    }
    expect(venue.sockets).toHaveLength(1)
    run.advance(2_000)
    expect(run.of('feed-status').at(-1)).toMatchObject({ state: 'down', reason: 'pong_missing' })
    expect(venue.sockets[0]?.isClosed).toBe(true)
  })

  test('is replaced after 60 seconds in which nothing came, not even the handshake', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    venue.isHanging = true
    const run = play(venue)
    run.advance(59_000)
    expect(run.of('feed-status')).toEqual([])
    run.advance(4_000)
    expect(run.of('feed-status')).toMatchObject([{ state: 'down', reason: 'feed_silent' }])
  })
})

describe('a subscription that the venue leaves without an answer', () => {
  test('is sent again once where it is the answer that was lost', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    venue.acknowledgeAfterMs = (coin) => (coin === 'B' ? HOUR_MS : 0)
    const run = play(venue, {
      needs: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - HOUR_MS }],
    })
    run.advance(300_000)
    const sent = venue.sockets[0]?.heard.filter(({ text }) => /candle.*"B"/.test(text)) ?? []
    expect(sent).toHaveLength(2)
    const asked = run.of('history').map(({ coin }) => coin)
    expect(asked, 'and it is followed like any other').toContain('B')
  })

  test('is sent again, less and less often', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    venue.isLosing = (subscription) => subscription.coin === 'B' && subscription.type === 'candle'
    const run = play(venue)
    run.advance(300_000)
    const sent = venue.sockets[0]?.heard.filter(({ text }) => /candle.*"B"/.test(text)) ?? []
    expect(sent.length).toBeGreaterThan(3)
    expect(sent.length).toBeLessThan(7)
    venue.isLosing = () => false
    run.advance(330_000)
    expect(venue.subscribed('candle').toSorted()).toEqual(['A', 'B'])
  })
})

describe('a coin that falls silent while its socket lives', () => {
  const speak = (
    venue: ScriptedVenue,
    run: FeedRun,
    seconds: number,
    ...silent: readonly string[]
  ) => {
    venue.isTelling = (_, coin) => coin === undefined || !silent.includes(coin)
    run.advance(seconds * 1_000)
  }
  const needs = (_: string, nowMs: number) => [
    { timeframe: '15m', fromMs: nowMs - HOUR_MS } as const,
  ]

  test('is reported in-band, resubscribed, and its missing history is requested', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue, { needs })
    speak(venue, run, 30)
    const asked = run.of('history').length
    const heard = venue.sockets[0]?.heard.length
    speak(venue, run, 30, 'B')
    expect(run.of('silence')).toMatchObject([{ coin: 'B', channel: 'book', state: 'silent' }])
    const renewed = venue.sockets[0]?.heard.slice(heard).map(({ text }) => text)
    expect(renewed).toContainEqual(expect.stringContaining('"unsubscribe"'))
    speak(venue, run, 5, 'B')
    expect(run.of('history').slice(asked)).toMatchObject([{ coin: 'B' }])
    speak(venue, run, 10)
    expect(run.of('silence').at(-1)).toMatchObject({ coin: 'B', state: 'heard' })
    expect(
      run
        .of('history')
        .slice(asked)
        .map(({ coin }) => coin),
    ).toEqual(['B', 'B'])
    expect(venue.connectionsMs, 'the others lost nothing').toHaveLength(1)
  })

  test('has its connection replaced when new subscriptions do not help', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue, { needs })
    speak(venue, run, 30)
    speak(venue, run, 180, 'B')
    expect(run.of('feed-status')).toMatchObject([{}, { state: 'down', reason: 'coin_silent' }, {}])
    expect(venue.connectionsMs).toHaveLength(2)
  })

  test('has it replaced once, and is then resubscribed at growing intervals', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue, { needs })
    speak(venue, run, 30)
    speak(venue, run, 1_300, 'B')
    expect(venue.connectionsMs).toHaveLength(2)
    const found = run.notices.flatMap((one) => (one.kind === 'coin-silent' ? [one.times] : []))
    expect(found).toEqual([1, 2, 3, 4, 5, 6])
    speak(venue, run, 10)
    expect(run.of('silence').at(-1)).toMatchObject({ coin: 'B', state: 'heard' })
  })

  test('is not reported to the operator once another coin has its subscriptions', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    // Room for one coin.
    const run = play(venue, { needs, subscriptionsMax: 1 })
    run.advance(30_000)
    venue.dayNotional = (coin) => (coin === 'A' ? 1e6 : 1e9)
    run.advance(HOUR_MS)
    expect(venue.subscribed('l2Book')).toEqual(['B'])
    expect(run.of('silence')[0]).toMatchObject({ coin: 'A', state: 'silent' })
    expect(run.notices.filter(({ kind }) => kind === 'coin-silent')).toEqual([])
  })

  test('is not taken for one when all are silent', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue, { needs })
    speak(venue, run, 30)
    speak(venue, run, 50, ...venue.coins)
    expect(run.of('silence')).toEqual([])
  })
})

describe('a connection that answers pings and nothing else', () => {
  const silentFor = (run: FeedRun, venue: ScriptedVenue, type: string, seconds: number) => {
    venue.isTelling = (told) => told !== type
    run.advance(seconds * 1_000)
  }
  const subscriptionsOf = (venue: ScriptedVenue, type: string) =>
    venue.sockets.flatMap(({ heard }) =>
      heard
        .map(({ text }) => JSON.parse(text))
        .filter(({ method, subscription }) => method === 'subscribe' && subscription.type === type),
    )

  test('is replaced once no book of any coin has come for a minute', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue)
    run.advance(30_000)
    silentFor(run, venue, 'l2Book', 55)
    expect(venue.connectionsMs).toHaveLength(1)
    run.advance(10_000)
    expect(run.of('feed-status').map(({ reason }) => reason)).toContain('feed_silent')
    expect(venue.connectionsMs).toHaveLength(2)
  })

  test.each([
    ['allDexsAssetCtxs', 45],
    ['fastAssetCtxs', 15],
  ] as const)(
    'has %s renewed when it alone is silent for %d s, ever more rarely, and is not replaced',
    (channel, patienceSeconds) => {
      const venue = new ScriptedVenue({ coins: ['A', 'B'] })
      const run = play(venue)
      run.advance(6_000)
      silentFor(run, venue, channel, patienceSeconds - 2)
      expect(subscriptionsOf(venue, channel)).toHaveLength(1)
      run.advance(5_000)
      expect(run.notices).toContainEqual({ kind: 'channel-silent', socket: 0, channel })
      expect(subscriptionsOf(venue, channel)).toHaveLength(2)
      expect(venue.connectionsMs, 'the coins lose nothing').toHaveLength(1)
      run.advance(2_000 * patienceSeconds - 8_000)
      expect(subscriptionsOf(venue, channel)).toHaveLength(2)
      run.advance(10_000)
      expect(subscriptionsOf(venue, channel)).toHaveLength(3)
      expect(venue.connectionsMs).toHaveLength(1)
    },
  )

  test('is kept if a resubscribed channel delivers again', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    const run = play(venue)
    run.advance(6_000)
    silentFor(run, venue, 'allDexsAssetCtxs', 65)
    venue.isTelling = () => true
    run.advance(130_000)
    expect(venue.connectionsMs).toHaveLength(1)
    expect(run.notices.filter(({ kind }) => kind === 'channel-silent')).toHaveLength(1)
  })
})

test('an account whose fills cannot be read does not hold up the others', () => {
  const venue = new ScriptedVenue({ coins: ['BTC'] })
  const [busy, other] = ['aa', 'bb'].map((byte) => `0x${byte.repeat(20)}`)
  const userOf = (body: unknown) => {
    const { type, user } = body as { readonly type: string; readonly user?: string }
    return type === 'userFillsByTime' ? user : undefined
  }
  venue.reply = (body) => {
    const user = userOf(body)
    if (user === busy) return { status: 500, body: 'null' }
    return user === undefined ? undefined : { status: 200, body: '[]' }
  }
  const run = play(venue, {
    vaults: [],
    fillsToRead: (venueMs, isDeferred) => {
      const account = [busy, other].find((one) => one !== undefined && !isDeferred(one))
      return account === undefined
        ? null
        : { account, fromMs: venueMs - 10_000, untilMs: venueMs - 5_000 }
    },
  })
  run.advance(300_000)
  const users = venue.requests.map(({ body }) => userOf(body))
  expect(users.filter((user) => user === busy).length).toBeLessThan(10)
  expect(users.filter((user) => user === other).length).toBeGreaterThan(15)
})

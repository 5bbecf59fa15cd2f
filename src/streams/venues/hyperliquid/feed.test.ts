import { fc, test } from '@fast-check/vitest'
import type { SchedulerAction, Subscriber } from 'rxjs'
import { map, NEVER, Observable, timer, VirtualTimeScheduler } from 'rxjs'
import { describe, expect } from 'vitest'
import { OperatingError } from '../../../domain/errors.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import { memorySeries } from '../../../domain/history.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import type { HttpReply, Runtime } from '../../runtime.ts'
import type { FeedOptions, HistoryRequest } from './feed.ts'
import { hyperliquidFeed } from './feed.ts'
import type { FeedNotice } from './notice.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from './weight-budget.ts'

const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

describe('the start', () => {
  test('the universe and all contexts come first, whatever the venue answers before', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH', '-OLD'] })
    const failures: readonly HttpReply[] = [
      { status: 500, body: 'null' },
      { status: 200, body: '<html>' },
      { status: 429, body: '' },
    ]
    let attempts = 0
    venue.reply = () => failures[attempts++]
    const run = play(venue)
    run.advance(300_000)
    expect(run.events.slice(0, 4)).toMatchObject([
      {
        kind: 'universe',
        listings: [{ coin: 'BTC' }, { coin: 'ETH' }, { coin: 'OLD', isDelisted: true }],
      },
      { kind: 'context', coin: 'BTC' },
      { kind: 'context', coin: 'ETH' },
      { kind: 'context', coin: 'OLD', midPrice: null },
    ])
    expect(run.notices).toContainEqual(expect.objectContaining({ kind: 'paused' }))
    expect(run.notices.filter(({ kind }) => kind === 'request-failed')).toHaveLength(3)
    const [first, , third] = venue.requests
    expect(venue.sockets[0]?.openedMs).toBeGreaterThan((third?.atMs ?? 0) + 10_000)
    expect(first?.body).toEqual({ type: 'metaAndAssetCtxs' })
  })

  test('a venue that never answers is asked again', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    venue.isMute = true
    const run = play(venue)
    run.advance(40_000)
    expect(run.notices).toMatchObject([{ reason: expect.stringContaining('request_timeout') }])
    expect(venue.requests).toHaveLength(2)
  })

  test('says `up` once every socket hears the venue', () => {
    const run = play(new ScriptedVenue({ coins: ['BTC', 'ETH'] }), { sockets: 3 })
    run.advance(5_000)
    expect(run.of('feed-status')).toMatchObject([{ state: 'up', coins: [] }])
  })
})

describe('subscriptions', () => {
  test('what the metadata lists as alive, and the most traded coins closer', () => {
    const coins = Array.from({ length: 14 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins: [...coins, '-OLD', '@107'] })
    play(venue, { sockets: 3 }).advance(5_000)
    expect(venue.subscribed('fastAssetCtxs')).toEqual([undefined])
    expect(venue.subscribed('allDexsAssetCtxs')).toEqual([undefined])
    for (const type of ['trades', 'candle', 'l2Book'])
      expect(venue.subscribed(type).toSorted()).toEqual(coins.toSorted())
    for (const type of ['bbo', 'activeAssetCtx'])
      expect(venue.subscribed(type).toSorted(), 'the first have the highest volume').toEqual(
        coins.slice(0, 10).toSorted(),
      )
    for (const { heard } of venue.sockets)
      expect(heard.filter(({ text }) => text.includes('candle')).length).toBeGreaterThan(3)
  })

  test('stay under the venue limit however many coins it lists, and are paced', () => {
    const coins = Array.from({ length: 400 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins })
    play(venue, { sockets: 5 }).advance(60_000)
    const frames = venue.sockets.flatMap(({ heard }) => heard)
    const subscribed = frames.filter(({ text }) => text.includes('"subscribe"'))
    expect(subscribed.length, 'ten stay free, to try coins alone').toBeLessThanOrEqual(990)
    expect(subscribed.length).toBeGreaterThan(980)
    for (const { heard } of venue.sockets) {
      const sent = heard.filter(({ text }) => text.includes('"subscribe"'))
      for (const { atMs } of sent) {
        const close = sent.filter((other) => other.atMs > atMs - 100 && other.atMs <= atMs)
        expect(close.length).toBeLessThanOrEqual(20)
      }
    }
    expect(mostInAMinute(frames.map(({ atMs }) => atMs))).toBeLessThanOrEqual(2_000)
  })
})

describe('history', () => {
  const cold = (_: string, nowMs: number): readonly HistoryRequest[] => [
    { timeframe: '15m', fromMs: nowMs - 1_000 * timeframeMs['15m'] },
    { timeframe: '4h', fromMs: nowMs - 250 * timeframeMs['4h'] },
  ]

  test('by volume, the longer timeframe first, each as one event', () => {
    const venue = new ScriptedVenue({ coins: ['SMALL', 'BIG'] })
    venue.dayNotionalUsd = (coin) => (coin === 'BIG' ? 2e9 : 1e6)
    const run = play(venue, { needs: cold })
    run.advance(30_000)
    expect(run.of('history')).toMatchObject([
      { coin: 'BIG', timeframe: '4h' },
      { coin: 'BIG', timeframe: '15m' },
      { coin: 'SMALL', timeframe: '4h' },
      { coin: 'SMALL', timeframe: '15m' },
    ])
    expect(run.of('history').map(({ bars }) => bars.length)).toEqual([250, 1_000, 250, 1_000])
  })

  test.prop([fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 4, maxLength: 4 })], {
    numRuns: 20,
  })('is asked only after the venue acknowledged the candles of the coin', (delaysMs) => {
    const coins = ['A', 'B', 'C', 'D']
    const venue = new ScriptedVenue({ coins })
    venue.acknowledgeAfterMs = (coin) => delaysMs[coins.indexOf(coin)] ?? 0
    play(venue, { needs: cold }).advance(150_000)
    for (const coin of coins) {
      const asked = venue.requests.find(({ body }) => JSON.stringify(body).includes(`"${coin}"`))
      expect(asked?.atMs).toBeGreaterThanOrEqual(venue.acknowledgedMs.get(coin) ?? Infinity)
    }
  })

  test('carries when it was asked, however long the request waited and the reply took', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C', 'D'] })
    venue.replyAfterMs = 700
    const run = play(venue, { needs: cold, weightPerMinute: 60 })
    run.advance(1_200_000)
    const asked = venue.candleRequests
    expect(Math.max(...asked.map(({ atMs }) => atMs)) - START_MS).toBeGreaterThan(60_000)
    expect(run.of('history')).toHaveLength(8)
    for (const [index, event] of run.of('history').entries()) {
      expect(event.timeReceivedMs).toBe(asked[index]?.atMs)
      expect(event.timeExchangeMs, 'by the clock of the venue').toBe(event.timeReceivedMs - 300)
      expect(asked[index]?.body).toMatchObject({ req: { endTime: event.timeExchangeMs } })
    }
  })

  test('of a coin without bars yet is asked until they come, which is no failure', () => {
    const venue = new ScriptedVenue({ coins: ['NEW', 'OLD'] })
    venue.reply = (body) =>
      JSON.stringify(body).includes('"NEW"') && venue.nowMs < START_MS + 400_000
        ? { status: 200, body: '[]' }
        : undefined
    const run = play(venue, { needs: cold })
    const attempts = () =>
      venue.candleRequests.filter(({ body }) => JSON.stringify(body).includes('NEW')).length / 2
    run.advance(20_000)
    expect(attempts(), 'soon again').toBeGreaterThan(1)
    run.advance(370_000)
    expect(run.lacks('NEW')).toBe(true)
    expect(attempts(), 'it backs off').toBeLessThan(15)
    run.advance(320_000)
    expect(run.lacks('NEW')).toBe(false)
    expect(run.of('history').filter(({ coin }) => coin === 'OLD')).toHaveLength(2)
    expect(run.notices).toEqual([])
  })

  test('that the engine comes to lack later is asked within about a minute', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    const run = play(venue, { needs: cold })
    run.advance(30_000)
    run.forget('B')
    run.advance(61_000)
    const coins = run.of('history').map(({ coin }) => coin)
    expect(coins).toEqual(['A', 'A', 'B', 'B', 'B', 'B'])
    run.advance(300_000)
    expect(run.of('history'), 'and then no more').toHaveLength(6)
  })

  test('a coin that the venue refuses does not hold up the others, and is asked again later', () => {
    const venue = new ScriptedVenue({ coins: ['BAD', 'GOOD'] })
    let refusals = 2
    venue.reply = (body) =>
      JSON.stringify(body).includes('"BAD"') && refusals-- > 0
        ? { status: 500, body: 'null' }
        : undefined
    const run = play(venue, { needs: cold })
    run.advance(4_000)
    expect(run.of('history').map(({ coin }) => coin)).toEqual(['GOOD', 'GOOD'])
    run.advance(60_000)
    expect(run.of('history').map(({ coin }) => coin)).toEqual(['GOOD', 'GOOD', 'BAD', 'BAD'])
  })

  test.prop(
    [
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: 10, max: 3_000 }),
      fc.double({ min: 0, max: 0.3, noNaN: true }),
      fc.integer({ min: 1 }),
    ],
    { numRuns: 5 },
  )(
    'no minute costs the venue limit, of an engine that never has enough',
    (rows, latencyMs, refusalRate, seed) => {
      const venue = new ScriptedVenue({
        coins: Array.from({ length: 30 }, (_, index) => `C${index}`),
        seed,
      })
      venue.replyAfterMs = latencyMs
      venue.reply = () => (venue.random() < refusalRate ? { status: 502, body: '' } : undefined)
      const run = play(venue, {
        historyOf: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - rows * timeframeMs['15m'] }],
      })
      run.advance(200_000)
      expect(venue.requests.length).toBeGreaterThan(5)
      for (const { atMs } of venue.charges) {
        const minute = venue.charges.filter((one) => one.atMs > atMs - 60_000 && one.atMs <= atMs)
        expect(minute.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(1_200)
      }
    },
  )

  test('of bars that were closed is compared, one coin every ten seconds, when nothing is missing', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    const fromMs = START_MS - HOUR_MS
    const run = play(venue, { needs: cold, auditOf: () => ({ timeframe: '15m', fromMs }) })
    run.advance(20_000)
    const asked = venue.candleRequests.length
    run.advance(100_000)
    const audits = venue.candleRequests.slice(asked)
    expect(audits.length).toBeGreaterThanOrEqual(9)
    expect(audits.length).toBeLessThanOrEqual(11)
    expect(audits[0]?.body).toMatchObject({ req: { startTime: fromMs } })
    expect(new Set(audits.map(({ body }) => JSON.stringify(body).slice(0, 50))).size).toBe(2)
  })

  test('a 429 pauses every request for 10 to 60 seconds', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    let isRefused = false
    venue.reply = (body) => {
      if (isRefused || !JSON.stringify(body).includes('candleSnapshot')) return undefined
      isRefused = true
      return { status: 429, body: '' }
    }
    const run = play(venue, { needs: cold })
    run.advance(90_000)
    const [paused] = run.notices.filter((notice) => notice.kind === 'paused')
    const pauseMs = paused?.pauseMs ?? 0
    expect(pauseMs).toBeGreaterThanOrEqual(10_000)
    const [, refused, next] = venue.requests
    expect((next?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(pauseMs)
    expect(run.of('history')).toHaveLength(6)
  })
})

describe('what can wait', () => {
  const MONTH_MS = 720 * HOUR_MS
  const cold = (_: string, nowMs: number): readonly HistoryRequest[] => [
    { timeframe: '15m', fromMs: nowMs - 1_000 * timeframeMs['15m'] },
  ]
  const coins = Array.from({ length: 12 }, (_, index) => `C${index}`)
  const asked = (venue: ScriptedVenue, type: string) =>
    venue.requests.filter(({ body }) => (body as { type: string }).type === type)

  test('is asked of the ten most traded coins first, and of others when every coin is warm', () => {
    const venue = new ScriptedVenue({ coins })
    const run = play(venue, { needs: cold })
    run.advance(600_000)
    expect(run.of('history')).toHaveLength(12)
    const warmMs = venue.candleRequests.at(-1)?.atMs ?? Number.NaN
    const askedEarly = asked(venue, 'fundingHistory').filter(({ atMs }) => atMs < warmMs)
    const early = new Set(askedEarly.map(({ body }) => (body as { coin: string }).coin))
    expect([...early].sort()).toEqual(coins.slice(0, 10).sort())
    expect(new Set(run.of('funding-history').map(({ coin }) => coin))).toEqual(new Set(coins))
  })

  test('is a month of settled funding of every coin, page by page, the most traded first', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    const run = play(venue)
    run.advance(60_000)
    expect(asked(venue, 'fundingHistory')).toHaveLength(4)
    expect(run.of('funding-history').map(({ coin, rows }) => [coin, rows.length])).toEqual([
      ['A', 500],
      ['A', 221],
      ['B', 500],
      ['B', 221],
    ])
    const [first, second] = run.of('funding-history')
    expect(first?.timeReceivedMs).toBe(asked(venue, 'fundingHistory')[0]?.atMs)
    expect(first?.rows[0]?.timeMs).toBe(START_MS - MONTH_MS)
    expect(second?.rows.at(-1)).toMatchObject({ timeMs: START_MS, isSettled: true })
  })

  test('is, every hour, the hour that was settled, of one coin after the other', () => {
    const venue = new ScriptedVenue({ coins })
    const run = play(venue)
    run.advance(HOUR_MS + 59_000)
    const before = run.of('funding-history').length
    run.advance(180_000)
    const hourly = run.of('funding-history').slice(before)
    expect(hourly.map(({ rows }) => rows.map(({ timeMs }) => timeMs))).toEqual(
      coins.map(() => [START_MS + HOUR_MS]),
    )
    expect(new Set(hourly.map(({ coin }) => coin))).toEqual(new Set(coins))
    const times = hourly.map(({ timeReceivedMs }) => timeReceivedMs)
    expect(times[0]).toBeGreaterThanOrEqual(START_MS + HOUR_MS + 60_000)
    for (const [at, timeMs] of times.slice(1).entries())
      expect(timeMs - (times[at] ?? 0)).toBeGreaterThanOrEqual(9_900)
  })

  test('is what every coin pays next, every five minutes', () => {
    const run = play(new ScriptedVenue({ coins: ['A', 'B'] }))
    run.advance(1_000_000)
    const told = run.of('venue-fundings')
    expect(told.map(({ coin }) => coin)).toEqual(['A', 'B', 'A', 'B', 'A', 'B', 'A', 'B'])
    for (const { fundings, timeExchangeMs } of told)
      expect(fundings[0]?.nextFundingMs).toBe((Math.floor(timeExchangeMs / HOUR_MS) + 1) * HOUR_MS)
  })

  test('is a month of closed hours where the engine lacks them', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B'] })
    const known = new Set<string>()
    const run = play(venue, {
      hourlyOf: (coin, nowMs) => {
        if (run.of('hourly-history').some((event) => event.coin === coin)) known.add(coin)
        return known.has(coin) ? null : nowMs - MONTH_MS
      },
    })
    run.advance(60_000)
    const told = run.of('hourly-history')
    expect(told.map(({ coin }) => coin)).toEqual(['A', 'B'])
    expect(told[0]?.bars.at(-1)?.openTimeMs, 'one that ended just now may still change').toBe(
      START_MS - 2 * HOUR_MS,
    )
    expect(told[0]?.bars.length).toBe(718)
    expect(run.of('history')).toEqual([])
  })

  test('that the venue refuses is not asked again soon, and holds up nothing else', () => {
    const venue = new ScriptedVenue({ coins: ['BAD', 'GOOD'] })
    venue.reply = (body) =>
      JSON.stringify(body).includes('"fundingHistory","coin":"BAD"')
        ? { status: 500, body: 'null' }
        : undefined
    const run = play(venue)
    run.advance(50_000)
    const coinsAsked = () =>
      asked(venue, 'fundingHistory').map(({ body }) => (body as { coin: string }).coin)
    expect(coinsAsked()).toEqual(['BAD', 'GOOD', 'GOOD'])
    run.advance(900_000)
    expect(coinsAsked().filter((coin) => coin === 'BAD').length).toBeLessThan(8)
    const good = run.of('funding-history').filter(({ coin }) => coin === 'GOOD')
    expect(good.map(({ rows }) => rows.length)).toEqual([500, 221])
  })

  test('is not asked where our own history has it, which is told first', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', '-OLD'] })
    const read: string[] = []
    const rows = Array.from({ length: 720 }, (_, at) => ({
      coin: 'A',
      timeMs: START_MS - MONTH_MS + at * HOUR_MS,
      rateHourly: 0.0000125,
      premium: null,
      isSettled: true,
    }))
    const run = play(venue, {
      recall: (coin, series) => {
        read.push(`${coin} ${series}`)
        return coin === 'A' && series === 'fundings' ? { series, coin, rows } : null
      },
    })
    run.advance(60_000)
    expect(read).toEqual(memorySeries.flatMap((one) => ['A', 'B'].map((coin) => `${coin} ${one}`)))
    expect(run.of('funding-history')).toMatchObject([
      { coin: 'A', isRemembered: true, rows },
      { coin: 'B' },
      { coin: 'B' },
    ])
    expect(run.of('funding-history')[1]).not.toHaveProperty('isRemembered')
  })

  test('costs no minute more than the venue allows', () => {
    const venue = new ScriptedVenue({
      coins: Array.from({ length: 40 }, (_, index) => `C${index}`),
    })
    const run = play(venue, { needs: cold, hourlyOf: (_, nowMs) => nowMs - MONTH_MS })
    run.advance(600_000)
    expect(asked(venue, 'fundingHistory').length).toBeGreaterThan(60)
    for (const { atMs } of venue.charges) {
      const minute = venue.charges.filter((one) => one.atMs > atMs - 60_000 && one.atMs <= atMs)
      expect(minute.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(1_200)
    }
  })
})

describe('a lost socket', () => {
  test('is told in-band, replaced, resubscribed, and its history asked again', () => {
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

describe('the universe', () => {
  test('is fetched every minute and told only when it changed', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    const run = play(venue)
    run.advance(200_000)
    const metas = venue.requests.filter(({ body }) => JSON.stringify(body).includes('"meta"'))
    expect(metas).toHaveLength(3)
    expect(run.of('universe')).toHaveLength(1)
  })

  test('a new coin is subscribed, a delisted one no longer', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    const run = play(venue, {
      needs: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - HOUR_MS }],
    })
    run.advance(30_000)
    venue.coins = ['BTC', '-ETH', 'NEW']
    run.advance(35_000)
    expect(run.of('universe')).toHaveLength(2)
    expect(
      run
        .of('universe')
        .at(-1)
        ?.listings.map(({ coin }) => coin),
    ).toEqual(['BTC', 'ETH', 'NEW'])
    expect(venue.subscribed('candle')).toEqual(['BTC', 'NEW'])
    expect(venue.subscribed('trades')).toEqual(['BTC', 'NEW'])
    expect(run.of('history').map(({ coin }) => coin)).toEqual(['BTC', 'ETH', 'NEW'])
    venue.trade('NEW')
    run.advance(100)
    expect(run.of('trade').at(-1)).toMatchObject({ coin: 'NEW' })
    run.forget('ETH')
    run.advance(130_000)
    expect(run.of('history'), 'of the delisted one nothing is asked').toHaveLength(3)
  })

  test('contexts of another length have it fetched at once', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    run.advance(20_000)
    venue.coins = ['BTC', 'NEW']
    venue.sendContexts()
    run.advance(1_000)
    expect(run.notices).toContainEqual({ kind: 'frame-rejected', reason: 'context_length' })
    expect(run.of('universe')).toHaveLength(2)
    const known = run.of('context').length
    venue.sendContexts()
    run.advance(1_000)
    expect(run.of('context').slice(known)).toMatchObject([{ coin: 'BTC' }, { coin: 'NEW' }])
  })

  test('contexts that never fit do not starve the rest', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    run.advance(5_000)
    for (let tick = 0; tick < 600; tick += 1) {
      venue.send({ channel: 'allDexsAssetCtxs', data: { ctxs: [['', []]] } })
      run.advance(100)
    }
    const universes = venue.requests.filter(({ body }) => JSON.stringify(body).includes('meta'))
    expect(universes.length).toBeLessThan(15)
  })
})

describe('a name that the websocket does not know', () => {
  const needs = (_: string, nowMs: number) => [
    { timeframe: '15m', fromMs: nowMs - HOUR_MS } as const,
  ]

  test('costs only its own coin: whoever was subscribed with it is tried alone and let in again', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'BAD', 'C', 'D'] })
    venue.poison.add('BAD')
    const run = play(venue, { sockets: 2, needs })
    run.advance(60_000)
    const [quarantined] = run.notices.filter(({ kind }) => kind === 'quarantined')
    expect(quarantined).toMatchObject({ coins: expect.arrayContaining(['BAD']) })
    expect(run.notices).toContainEqual({ kind: 'probed', coin: 'BAD', isAccepted: false })
    for (const type of ['trades', 'candle', 'l2Book'])
      expect(venue.subscribed(type).toSorted()).toEqual(['A', 'B', 'C', 'D'])
    expect(new Set(run.of('history').map(({ coin }) => coin))).toEqual(
      new Set(['A', 'B', 'C', 'D']),
    )
    const connections = venue.connectionsMs.length
    run.advance(600_000)
    expect(
      venue.connectionsMs.length - connections,
      'it is tried more and more rarely',
    ).toBeLessThan(5)
    expect(run.of('feed-status').at(-1)).toMatchObject({ state: 'up' })
  })

  test('is let in once the venue takes it', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'BAD'] })
    venue.poison.add('BAD')
    const run = play(venue, { sockets: 2, needs })
    run.advance(30_000)
    venue.poison.clear()
    run.advance(120_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['A', 'BAD'])
    expect(run.notices).toContainEqual({ kind: 'probed', coin: 'BAD', isAccepted: true })
  })

  test('is not suspected of what a storm of closes does', () => {
    const coins = Array.from({ length: 40 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins })
    const run = play(venue, { sockets: 3, needs })
    for (let second = 0; second < 90; second += 1) {
      for (const socket of venue.sockets) if (!socket.isClosed) socket.drop()
      run.advance(1_000)
    }
    run.advance(180_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(coins.toSorted())
    expect(mostInAMinute(venue.connectionsMs)).toBeLessThanOrEqual(30)
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
  const speak = (venue: ScriptedVenue, run: Run, seconds: number, ...silent: readonly string[]) => {
    for (let second = 0; second < seconds; second += 5) {
      for (const coin of venue.coins) if (!silent.includes(coin)) venue.book(coin)
      run.advance(5_000)
    }
  }
  const needs = (_: string, nowMs: number) => [
    { timeframe: '15m', fromMs: nowMs - HOUR_MS } as const,
  ]

  test('is told in-band, subscribed anew, and what it missed is asked', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue, { needs })
    speak(venue, run, 30)
    const asked = run.of('history').length
    speak(venue, run, 30, 'B')
    expect(run.of('silence')).toMatchObject([{ coin: 'B', channel: 'book', state: 'silent' }])
    const renewed = venue.sockets[0]?.heard.map(({ text }) => text).slice(-6) ?? []
    expect(renewed.filter((text) => text.includes('"unsubscribe"')).length).toBeGreaterThan(0)
    run.advance(5_000)
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

  test('is not taken for one when all are silent', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'C'] })
    const run = play(venue, { needs })
    speak(venue, run, 30)
    run.advance(120_000)
    expect(run.of('silence')).toEqual([])
  })
})

describe('a bug is not taken for a failure of the venue', () => {
  const bug = new TypeError('a bug')
  const fail = () => {
    throw bug
  }

  test('while asking for history', () => {
    const run = play(new ScriptedVenue({ coins: ['BTC'] }), { historyOf: fail })
    run.advance(10_000)
    expect(run.error).toBe(bug)
  })

  test('while a frame is handled', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue, {
      onNotice: ({ kind }) => {
        if (kind === 'frame-rejected') fail()
      },
    })
    run.advance(5_000)
    venue.send('no frame of this venue')
    run.advance(60_000)
    expect(run.error).toBe(bug)
    expect(venue.connectionsMs).toHaveLength(1)
  })
})

test('unsubscribing closes every socket and asks nothing more', () => {
  const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
  const run = play(venue, { sockets: 2 })
  run.advance(5_000)
  run.stop()
  const asked = venue.requests.length
  run.advance(120_000)
  expect(venue.sockets.map(({ isClosed }) => isClosed)).toEqual([true, true])
  expect(venue.requests).toHaveLength(asked)
})

type Run = {
  readonly events: MarketEvent[]
  readonly notices: FeedNotice[]
  error: unknown
  /** The engine has lost what it knew of a coin. */
  forget(coin: string): void
  lacks(coin: string): boolean
  of<Kind extends MarketEvent['kind']>(kind: Kind): Extract<MarketEvent, { kind: Kind }>[]
  advance(byMs: number): void
  stop(): void
}

/** @param needs what the engine lacks of a coin at first, and again after its connection was lost */
function play(
  venue: ScriptedVenue,
  {
    needs = () => [],
    ...options
  }: Partial<FeedOptions> & { readonly needs?: FeedOptions['historyOf'] } = {},
): Run {
  /** Coins whose quarters the engine has folded: all that a real one makes of the events, in short. */
  const whole = new Set<string>()
  const fold = (event: MarketEvent) => {
    if (event.kind === 'history' && event.timeframe === '15m' && event.bars.length > 0)
      whole.add(event.coin)
    if (event.kind === 'silence') whole.delete(event.coin)
    if (event.kind === 'feed-status') for (const coin of event.coins) whole.delete(coin)
  }
  const notices: FeedNotice[] = []
  const events: MarketEvent[] = []
  const run: Run = {
    events,
    notices,
    error: undefined,
    forget: (coin) => whole.delete(coin),
    lacks: (coin) => !whole.has(coin),
    of: <Kind extends MarketEvent['kind']>(kind: Kind) =>
      events.filter((event): event is Extract<MarketEvent, { kind: Kind }> => event.kind === kind),
    advance: (byMs) => venue.advance(byMs),
    stop: () => subscription.unsubscribe(),
  }
  const feed = hyperliquidFeed(
    {
      wsUrl: 'ws://venue',
      infoUrl: 'http://venue/info',
      weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
      sockets: 1,
      historyOf: (coin, nowMs) => (whole.has(coin) ? [] : needs(coin, nowMs)),
      onNotice: (notice) => notices.push(notice),
      ...options,
    },
    venue.runtime,
  )
  const subscription = feed.subscribe({
    next: (batch) => {
      expect(batch.length, 'no batch is empty').toBeGreaterThan(0)
      events.push(...batch)
      batch.forEach(fold)
    },
    error: (cause) => {
      run.error = cause
    },
    complete: () => expect.fail('a feed never completes'),
  })
  return run
}

function mostInAMinute(timesMs: readonly number[]): number {
  return Math.max(
    ...timesMs.map(
      (untilMs) => timesMs.filter((atMs) => atMs > untilMs - 60_000 && atMs <= untilMs).length,
    ),
  )
}

const LATENCY_MS = 20

class ScriptedSocket {
  readonly heard: { readonly atMs: number; readonly text: string }[] = []
  readonly held = new Map<string, { readonly type: string; readonly coin?: string }>()
  openedMs = 0
  isClosed = false
  readonly #subscriber: Subscriber<string>

  constructor(subscriber: Subscriber<string>) {
    this.#subscriber = subscriber
  }

  send(message: unknown): void {
    this.#subscriber.next(JSON.stringify(message))
  }

  drop(): void {
    this.#subscriber.error(new OperatingError('socket_closed', 'closed with 1006'))
  }
}

/** A venue in virtual time that does what the real one does, or fails as the test says. */
class ScriptedVenue {
  readonly sockets: ScriptedSocket[] = []
  readonly connectionsMs: number[] = []
  readonly requests: { readonly atMs: number; readonly body: unknown }[] = []
  /** What the requests cost, when the venue counts it: once asked, and the rows once answered. */
  readonly charges: { readonly atMs: number; readonly weight: number }[] = []
  readonly acknowledgedMs = new Map<string, number>()
  /** `-NAME` is delisted. */
  coins: readonly string[]
  tradesSent = 0
  isMute = false
  isRefusing = false
  isHanging = false
  isPonging = true
  /** Its metadata lists them, its websocket does not know them. */
  readonly poison = new Set<string>()
  isLosing: (subscription: { type: string; coin?: string }) => boolean = () => false
  replyAfterMs = 50
  reply: (body: unknown) => HttpReply | undefined = () => undefined
  acknowledgeAfterMs: (coin: string) => number = () => LATENCY_MS
  dayNotionalUsd: (coin: string) => number = (coin) => 1e9 - this.coins.indexOf(coin)
  readonly #scheduler = new VirtualTimeScheduler()
  readonly #trades = new Map<string, object[]>()
  #seed: number
  #tradeId = 745_210_434_703_000

  constructor({ coins, seed = 1 }: { readonly coins: readonly string[]; readonly seed?: number }) {
    this.coins = coins
    this.#seed = seed
    this.#scheduler.frame = START_MS
  }

  /** A linear congruential generator: enough to scatter delays. */
  readonly random = (): number => {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0
    return this.#seed / 2 ** 32
  }

  readonly runtime: Runtime = {
    scheduler: this.#scheduler,
    random: this.random,
    connect: (_, outbound) =>
      new Observable<string>((subscriber) => {
        this.connectionsMs.push(this.nowMs)
        if (this.isRefusing) {
          subscriber.error(new OperatingError('socket_failed', 'refused'))
          return
        }
        const socket = new ScriptedSocket(subscriber)
        this.sockets.push(socket)
        if (!this.isHanging) {
          socket.openedMs = this.nowMs
          subscriber.add(outbound.subscribe((text) => this.#hear(socket, text)))
        }
        return () => {
          socket.isClosed = true
        }
      }),
    post: (_, body) => {
      this.requests.push({ atMs: this.nowMs, body })
      this.charges.push({ atMs: this.nowMs, weight: 20 })
      if (this.isMute) return NEVER
      return timer(this.replyAfterMs, this.#scheduler).pipe(
        map(() => this.reply(body) ?? { status: 200, body: JSON.stringify(this.#answer(body)) }),
      )
    },
  }

  advance(byMs: number): void {
    const untilMs = this.nowMs + byMs
    this.#scheduler.maxFrames = untilMs
    this.#scheduler.flush()
    this.#scheduler.frame = untilMs
  }

  send(message: unknown): void {
    this.#alive()[0]?.send(message)
  }

  sendContexts(): void {
    this.send({ channel: 'allDexsAssetCtxs', data: { ctxs: [['', this.#contexts()]] } })
  }

  trade(coin: string): void {
    const trades = this.#tradesOf(coin)
    trades.push(this.#newTrade(coin))
    for (const socket of this.#alive()) {
      const types = [...socket.held.values()].flatMap((one) =>
        one.coin === coin ? [one.type] : [],
      )
      if (types.includes('trades')) this.#sendTrades(socket, trades.slice(-1))
      if (types.includes('candle')) socket.send({ channel: 'candle', data: this.#candle(coin) })
    }
  }

  book(coin: string): void {
    const side = (px: string) => [{ px, sz: '1', n: 1 }]
    const data = { coin, time: this.nowMs - 300, levels: [side('99'), side('101')] }
    for (const socket of this.#alive())
      if ([...socket.held.values()].some((one) => one.type === 'l2Book' && one.coin === coin))
        socket.send({ channel: 'l2Book', data })
  }

  /** The coins of a kind of subscription that live sockets hold. */
  subscribed(type: string): readonly (string | undefined)[] {
    return this.#alive()
      .flatMap(({ held }) => [...held.values()])
      .flatMap((one) => (one.type === type ? [one.coin] : []))
  }

  get candleRequests(): ScriptedVenue['requests'] {
    return this.requests.filter(({ body }) => JSON.stringify(body).includes('candleSnapshot'))
  }

  get nowMs(): number {
    return this.#scheduler.now()
  }

  #alive(): readonly ScriptedSocket[] {
    return this.sockets.filter(({ isClosed }) => !isClosed)
  }

  #later(delayMs: number, task: () => void): void {
    this.#scheduler.schedule(function (this: SchedulerAction<unknown>) {
      task()
    }, delayMs)
  }

  #hear(socket: ScriptedSocket, text: string): void {
    socket.heard.push({ atMs: this.nowMs, text })
    const { method, subscription } = JSON.parse(text)
    if (method === 'ping') {
      if (this.isPonging) this.#later(LATENCY_MS, () => socket.send({ channel: 'pong' }))
      return
    }
    const key = JSON.stringify(subscription)
    if (method === 'unsubscribe') {
      expect(socket.held.delete(key), `${key} was held`).toBe(true)
      return
    }
    const { type, coin } = subscription
    if (socket.held.has(key)) {
      socket.send({ channel: 'error', data: `Already subscribed: ${key}` })
      if (type === 'candle') this.#noteAcknowledged(coin)
      return
    }
    if (coin !== undefined && this.poison.has(coin)) {
      this.#later(100, () => socket.drop())
      return
    }
    if (coin !== undefined && !this.coins.includes(coin)) {
      socket.drop()
      return
    }
    if (this.isLosing(subscription)) return
    socket.held.set(key, subscription)
    this.#later(coin === undefined ? LATENCY_MS : this.acknowledgeAfterMs(coin), () => {
      socket.send({ channel: 'subscriptionResponse', data: { method, subscription } })
      if (type === 'candle') this.#noteAcknowledged(coin)
      if (type === 'l2Book' && coin === this.coins.find((name) => !name.startsWith('-')))
        this.book(coin)
      if (type === 'trades') this.#sendTrades(socket, this.#tradesOf(coin).slice(-30))
    })
  }

  #noteAcknowledged(coin: string): void {
    if (!this.acknowledgedMs.has(coin)) this.acknowledgedMs.set(coin, this.nowMs)
  }

  #tradesOf(coin: string): object[] {
    let trades = this.#trades.get(coin)
    if (trades === undefined) {
      trades = Array.from({ length: 30 }, () => this.#newTrade(coin))
      this.#trades.set(coin, trades)
    }
    return trades
  }

  #candle(coin: string): object {
    const stepMs = timeframeMs['15m']
    const t = Math.floor(this.nowMs / stepMs) * stepMs
    const [o, h, l, c] = ['100', '101', '99', '100.5']
    return { t, T: t + stepMs - 1, s: coin, i: '15m', o, h, l, c, v: '5', n: 1 }
  }

  #newTrade(coin: string): object {
    this.#tradeId += 1
    return { coin, side: 'B', px: '100.5', sz: '0.1', time: this.nowMs, tid: this.#tradeId }
  }

  #sendTrades(socket: ScriptedSocket, trades: readonly object[]): void {
    this.tradesSent += trades.length
    socket.send({ channel: 'trades', data: trades })
  }

  #answer(body: unknown): unknown {
    const { type, req } = JSON.parse(JSON.stringify(body))
    if (type === 'meta') return this.#meta()
    if (type === 'metaAndAssetCtxs') return [this.#meta(), this.#contexts()]
    if (type === 'predictedFundings') return this.#predictions()
    if (type === 'fundingHistory') return this.#fundings(JSON.parse(JSON.stringify(body)))
    const stepMs = timeframeMs[req.interval as keyof typeof timeframeMs]
    const rows: object[] = []
    const firstMs = Math.ceil(req.startTime / stepMs) * stepMs
    for (let t = firstMs; t < req.endTime && rows.length < 5_000; t += stepMs) {
      const [o, h, l, c] = ['100', '101', '99', '100.5']
      rows.push({ t, T: t + stepMs - 1, s: req.coin, i: req.interval, o, h, l, c, v: '5', n: 1 })
    }
    this.charges.push({ atMs: this.nowMs, weight: Math.floor(rows.length / 60) })
    return rows
  }

  #predictions(): object {
    const nextFundingTime = Math.floor(this.nowMs / HOUR_MS) * HOUR_MS
    return this.coins.map((coin) => [
      coin,
      [['HlPerp', { fundingRate: '0.0000125', nextFundingTime, fundingIntervalHours: 1 }]],
    ])
  }

  #fundings({ coin, startTime }: { readonly coin: string; readonly startTime: number }): object {
    const rows: object[] = []
    const firstMs = Math.ceil(startTime / HOUR_MS) * HOUR_MS
    for (let time = firstMs; time < this.nowMs && rows.length < 500; time += HOUR_MS)
      rows.push({ coin, fundingRate: '0.0000125', premium: '0.0001', time: time + 50 })
    this.charges.push({ atMs: this.nowMs, weight: Math.floor(rows.length / 20) })
    return rows
  }

  #meta(): object {
    const universe = this.coins.map((name) => {
      const listing = { szDecimals: 2, maxLeverage: 10, marginTableId: 10 }
      return name.startsWith('-')
        ? { name: name.slice(1), ...listing, isDelisted: true }
        : { name, ...listing }
    })
    return { universe, marginTables: [], collateralToken: 0 }
  }

  #contexts(): readonly object[] {
    return this.coins.map((coin) => {
      const prices = { markPx: '100', oraclePx: '100', prevDayPx: '99' }
      const day = { dayNtlVlm: String(this.dayNotionalUsd(coin)), dayBaseVlm: '1' }
      const other = { funding: '0.0000125', openInterest: '10' }
      const book = coin.startsWith('-')
        ? { midPx: null, premium: null, impactPxs: null }
        : { midPx: '100', premium: '0', impactPxs: ['99', '101'] }
      return { ...prices, ...day, ...other, ...book }
    })
  }
}

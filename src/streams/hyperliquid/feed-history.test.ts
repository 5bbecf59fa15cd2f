import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { memorySeries } from '../../domain/history.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { HistoryRequest } from './backfill/feed-parts.ts'
import { play } from './testing/feed-run.ts'
import { ScriptedVenue, START_MS } from './testing/scripted-venue.ts'

const HOUR_MS = 3_600_000

describe('history', () => {
  const cold = (_: string, nowMs: number): readonly HistoryRequest[] => [
    { timeframe: '15m', fromMs: nowMs - 1_000 * timeframeMs['15m'] },
    { timeframe: '4h', fromMs: nowMs - 250 * timeframeMs['4h'] },
  ]

  test('by volume, the longer timeframe first, each as one event', () => {
    const venue = new ScriptedVenue({ coins: ['SMALL', 'BIG'] })
    venue.dayNotional = (coin) => (coin === 'BIG' ? 2e9 : 1e6)
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
    }
  })

  test.each([-30_000, 30_000])(
    'is asked up to now, where the clock that stamps books is off by %i ms',
    (offMs) => {
      const venue = new ScriptedVenue({ coins: ['A'] })
      venue.clockOffMs = offMs
      const run = play(venue, { needs: cold })
      run.advance(30_000)
      const asked = venue.candleRequests
      expect(asked.length).toBeGreaterThan(0)
      for (const { atMs, body } of asked) expect(body).toMatchObject({ req: { endTime: atMs } })
    },
  )

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

  test('that was corrupted in transit is not emitted, and requested again', () => {
    const venue = new ScriptedVenue({ coins: ['A'] })
    const row = (hour: number, fundingRate: string) => ({
      coin: 'A',
      fundingRate,
      premium: '0.0001',
      time: START_MS - hour * HOUR_MS + 50,
    })
    const replies = [
      [row(2, '0.0000125'), row(1, '0.0000325'), row(0, '0.0000125')],
      [row(1, '0.0000125'), row(0, '0.0000125')],
    ]
    venue.reply = (body) => {
      if (!JSON.stringify(body).includes('"fundingHistory"')) return undefined
      return { status: 200, body: JSON.stringify(replies.shift() ?? []) }
    }
    const run = play(venue)
    run.advance(180_000)
    expect(run.of('funding-history').map(({ rows }) => rows.map(({ timeMs }) => timeMs))).toEqual([
      [START_MS - 2 * HOUR_MS, START_MS],
      [START_MS - HOUR_MS, START_MS],
    ])
    expect(replies, 'both were asked for').toEqual([])
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

  test('is not requested if our own history has it, which is emitted first', () => {
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
      loadHistory: (coin, series) => {
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

import type { Subscriber } from 'rxjs'
import { NEVER, Observable, VirtualTimeScheduler } from 'rxjs'
import { beforeEach, describe, expect, test } from 'vitest'
import { OperatingError } from '../../domain/errors.ts'
import type { MarketEvent } from '../../domain/event.ts'
import { liquidationFeed } from './liquidation-feed.ts'

const START_MS = Date.UTC(2026, 5, 1)
const VAULT = `0x${'ee'.repeat(20)}`
const USER = `0x${'a1'.repeat(20)}`
const MAKER = `0x${'b2'.repeat(20)}`
const ACKNOWLEDGEMENT = { type: 'subscriptionUpdate' }

describe('the feed of all liquidations', () => {
  let scheduler: VirtualTimeScheduler
  let sockets: Subscriber<string>[]
  let sent: string[]
  let events: MarketEvent[]
  let failures: string[]
  const runTo = (seconds: number) => {
    scheduler.maxFrames = START_MS + 1_000 * seconds
    scheduler.flush()
    scheduler.frame = scheduler.maxFrames
  }
  const send = (frame: object) => sockets.at(-1)?.next(JSON.stringify(frame))
  const fill = (tid: number, liquidatedUser = USER, side = 'A', dir = 'Close Long') => ({
    ...{ coin: 'ETH', px: '99', sz: '2', side, time: scheduler.now() - 200, dir, tid },
    liquidation: { liquidatedUser, markPx: '100', method: 'market' },
  })

  beforeEach(() => {
    scheduler = new VirtualTimeScheduler()
    scheduler.frame = START_MS
    ;[sockets, sent, events, failures] = [[], [], [], []]
    const connect = (_: string, outbound: Observable<string>) =>
      new Observable<string>((subscriber) => {
        sockets.push(subscriber)
        subscriber.add(outbound.subscribe((text) => sent.push(text)))
      })
    liquidationFeed(
      {
        url: 'wss://vendor',
        isVault: (account) => account === VAULT,
        figuresOf: () => ({ markPrice: 100, openInterestBase: 1_000 }),
        onDrop: () => {},
        onFailure: (reason) => failures.push(reason),
      },
      { scheduler, connect, random: () => 0.5, post: () => NEVER },
    ).subscribe((batch) => events.push(...batch))
  })

  test('subscribes once per connection and answers pings', () => {
    runTo(70)
    expect(sent.map((text) => JSON.parse(text).type)).toEqual(['subscribe', 'pong', 'pong'])
    expect(JSON.parse(sent[0] ?? '').subscription).toEqual({ type: 'liquidationFills' })
  })

  test('a refused subscription covers nothing', () => {
    send({ type: 'error', message: 'expired key' })
    runTo(200)
    expect(events).toEqual([])
    expect(failures[0]).toContain('refused the subscription')
  })

  test('delivers a trade of two accounts once, but neither vaults nor deleveraging nor other frames', () => {
    send(ACKNOWLEDGEMENT)
    send({
      ...{ type: 'liquidationFills', channel: 'liquidationFills' },
      fills: [
        [USER, fill(1)],
        [MAKER, fill(1, USER, 'B', 'Open Long')],
        [VAULT, fill(2, VAULT)],
        [MAKER, fill(3, USER, 'B', 'Auto-Deleveraging')],
      ],
    })
    send({ channel: 'liquidationFills', fills: 'none' })
    send({ channel: 'other', fills: [[USER, fill(4)]] })
    sockets.at(-1)?.next('not json')
    const found = events.filter((event) => event.kind === 'liquidation')
    expect(found).toMatchObject([{ tradeId: 1, account: USER, side: 'long', method: 'market' }])
  })

  test('covers from the acknowledgement until shortly before the last frame, and not while it is lost', () => {
    send(ACKNOWLEDGEMENT)
    runTo(40)
    send({ type: 'ping' })
    runTo(50)
    sockets.at(-1)?.error(new OperatingError('socket_closed', 'closed'))
    expect(failures).toEqual(['closed'])
    runTo(60)
    send(ACKNOWLEDGEMENT)
    runTo(80)
    send({ type: 'ping' })
    const spans = events.flatMap((event) =>
      event.kind === 'liquidation-feed'
        ? [[(event.fromMs - START_MS) / 1_000, (event.untilMs - START_MS) / 1_000]]
        : [],
    )
    expect(spans).toEqual([
      [0, 0],
      [0, 35],
      [60, 60],
      [60, 75],
    ])
  })

  test('a vendor that sends nothing but pings covers nothing', () => {
    for (let second = 0; second <= 200; second += 50) {
      runTo(second)
      send({ type: 'ping' })
    }
    expect(sockets).toHaveLength(1)
    expect(events).toEqual([])
  })

  test('covers nothing before a fill that it could not read, or not its coin', () => {
    send(ACKNOWLEDGEMENT)
    for (const [second, wrong] of [
      [20, { sz: '-2' }],
      [40, { coin: 7 }],
    ] as const) {
      runTo(second)
      send({ channel: 'liquidationFills', fills: [[USER, { ...fill(1), ...wrong }]] })
    }
    runTo(60)
    send({ type: 'ping' })
    const found = events.flatMap((event) => {
      if (event.kind !== 'liquidation-feed' && event.kind !== 'liquidation-gap') return []
      const seconds = [event.fromMs, event.untilMs].map((timeMs) => (timeMs - START_MS) / 1_000)
      return [[event.kind === 'liquidation-gap' ? event.coin : 'all', ...seconds]]
    })
    expect(found).toEqual([
      ['all', 0, 0],
      ['all', 0, 15],
      ['ETH', 0, 20],
      ['all', 40, 40],
      ['all', 40, 55],
    ])
  })

  test('a vendor that ends each connection after its first frames is asked ever more rarely', () => {
    for (let second = 1; second <= 600; second += 1) {
      send(ACKNOWLEDGEMENT)
      if (failures.length < sockets.length)
        sockets.at(-1)?.error(new OperatingError('socket_closed', 'closed'))
      runTo(second)
    }
    expect(sockets.length).toBeGreaterThan(5)
    expect(sockets.length).toBeLessThan(30)
  })

  test('a silent connection is replaced', () => {
    runTo(100)
    expect(failures).toHaveLength(1)
    runTo(110)
    expect(sockets).toHaveLength(2)
  })
})

import type { Subscriber } from 'rxjs'
import { EMPTY, Observable, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { OperatingError } from '../../../domain/errors.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import { HttpStatusError } from '../../http-exchange.ts'
import type { SourceNotice } from '../source.ts'
import { bybit } from './bybit.ts'
import { coinbase } from './coinbase.ts'
import { exchangeSource } from './exchange-source.ts'
import { kraken } from './kraken.ts'
import { okx } from './okx.ts'
import type { ExchangeProtocol } from './protocol.ts'

const START_MS = Date.UTC(2026, 4, 30, 12)
const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

type Socket = {
  readonly url: string
  readonly openedMs: number
  readonly received: { readonly atMs: number; readonly text: string }[]
  readonly subscriber: Subscriber<string>
}

/** Sockets of a scripted exchange. */
class Script {
  readonly events: MarketEvent[] = []
  readonly notices: SourceNotice[] = []
  readonly sockets: Socket[] = []
  assets: readonly string[] = ['BTC', 'ETH']
  chance = 0.5
  /** Whether a connection opens; what it fails with if not. */
  refuse: (url: string) => Error | null = () => null
  answer: (text: string, socket: Socket) => void = () => {}
  readonly #scheduler = new VirtualTimeScheduler()
  #skippedMs = 0

  constructor(protocol: ExchangeProtocol, urls: readonly string[] = ['ws://one']) {
    this.#scheduler.frame = START_MS
    this.#scheduler.now = () => this.#scheduler.frame + this.#skippedMs
    const runtime = {
      scheduler: this.#scheduler,
      random: () => this.chance,
      post: () => EMPTY,
      get: () => EMPTY,
      follow: () => EMPTY,
      connect: (url: string, outbound: Observable<string>) => this.#connect(url, outbound),
    }
    const context = {
      assets: () => this.assets,
      onNotice: (notice: SourceNotice) => this.notices.push(notice),
    }
    exchangeSource(protocol)({ urls }, context, runtime).subscribe({
      next: (batch) => this.events.push(...batch),
      error: (cause) => expect.fail(String(cause)),
      complete: () => expect.fail('a source never completes'),
    })
  }

  get nowMs(): number {
    return this.#scheduler.now()
  }

  get socket(): Socket {
    const socket = this.sockets.at(-1)
    return socket ?? expect.fail('no connection was opened')
  }

  /** `state reason seconds` of every status event. */
  get states(): readonly string[] {
    return this.events.flatMap((event) =>
      event.kind === 'source-status'
        ? [`${event.state} ${event.reason} ${(event.timeReceivedMs - START_MS) / SECOND_MS}`]
        : [],
    )
  }

  get quotes() {
    return this.events.filter((event) => event.kind === 'exchange-quote')
  }

  advance(byMs: number): void {
    const untilMs = this.#scheduler.frame + byMs
    this.#scheduler.maxFrames = untilMs
    this.#scheduler.flush()
    this.#scheduler.frame = untilMs
  }

  /** Advances the clock without running the timers in between. */
  skip(byMs: number): void {
    this.#skippedMs += byMs
  }

  say(message: object | string): void {
    this.socket.subscriber.next(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** A quote frame of OKX. */
  quote(instId: string, mid: number, ageMs = 5): void {
    const [bids, asks] = [[[`${mid - 0.01}`, '1']], [[`${mid + 0.01}`, '1']]]
    this.say({
      arg: { channel: 'bbo-tbt', instId },
      data: [{ bids, asks, ts: String(this.nowMs - ageMs) }],
    })
  }

  /** Once a second, for so long. */
  keepQuoting(instIds: readonly string[], forMs: number): void {
    const untilMs = this.nowMs + forMs
    while (this.nowMs < untilMs) {
      for (const instId of instIds) this.quote(instId, 100)
      this.advance(Math.min(SECOND_MS, untilMs - this.nowMs))
    }
  }

  #connect(url: string, outbound: Observable<string>): Observable<string> {
    return new Observable<string>((subscriber) => {
      const socket = { url, openedMs: this.nowMs, received: [], subscriber }
      this.sockets.push(socket)
      const error = this.refuse(url)
      if (error !== null) {
        subscriber.error(error)
        return
      }
      subscriber.add(outbound.subscribe((text) => this.#receive(text, socket)))
    })
  }

  #receive(text: string, socket: Socket): void {
    socket.received.push({ atMs: this.nowMs, text })
    this.answer(text, socket)
  }
}

/** Accepts every subscription and answers pings. */
function agreeing(urls?: readonly string[]): Script {
  const script = new Script(okx, urls)
  script.answer = (text, { subscriber }) => {
    if (text === 'ping') subscriber.next('pong')
    else
      for (const arg of (JSON.parse(text) as { args: object[] }).args)
        subscriber.next(JSON.stringify({ event: 'subscribe', arg }))
  }
  return script
}

describe('the start', () => {
  test('is down at first and up with the first quote', () => {
    const script = agreeing()
    expect(script.states).toEqual(['down connecting 0'])
    script.advance(2 * SECOND_MS)
    script.quote('BTC-USDT', 100)
    script.advance(SECOND_MS)
    expect(script.states).toEqual(['down connecting 0', 'up  2.25'])
    expect(script.events.slice(1)).toMatchObject([
      { kind: 'source-status', source: 'okx' },
      {
        kind: 'exchange-quote',
        asset: 'BTC',
        timeExchangeMs: START_MS + 1_995,
        timeReceivedMs: START_MS + 2_000,
      },
    ])
  })

  test('subscribes the assets as soon as they are known', () => {
    const script = agreeing()
    script.assets = []
    script.advance(SECOND_MS)
    script.assets = ['BTC']
    script.advance(2 * SECOND_MS)
    const asked = script.socket.received.filter(({ text }) => text.includes('subscribe'))
    expect(asked.map(({ text }) => text.match(/[A-Z]+-USD[CT]/g))).toEqual([
      ['USDC-USDT'],
      ['BTC-USDT', 'BTC-USDC'],
    ])
  })

  test('sends the opening of the protocol first', () => {
    const script = new Script(coinbase)
    script.advance(10)
    expect(JSON.parse(script.socket.received[0]?.text ?? '')).toEqual({
      type: 'subscribe',
      channels: [{ name: 'heartbeat', product_ids: ['BTC-USD'] }],
    })
  })

  test.each([
    [okx, 'ping'],
    [bybit, '{"op":"ping"}'],
  ])('$exchange gets a ping every ten seconds', (protocol, ping) => {
    const script = new Script(protocol)
    for (let second = 0; second < 55; second += 1) {
      script.advance(SECOND_MS)
      script.say('pong')
    }
    const pings = script.socket.received.filter(({ text }) => text === ping)
    expect(pings.map(({ atMs }) => (atMs - START_MS) / SECOND_MS)).toEqual([10, 20, 30, 40, 50])
  })

  test('requests come at most four times a second', () => {
    const script = new Script(bybit)
    script.assets = Array.from({ length: 200 }, (_, index) => `C${index}`)
    script.answer = (_, { subscriber }) =>
      subscriber.next(JSON.stringify({ success: true, op: 'subscribe' }))
    script.advance(5 * SECOND_MS)
    const times = script.socket.received.map(({ atMs }) => atMs)
    expect(times).toHaveLength(7)
    for (const [index, atMs] of times.entries())
      expect(atMs - (times[index - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(250)
  })
})

describe('quotes', () => {
  test('of a product are emitted at most four times a second, the newest each time', () => {
    const script = agreeing()
    script.advance(SECOND_MS)
    for (let tick = 0; tick < 100; tick += 1) {
      script.quote('BTC-USDT', 100 + tick / 100)
      script.advance(10)
    }
    script.advance(SECOND_MS)
    expect(script.quotes.length).toBeLessThanOrEqual(5)
    expect(script.quotes.length).toBeGreaterThanOrEqual(4)
    expect(script.quotes.at(-1)?.bid).toBeCloseTo(100.98, 9)
  })

  test('of unknown products are dropped', () => {
    const script = agreeing()
    script.advance(SECOND_MS)
    script.quote('DOGE-USDT', 1)
    script.advance(SECOND_MS)
    expect(script.quotes).toEqual([])
    expect(script.notices).toMatchObject([{ kind: 'unknown_product', detail: 'DOGE-USDT' }])
  })

  test('that are implausible and frames that cannot be decoded give notices', () => {
    const script = agreeing()
    script.advance(SECOND_MS)
    script.quote('BTC-USDT', 0.5)
    script.say('<html>')
    script.say({ arg: { channel: 'bbo-tbt', instId: 'BTC-USDT' }, data: [{}] })
    script.say({ event: 'error', code: '60014', msg: 'too frequent' })
    script.advance(SECOND_MS)
    expect(script.quotes).toEqual([])
    expect(script.notices.map(({ kind, detail }) => `${kind}: ${detail}`)).toEqual([
      'quote_refused: BTC-USDT: wide_spread',
      'undecodable: not_json',
      'undecodable: bad_quote',
      'complaint: 60014: too frequent',
    ])
  })
})

describe('an outage', () => {
  test('a lost connection is down at once; the first quote of the next one is up', () => {
    const script = agreeing()
    script.keepQuoting(['BTC-USDT'], 90 * SECOND_MS)
    script.socket.subscriber.error(new OperatingError('socket_closed', 'x'))
    expect(script.states.slice(2)).toEqual(['down socket_closed 90'])
    script.keepQuoting([], 2 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
    expect(script.states).toHaveLength(3)
    script.keepQuoting(['BTC-USDT'], 2 * SECOND_MS)
    expect(script.states[3]).toBe('up  92.25')
  })

  test('quotes received before it are emitted before the status', () => {
    const script = agreeing()
    script.advance(SECOND_MS)
    script.quote('BTC-USDT', 100)
    script.socket.subscriber.error(new OperatingError('socket_closed', 'x'))
    expect(script.events.slice(-2)).toMatchObject([
      { kind: 'exchange-quote', bid: 99.99 },
      { kind: 'source-status', reason: 'socket_closed' },
    ])
  })

  test('a connection without frames ends after fifteen seconds', () => {
    const script = new Script(kraken)
    script.advance(14_900)
    expect(script.sockets).toHaveLength(1)
    script.advance(1_200)
    expect(script.sockets).toHaveLength(2)
    expect(script.notices).toMatchObject([
      {
        kind: 'reconnect',
        detail: expect.stringContaining('sent no frame for 15 s; attempt 2 in'),
      },
    ])
  })

  test('a connection without quotes is replaced after a minute', () => {
    const script = agreeing()
    script.advance(59 * SECOND_MS)
    expect(script.sockets).toHaveLength(1)
    script.advance(5 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
    expect(script.notices.at(-1)?.detail).toContain('sent no quote for 60 s')
  })

  test('a connection without quotes leads to the next address, with growing pauses', () => {
    const script = agreeing(['ws://one', 'ws://two'])
    script.chance = 1
    script.advance(180 * SECOND_MS)
    expect(script.sockets.map(({ url }) => url)).toEqual(['ws://one', 'ws://two', 'ws://one'])
    const openedMs = script.sockets.map((socket) => socket.openedMs - START_MS)
    expect(openedMs).toEqual([0, 61 * SECOND_MS, 123 * SECOND_MS])
  })

  test('a connection whose quotes end leads to the next address as well, after a second', () => {
    const script = agreeing(['ws://one', 'ws://two'])
    script.keepQuoting(['BTC-USDT'], 90 * SECOND_MS)
    script.keepQuoting([], 62 * SECOND_MS)
    expect(script.sockets.map(({ url }) => url)).toEqual(['ws://one', 'ws://two'])
  })

  test('the last quote before a halt, repeated at the next connection, keeps its time', () => {
    const script = agreeing()
    script.keepQuoting(['BTC-USDT'], 10 * SECOND_MS)
    script.keepQuoting([], 65 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
    const [notices, haltedMs] = [script.notices.length, script.nowMs - 65 * SECOND_MS]
    for (let seconds = 0; seconds < 61; seconds += 1) {
      script.quote('BTC-USDT', 100, script.nowMs - haltedMs)
      script.advance(SECOND_MS)
    }
    const halted = { timeExchangeMs: haltedMs, timeReceivedMs: haltedMs }
    expect(script.quotes.at(-1)).toMatchObject(halted)
    expect(script.states.at(-1)).toContain('down quotes_missing')
    expect(script.sockets, 'such quotes keep no connection').toHaveLength(3)
    expect(script.notices.slice(notices).map(({ kind }) => kind)).toEqual(['reconnect'])
    script.quote('BTC-USDT', 101)
    script.advance(SECOND_MS)
    expect(script.states.at(-1)).toMatch(/^up /)
  })

  test('an announced shutdown replaces the connection', () => {
    const script = agreeing()
    script.advance(SECOND_MS)
    script.say({ event: 'notice', code: '64008', msg: 'soon' })
    expect(script.notices.at(-1)?.detail).toContain('announced a shutdown')
    script.advance(2 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
  })

  test.each([0, 0.25, 0.999])('is retried after 1 to 60 s, by chance (%d)', (chance) => {
    const script = new Script(okx)
    script.chance = chance
    script.refuse = () => new OperatingError('socket_failed', 'x')
    script.socket.subscriber.error(new OperatingError('socket_failed', 'x'))
    script.advance(600 * SECOND_MS)
    const gapsMs = script.sockets
      .slice(1)
      .map(({ openedMs }, index) => openedMs - (script.sockets[index]?.openedMs ?? 0))
    expect(Math.min(...gapsMs)).toBe(1_000)
    expect(Math.max(...gapsMs)).toBeCloseTo(1_000 + chance * 59_000, 0)
    expect(script.states).toEqual(['down connecting 0', 'down socket_failed 0'])
  })

  test('attempts alternate between the addresses; a stable connection returns to the first', () => {
    const script = agreeing(['ws://one', 'ws://two'])
    script.refuse = (url) => (url === 'ws://one' ? new OperatingError('socket_failed', 'x') : null)
    script.socket.subscriber.error(new OperatingError('socket_failed', 'x'))
    script.advance(10 * SECOND_MS)
    expect(script.sockets.map(({ url }) => url)).toEqual(['ws://one', 'ws://two'])
    script.refuse = () => null
    script.keepQuoting(['BTC-USDT'], 90 * SECOND_MS)
    script.socket.subscriber.error(new OperatingError('socket_closed', 'x'))
    script.advance(2 * SECOND_MS)
    expect(script.socket.url).toBe('ws://one')
  })
})

describe('a region block', () => {
  test.each([403, 451])('%d is reported as blocked and retried after hours', (status) => {
    const script = new Script(okx)
    script.refuse = () => new HttpStatusError(status, 'ws://one')
    script.socket.subscriber.error(new HttpStatusError(status, 'ws://one'))
    expect(script.states).toEqual(['down connecting 0', `blocked HTTP ${status} 0`])
    script.advance(4 * HOUR_MS)
    expect(script.sockets).toHaveLength(1)
    script.advance(HOUR_MS)
    expect(script.sockets).toHaveLength(2)
    expect(script.states).toHaveLength(2)
  })

  test('of one address leads to the other one', () => {
    const script = agreeing(['ws://one', 'ws://two'])
    script.socket.subscriber.error(new HttpStatusError(451, 'ws://one'))
    script.keepQuoting([], 2 * SECOND_MS)
    expect(script.socket.url).toBe('ws://two')
    script.keepQuoting(['BTC-USDT'], 2 * SECOND_MS)
    expect(script.states).toEqual([
      'down connecting 0',
      'down HTTP 451 0',
      expect.stringMatching(/^up /),
    ])
  })

  test('of all addresses is one status, and each attempt tries one address', () => {
    const script = new Script(okx, ['ws://one', 'ws://two'])
    script.refuse = (url) => new HttpStatusError(403, url)
    script.socket.subscriber.error(new HttpStatusError(451, 'ws://one'))
    script.advance(12 * HOUR_MS)
    expect(script.sockets.map(({ url }) => url)).toEqual([
      'ws://one',
      'ws://two',
      'ws://one',
      'ws://two',
    ])
    expect(script.states).toEqual([
      'down connecting 0',
      'down HTTP 451 0',
      expect.stringMatching(/^blocked HTTP 403 /),
    ])
  })

  test('status 503 is an ordinary failure', () => {
    const script = new Script(okx)
    script.socket.subscriber.error(new HttpStatusError(503, 'ws://one'))
    script.advance(2 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
  })
})

describe('renewal', () => {
  test.each([
    [0, 23],
    [0.999, 23.5],
  ])('a connection is renewed before 24 hours without a status (%d)', (chance, hours) => {
    const script = agreeing()
    script.chance = chance
    script.socket.subscriber.error(new OperatingError('socket_closed', 'x'))
    script.keepQuoting(['BTC-USDT'], 10 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
    script.skip(hours * HOUR_MS - 60 * SECOND_MS)
    script.keepQuoting(['BTC-USDT'], 20 * SECOND_MS)
    expect(script.sockets).toHaveLength(2)
    script.keepQuoting(['BTC-USDT'], 60 * SECOND_MS)
    expect(script.sockets).toHaveLength(3)
    expect(script.notices.at(-1)?.detail).toContain('is renewed before its limit')
    expect(script.states).toEqual([
      'down connecting 0',
      'down socket_closed 0',
      expect.stringMatching(/^up /),
    ])
  })
})

describe('a source with missing products', () => {
  const assets = ['BTC', 'ETH', 'SOL', 'XRP', 'BNB', 'DOGE', 'ADA', 'LINK', 'AVAX']
  const products = ['USDC', ...assets].map((asset) => `${asset}-USDT`)

  test('is degraded while most leading products have no quotes', () => {
    const script = agreeing()
    script.assets = assets
    script.keepQuoting(products, 60 * SECOND_MS)
    script.keepQuoting(products.slice(0, 4), 60 * SECOND_MS)
    script.keepQuoting(products, 10 * SECOND_MS)
    expect(script.states.map((state) => state.split(' ')[0])).toEqual([
      'down',
      'up',
      'degraded',
      'up',
    ])
    expect(script.states[2]).toContain('no quotes of XRP-USDT, BNB-USDT')
  })

  test('is up while half of them have quotes', () => {
    const script = agreeing()
    script.assets = assets
    script.keepQuoting(products.slice(0, 6), 120 * SECOND_MS)
    expect(script.states).toHaveLength(2)
  })
})

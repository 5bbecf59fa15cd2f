import assert from 'node:assert/strict'
import { concatMap, EMPTY, Observable, timer } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { OperatingError } from '../src/domain/errors.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import type { Exchange, ExchangeQuoteEvent } from '../src/domain/external.ts'
import { exchanges } from '../src/domain/external.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { upstreams } from '../src/simulator/external/simulated-sources.ts'
import { sources } from '../src/streams/external/external-feed.ts'
import type { SourceNotice } from '../src/streams/external/source.ts'
import type { ExternalRuntime } from '../src/streams/runtime.ts'
import { Chance } from './simulation/chance.ts'
import { Kernel } from './simulation/kernel.ts'
import { Machine } from './simulation/machine.ts'
import { rememberedMarket } from './support/remembered-market.ts'

/** Our adapters at the simulated exchanges, without sockets, in virtual time, with outages of minutes. */

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const SECOND_MS = 1_000
const LATENCY_MS = 40
const market = rememberedMarket({ seed: 5, startMs: START_MS })

/** Assets that all simulated exchanges list, some under another name. */
const FEW = ['BTC', 'ETH', 'PEPE', 'LUNC', 'NEIRO', 'CELO']

class Run {
  assets: readonly string[]
  readonly events: MarketEvent[] = []
  readonly notices: SourceNotice[] = []
  readonly reference: ReferencePrices
  connections = 0
  readonly #kernel = new Kernel(START_MS)

  constructor(
    exchange: Exchange,
    scenario: readonly ScenarioEvent[] = [],
    assets: readonly string[] = FEW,
  ) {
    this.assets = assets
    this.reference = new ReferencePrices({ market, seed: 5, scenario })
    const listen = sources[exchange]
    assert(listen !== undefined)
    const context = {
      assets: () => this.assets,
      onNotice: (notice: SourceNotice) => this.notices.push(notice),
    }
    listen({ urls: ['ws://exchange'] }, context, this.#runtime(exchange)).subscribe({
      next: (batch) => {
        expect(batch.length, 'no batch is empty').toBeGreaterThan(0)
        this.events.push(...batch)
      },
      error: (cause) => assert.fail(String(cause)),
      complete: () => assert.fail('a source never completes'),
    })
  }

  runUntil(afterMs: number): void {
    this.#kernel.runUntil(START_MS + afterMs)
  }

  get quotes(): readonly ExchangeQuoteEvent[] {
    return this.events.filter((event) => event.kind === 'exchange-quote')
  }

  /** `state after seconds`. */
  get states(): readonly string[] {
    return this.events.flatMap((event) =>
      event.kind === 'source-status'
        ? [`${event.state} ${Math.round((event.timeReceivedMs - START_MS) / SECOND_MS)}`]
        : [],
    )
  }

  #runtime(exchange: Exchange): ExternalRuntime {
    const machine = new Machine(this.#kernel, new Chance(1, exchange))
    const { scheduler } = machine.process((cause) => assert.fail(String(cause)))
    const { clock } = this.#kernel
    const connect = upstreams[exchange]?.(this.reference, clock).connect
    assert(connect !== undefined)
    const isOff = (is: 'isDead' | 'isStalled') => this.reference[is](exchange, clock.nowMs())
    return {
      scheduler,
      random: () => 0.5,
      post: () => EMPTY,
      get: () => EMPTY,
      follow: () => EMPTY,
      connect: (url, outbound) =>
        timer(LATENCY_MS, scheduler).pipe(
          concatMap(
            () =>
              new Observable<string>((subscriber) => {
                this.connections += 1
                const drop = () => subscriber.error(new OperatingError('socket_closed', url))
                if (isOff('isDead')) {
                  drop()
                  return
                }
                const send = (text: string) => {
                  if (!isOff('isStalled')) subscriber.next(text)
                }
                const path = new URL(url).pathname
                const session = connect(path, { send, drop, ping: () => session.ponged?.() })
                subscriber.add(outbound.subscribe((text) => session.receive(text)))
                subscriber.add(clock.every(250, () => isOff('isDead') && drop()))
                return () => session.close()
              }),
          ),
        ),
    }
  }
}

/** Distance of a quote's mid from the exchange's reference price. */
function awayBps({ reference }: Run, event: ExchangeQuoteEvent): number {
  const { asset, ask, bid, exchange, quote, timeReceivedMs } = event
  const atMs = timeReceivedMs - LATENCY_MS
  const unitUsd = quote === 'USD' ? 1 : (reference.priceUsd(quote, atMs) ?? Number.NaN)
  const seenUsd = reference.seenUsd(exchange, asset, atMs) ?? Number.NaN
  return Math.abs(((((bid + ask) / 2) * unitUsd) / seenUsd - 1) * 1e4)
}

function during(quotes: readonly ExchangeQuoteEvent[], fromMs: number, untilMs: number) {
  const isIn = (atMs: number) => atMs >= START_MS + fromMs && atMs < START_MS + untilMs
  return quotes.filter(({ timeReceivedMs }) => isIn(timeReceivedMs))
}

function grouped(
  quotes: readonly ExchangeQuoteEvent[],
  by: (quote: ExchangeQuoteEvent) => string,
): ReadonlyMap<string, readonly ExchangeQuoteEvent[]> {
  const groups = new Map<string, ExchangeQuoteEvent[]>()
  for (const quote of quotes) groups.set(by(quote), [...(groups.get(by(quote)) ?? []), quote])
  return groups
}

describe.each(exchanges)('%s', (exchange) => {
  const event = (
    kind: 'stalled' | 'halted' | 'dead' | 'frozen',
    fromMs: number,
    untilMs: number,
  ) => ({
    kind,
    source: exchange,
    fromMs: START_MS + fromMs,
    untilMs: START_MS + untilMs,
  })

  test('emits the unscaled price of every asset, whatever its name on the exchange', () => {
    const run = new Run(exchange)
    run.runUntil(30 * SECOND_MS)
    const received = new Set(run.quotes.map(({ asset }) => asset))
    expect([...received].toSorted()).toEqual(expect.arrayContaining(FEW.toSorted()))
    for (const quote of run.quotes) expect(awayBps(run, quote)).toBeLessThan(5)
    expect(run.states).toEqual(['down 0', 'up 0'])
    expect(run.notices).toEqual([])
  })

  test('an unlisted product is not requested again and does not affect others', () => {
    const run = new Run(exchange)
    run.assets = ['NOPE', 'BTC', 'NADA', 'ETH', 'SOL', 'NUL', 'XRP']
    run.runUntil(120 * SECOND_MS)
    const received = new Set(run.quotes.map(({ asset }) => asset))
    expect([...received].filter((asset) => !asset.startsWith('USD')).toSorted()).toEqual(
      ['BTC', 'ETH', 'SOL', 'XRP'].toSorted(),
    )
    expect(run.notices.map(({ kind }) => kind)).toEqual(
      exchange === 'binance' ? [] : Array(3).fill('product_refused'),
    )
  })

  test('follows at most 60 assets, and no product more often than four times a second', () => {
    const run = new Run(exchange)
    run.assets = run.reference.assets
    run.runUntil(20 * SECOND_MS)
    const last = during(run.quotes, 10 * SECOND_MS, 20 * SECOND_MS)
    const products = grouped(last, ({ asset, quote }) => `${asset}/${quote}`)
    expect(new Set(last.map(({ asset }) => asset)).size).toBeLessThanOrEqual(62)
    expect(new Set(last.map(({ asset }) => asset)).size).toBeGreaterThan(50)
    for (const quotes of products.values()) expect(quotes.length).toBeLessThanOrEqual(40)
    expect(run.states).toEqual(['down 0', 'up 0'])
  })

  test('subscribes a newly listed coin within a minute', () => {
    const run = new Run(exchange, [], ['BTC'])
    run.runUntil(30 * SECOND_MS)
    expect(run.quotes.some(({ asset }) => asset === 'SOL')).toBe(false)
    run.assets = ['BTC', 'SOL']
    run.runUntil(65 * SECOND_MS)
    expect(run.quotes.some(({ asset }) => asset === 'SOL')).toBe(true)
    expect(run.connections).toBe(1)
  })

  test('is down soon after the exchange stalls and recovers with it', () => {
    const run = new Run(exchange, [event('stalled', 60_000, 180_000)], ['BTC', 'ETH'])
    run.runUntil(300 * SECOND_MS)
    const [, , down, up] = run.states
    expect(down).toMatch(/^down 7[56]$/)
    expect(up).toMatch(/^up (1[89]\d|2[0-4]\d)$/)
    expect(run.states).toHaveLength(4)
    expect(during(run.quotes, 61_000, 180_000)).toEqual([])
    expect(during(run.quotes, 260_000, 300_000).length).toBeGreaterThan(40)
  })

  test('is down while the exchange is dead, retries with pauses, and recovers', () => {
    const run = new Run(exchange, [event('dead', 60_000, 360_000)], ['BTC', 'ETH'])
    run.runUntil(480 * SECOND_MS)
    const [, , down, up] = run.states
    expect(down).toMatch(/^down 6[01]$/)
    expect(up).toMatch(/^up (3[6-9]\d|4[0-2]\d)$/)
    expect(run.connections).toBeLessThan(20)
  })

  test('is down while the exchange is halted, whatever it sends at a reconnection', () => {
    const run = new Run(exchange, [event('halted', 60_000, 360_000)], ['BTC', 'ETH'])
    run.runUntil(480 * SECOND_MS)
    // Its repeated quotes are believed for a minute.
    const believedMs = exchange === 'bybit' ? 60_000 : 0
    const states = run.states.filter((state) => !state.startsWith('degraded'))
    expect(states.map((state) => state.split(' ')[0])).toEqual(['down', 'up', 'down', 'up'])
    expect(Number(states[2]?.split(' ')[1])).toBeLessThan(125 + believedMs / SECOND_MS)
    expect(Number(states[3]?.split(' ')[1])).toBeGreaterThanOrEqual(360)
    expect(during(run.quotes, 61_000 + believedMs, 360_000)).toEqual([])
  })

  test('a frozen exchange repeats its last quote', () => {
    const run = new Run(exchange, [event('frozen', 30_000, 90_000)], ['BTC', 'ETH'])
    run.runUntil(85 * SECOND_MS)
    const stuck = during(run.quotes, 31_000, 85_000).filter(({ asset }) => asset === 'BTC')
    const perCurrency = grouped(stuck, ({ quote }) => quote)
    for (const quotes of perCurrency.values()) {
      expect(quotes.length).toBeGreaterThan(100)
      expect(new Set(quotes.map(({ bid, ask }) => `${bid} ${ask}`)).size).toBe(1)
      expect(new Set(quotes.map(({ timeExchangeMs }) => timeExchangeMs)).size).toBe(quotes.length)
    }
    expect(run.states).toHaveLength(2)
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Static } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import type { PulseAnswer } from '../src/compute/analyses/pulse/pulse-schema.ts'
import { CHART_BARS } from '../src/compute/charts/chart-bars.ts'
import type { ChartAnswer } from '../src/compute/charts/chart-schema.ts'
import type { OverviewAnswer } from '../src/compute/charts/overview-schema.ts'
import type { DocumentKey } from '../src/domain/document.ts'
import { subjectOf, viewOf } from '../src/domain/document.ts'
import { Engine } from '../src/engine/engine.ts'
import { synchronousRenderer } from '../src/engine/market-renderer.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import type { EngineMessage } from '../src/link/message.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import type { Market } from '../src/simulator/market/market.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

type Chart = Static<typeof ChartAnswer>
type Overview = Static<typeof OverviewAnswer>

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const BOUNDARY_MS = Date.UTC(2026, 0, 1, 12)
const START_MS = BOUNDARY_MS - 10 * MINUTE_MS
const STOP_MS = BOUNDARY_MS + 6 * MINUTE_MS
const COINS = ['BTC', 'ETH', 'kPEPE', 'ZEC']

/** An engine with cold start, the end of an hour, and a restart, on the simulated venue in virtual time. */
describe('the charts of an engine', () => {
  let folder: string
  let market: Market
  let cold: ServedCharts
  let restarted: ServedCharts

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-charts-'))
    const model = modelCoins(7, START_MS)
    market = new CoinMarkets({
      clockShiftMs: 0,
      coins: catalog.filter(([coin]) => COINS.includes(coin)).map((row) => model.ofCatalog(row)),
      newCoin: model.ofListing,
    })
    cold = new ServedCharts(market, folder, START_MS)
    cold.runUntil(STOP_MS)
    cold.stop()
    restarted = new ServedCharts(market, folder, STOP_MS + MINUTE_MS)
    restarted.runUntil(STOP_MS + 3 * MINUTE_MS)
    restarted.stop()
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test('have 240 closed bars as soon as a coin is ready, after a cold start and after a restart', () => {
    for (const served of [cold, restarted]) {
      expect([...served.barsWhenReady.keys()].toSorted()).toEqual(COINS.toSorted())
      expect(new Set(served.barsWhenReady.values())).toEqual(new Set([CHART_BARS + 1]))
    }
  })

  test('have the bars of the venue, before and after the end of an hour and a restart', () => {
    for (const served of [cold, restarted]) {
      for (const coin of COINS) {
        const { bars } = served.chart(coin)
        const [fromMs = 0, untilMs = 0] = [bars.time_ms[0], bars.time_ms.at(-1)]
        expect(untilMs).toBe(BOUNDARY_MS)
        const truth = market
          .candles(coin, '1h', { fromMs, untilMs }, served.nowMs)
          .slice(0, CHART_BARS)
        const shown = <T>(column: readonly T[]) => column.slice(0, -1)
        expect(shown(bars.time_ms)).toEqual(truth.map(({ openTimeMs }) => openTimeMs))
        for (const name of ['open', 'high', 'low', 'close'] as const)
          expect(shown(bars[name]), `${name} of ${coin}`).toEqual(truth.map((bar) => bar[name]))
        for (const [at, volume] of shown(bars.volume).entries())
          expect(volume / (truth[at]?.volumeBase ?? Number.NaN), coin).toBeCloseTo(1, 6)
      }
    }
  })

  test('have every indicator at every bar once the deeper history has arrived', () => {
    for (const served of [cold, restarted])
      for (const coin of COINS)
        for (const [name, column] of Object.entries(served.chart(coin).indicators))
          expect(column, `${name} of ${coin}`).not.toContain(null)
  })

  test('are published within ten seconds of the end of an hour, else once a minute', () => {
    for (const coin of COINS) {
      const published = cold.published.get(coin) ?? []
      const after = published.filter(({ formingMs }) => formingMs === BOUNDARY_MS)
      expect(after[0]?.timeMs, coin).toBeLessThanOrEqual(BOUNDARY_MS + 10 * SECOND_MS)
      const minutes = (STOP_MS - BOUNDARY_MS) / MINUTE_MS
      expect(after.length).toBeGreaterThanOrEqual(minutes)
      expect(after.length, 'one more than that').toBeLessThanOrEqual(minutes + 1)
    }
  })

  test('show the forming bar as the answer of /pulse of the same snapshot', () => {
    expect(cold.compared).toBeGreaterThanOrEqual(4 * COINS.length)
    expect(restarted.compared).toBeGreaterThanOrEqual(COINS.length)
  })

  test('include an overview with the closes and the settled funding of the venue', () => {
    for (const served of [cold, restarted]) {
      const overview = served.overview()
      expect(overview.coins.map(({ coin }) => coin).toSorted()).toEqual(COINS.toSorted())
      expect(overview.closes_from_ms).toBe(BOUNDARY_MS - 24 * HOUR_MS)
      expect(overview.funding_from_ms).toBe(BOUNDARY_MS - 71 * HOUR_MS)
      expect(overview.meta.quality.coverage_pct).toBe(100)
      for (const { coin, closes, funding_bps } of overview.coins) {
        const { bars } = served.chart(coin)
        expect(closes).toEqual(
          bars.close.slice(-25, -1).map((close) => Number(close.toPrecision(8))),
        )
        const range = { fromMs: BOUNDARY_MS - 71 * HOUR_MS, untilMs: served.nowMs }
        const settled = market.fundingHistory(coin, range, served.nowMs, 1_000)
        expect(funding_bps).toHaveLength(72)
        for (const [at, rate] of funding_bps.entries())
          expect(rate, coin).toBeCloseTo((settled[at]?.fundingRateHourly ?? Number.NaN) * 1e4, 4)
      }
    }
  })
})

/** One run of an engine, and what a gateway received of it. */
class ServedCharts {
  /** Bars in the chart of a coin at the instant at which the gateway first lists the coin. */
  readonly barsWhenReady = new Map<string, number>()
  /** By coin, the instant of each published chart, and the open time of its forming bar. */
  readonly published = new Map<string, { timeMs: number; formingMs: number }[]>()
  /** Charts that were compared with an answer of the same snapshot. */
  compared = 0
  readonly #virtual: VirtualVenue
  readonly #replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  readonly #engine: Engine

  constructor(market: Market, dataDir: string, startMs: number) {
    this.#virtual = new VirtualVenue(market, startMs)
    this.#engine = Engine.start(
      {
        venue: { wsUrl: 'ws://venue', infoUrl: 'http://venue' },
        weightPerMinute: 1_000,
        dexes: [],
        dataDir,
        version: '0.0.0',
      },
      {
        clock: this.#virtual.clock,
        runtime: this.#virtual.runtime(),
        log: pino({ level: 'silent' }),
        renderer: synchronousRenderer,
      },
      (message) => this.#receive(message),
    )
  }

  get nowMs(): number {
    return this.#virtual.nowMs
  }

  runUntil(timeMs: number): void {
    this.#virtual.runUntil(timeMs)
  }

  stop(): void {
    this.#engine.stop()
  }

  chart(coin: string): Chart {
    return this.#answer(`chart/${coin}`, '') as Chart
  }

  overview(): Overview {
    return this.#answer('overview/*', '') as Overview
  }

  #receive(message: EngineMessage): void {
    this.#replica.apply(message, this.nowMs)
    if (message.kind !== 'documents') return
    for (const { key, renderedAtMs } of message.documents) {
      const coin = subjectOf(key)
      if (key !== `chart/${coin}` || !this.#isAnswered(key, '')) continue
      const formingMs = this.chart(coin).bars.time_ms.at(-1) ?? Number.NaN
      const before = this.published.get(coin) ?? []
      this.published.set(coin, [...before, { timeMs: this.nowMs, formingMs }])
      if (this.#replica.document(`pulse/${coin}`)?.renderedAtMs === renderedAtMs)
        this.#compare(coin)
    }
    for (const coin of this.#replica.coins())
      if (!this.barsWhenReady.has(coin))
        this.barsWhenReady.set(coin, this.chart(coin).bars.time_ms.length)
  }

  /** Of one snapshot. */
  #compare(coin: string): void {
    if (!this.#isAnswered(`pulse/${coin}`, '1h')) return
    const { timeframes } = this.#answer(`pulse/${coin}`, '1h') as Static<typeof PulseAnswer>
    const shown = timeframes['1h']?.indicators
    const columns = Object.entries(this.chart(coin).indicators)
    expect(Object.fromEntries(columns.map(([name, column]) => [name, column.at(-1)]))).toEqual({
      ema_20: shown?.ema_20,
      ema_50: shown?.ema_50,
      ema_200: shown?.ema_200,
      bollinger_upper: shown?.bollinger.upper,
      bollinger_middle: shown?.bollinger.middle,
      bollinger_lower: shown?.bollinger.lower,
      rsi_14: shown?.rsi_14,
      vwap_20: shown?.vwap_20,
    })
    this.compared += 1
  }

  #isAnswered(key: DocumentKey, view: string): boolean {
    const document = this.#replica.document(key)
    return document !== undefined && viewOf(document, view)?.kind === 'answer'
  }

  #answer(key: DocumentKey, view: string): unknown {
    const document = this.#replica.document(key)
    const answer = document && viewOf(document, view)
    if (document === undefined || answer?.kind !== 'answer') throw new Error(`no answer of ${key}`)
    const facts = { nowMs: this.nowMs, executionMs: 0, coinsAvailable: COINS.length }
    return JSON.parse(fillDocument(document, answer, facts).toString('utf8'))
  }
}

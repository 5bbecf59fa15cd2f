import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subscription } from 'rxjs'
import { afterAll, describe, expect, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import type { CoinAnalysis } from '../src/compute/analysis.ts'
import { pulseValue } from '../src/compute/indicators/pulse-layout.ts'
import type { CoinMarket } from '../src/compute/market/coin-market.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import type { Bar } from '../src/domain/bar.ts'
import type { Checkpoint } from '../src/domain/checkpoint.ts'
import type { Document } from '../src/domain/document.ts'
import type { Timeframe } from '../src/domain/timeframe.ts'
import { timeframes } from '../src/domain/timeframe.ts'
import { Accounts } from '../src/simulator/market/accounts.ts'
import { candleReplayMarket } from '../src/simulator/market/candle-replay-market.ts'
import { EnforcingMarket } from '../src/simulator/market/enforcing-market.ts'
import type { Market } from '../src/simulator/market/market.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../src/streams/hyperliquid/backfill/weight-budget.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import { naivePulse } from './golden/naive-pulse.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

const SHARED = join(import.meta.dirname, '../../shared/data/hl-candles-2025-07')
const isAbsent = !existsSync(SHARED)

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const START_MS = Date.UTC(2026, 5, 1, 13, 37, 11)
/** The venue allows 1,200 a minute: 135 a coin for the history of 14 coins, and what all else costs. */
const WARM_MS = 4 * MINUTE_MS
const LOOK_MS = 1_000
/** Slower than the venue's, which would tick a million times in the day between the starts. */
const CADENCES = {
  blockMs: 500,
  fastL2BookMs: 5_400,
  activeAssetCtxMs: 5_000,
  fastAssetCtxsMs: 5_000,
}
/** Two of the recorded coins are delisted, and one has fewer than 200 4h candles. */
const COINS = 13

/** Indicators shorter than EMA 200 keep no influence of earlier bars: 4e-18 for EMA 50. */
const REMEMBERED_BARS = 1_000
/** Relative to the price for averages, to the value for windowed indicators. */
const SEED_ERROR_MAX = 1e-4
const ROUNDING = 1e-9

/**
 * The recorded candles of 16 coins through venue, feed and processor as in service, in virtual time. The reference is
 * the naive definition over all candles of the coin, seeded like TA-Lib.
 */
describe.skipIf(isAbsent)('indicators as served (needs ../shared/data)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'perpscope-candles-'))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  test('equal those of the whole history, or are null: cold start, start with history, start after a day', () => {
    symlinkSync(join(SHARED, 'coins'), join(dir, 'coins'))
    const market = candleReplayMarket(dir, { seed: 1, startMs: START_MS })
    const virtual = new VirtualVenue(market, START_MS, { cadences: CADENCES })
    // The candles of the venue have the volume of its liquidations too.
    const reference = new EnforcingMarket(market, new Accounts(market, START_MS))

    const cold = new Served(virtual, reference, null)
    while (cold.withheld === 0 && virtual.nowMs < START_MS + WARM_MS)
      virtual.runUntil(virtual.nowMs + LOOK_MS)
    expect(cold.compare().withheld, 'sold before its 1h series was deep').toBeGreaterThan(0)
    virtual.runUntil(START_MS + WARM_MS)
    expect(cold.compare()).toMatchObject({ coins: COINS, withheld: 0 })
    const requests = cold.requests
    const saved = cold.end()

    const again = new Served(virtual, reference, saved)
    virtual.runUntil(virtual.nowMs + 20_000)
    expect(again.compare()).toMatchObject({ coins: COINS, withheld: 0 })
    expect(again.requests, 'nothing older is asked again').toBeLessThan(requests)
    const savedAgain = again.end()

    virtual.runUntil(virtual.nowMs + 23 * HOUR_MS)
    const later = new Served(virtual, reference, savedAgain)
    virtual.runUntil(virtual.nowMs + 2 * MINUTE_MS)
    expect(later.compare()).toMatchObject({ coins: COINS, withheld: 0 })
    later.end()
  })
})

/** One run of the engine, with or without a checkpoint. */
class Served {
  readonly #virtual: VirtualVenue
  readonly #market: Market
  readonly #processor: Processor
  readonly #feed: Subscription
  readonly #coins = new Map<string, CoinMarket>()
  readonly #documents = new Map<string, Document>()
  /** For candles. */
  requests = 0

  constructor(virtual: VirtualVenue, market: Market, saved: Checkpoint | null) {
    this.#virtual = virtual
    this.#market = market
    const seen: CoinAnalysis = {
      ...pulse,
      render: (coin, rendering, state) => {
        this.#coins.set(coin.listing.coin, coin)
        return pulse.render(coin, rendering, state)
      },
    }
    const processor = new Processor({ coin: [seen], market: [] }, '0.0.0')
    this.#processor = processor
    if (saved !== null) processor.restore(saved, virtual.nowMs)
    const runtime = virtual.runtime()
    this.#feed = hyperliquidFeed(
      {
        wsUrl: 'ws://venue',
        infoUrl: 'http://venue',
        weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
        sockets: 2,
        historyOf: (coin, nowMs) => processor.view.missingBars(coin, nowMs),
        hourlyOf: (coin, nowMs) => processor.view.missingHoursFromMs(coin, nowMs),
        known: processor.view.listings,
      },
      {
        ...runtime,
        post: (url, body) => {
          if (JSON.stringify(body).includes('candleSnapshot')) this.requests += 1
          return runtime.post(url, body)
        },
      },
    ).subscribe((batch) => processor.process(batch))
  }

  end(): Checkpoint {
    this.#feed.unsubscribe()
    return this.#processor.records.checkpoint(this.#virtual.nowMs)
  }

  /** Timeframes that are currently sold without EMA 200. */
  get withheld(): number {
    this.#publish()
    return [...this.#documents.values()].flatMap(({ views }) =>
      timeframes.filter((timeframe) => {
        const view = views[timeframe]
        return view?.kind === 'answer' && view.warnings.includes('short_history')
      }),
    ).length
  }

  /** Every current answer of every timeframe. */
  compare(): { readonly coins: number; readonly withheld: number } {
    const { nowMs } = this.#virtual
    let [coins, withheld] = [0, 0]
    this.#publish()
    for (const document of this.#documents.values()) {
      const coin = this.#coins.get(document.key.slice('pulse/'.length))
      if (coin === undefined) throw new Error(`${document.key} was rendered`)
      const sold = timeframes.filter((timeframe) => document.views[timeframe]?.kind === 'answer')
      if (sold.length === timeframes.length) coins += 1
      for (const timeframe of sold) {
        const answer = document.views[timeframe]
        if (answer?.kind !== 'answer') continue
        const facts = { nowMs, executionMs: 0, coinsAvailable: 1 }
        const body = JSON.parse(fillDocument(document, answer, facts).toString())
        const isNull = body.timeframes[timeframe].indicators.ema_200 === null
        expect(isNull, `${document.key} of ${timeframe}`).toBe(
          body.timeframes[timeframe].insufficient_bars.length > 0,
        )
        if (isNull) withheld += 1
        this.#compareOne(coin, timeframe, isNull)
      }
    }
    return { coins, withheld }
  }

  #publish(): void {
    for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
      for (const document of this.#processor.publish(this.#virtual.nowMs))
        this.#documents.set(document.key, document)
  }

  #compareOne({ listing, ladder }: CoinMarket, timeframe: Timeframe, isWithheld: boolean): void {
    const forming = ladder.peek(timeframe)
    if (forming === null) throw new Error('what is sold has a forming bar')
    const range = { fromMs: 0, untilMs: forming.openTimeMs }
    const closed: readonly Bar[] = this.#market.candles(
      listing.coin,
      timeframe,
      range,
      forming.openTimeMs,
    )
    const bars = [...closed, forming]
    const naive = naivePulse(bars.slice(-REMEMBERED_BARS)).at(-1)
    if (naive === undefined) throw new Error('there is a bar')
    const ema200 = wholeAverage(bars.map(({ close }) => close))
    const what = `${listing.coin} ${timeframe}, ${ladder.barCount(timeframe)} of ${closed.length}`
    const off = (value: number, expected: number) =>
      Number.isNaN(expected) && Number.isNaN(value) ? 0 : Math.abs(value - expected)
    const at = (slot: number) => ladder.values[slot] as number
    const { close } = forming
    if (isWithheld) expect(at(pulseValue.ema200), what).toBeNaN()
    else expect(off(at(pulseValue.ema200), ema200) / close, what).toBeLessThan(SEED_ERROR_MAX)
    for (const [slot, expected] of [
      [pulseValue.ema20, naive.ema20],
      [pulseValue.ema50, naive.ema50],
    ] as const)
      expect(off(at(slot), expected) / close, what).toBeLessThan(SEED_ERROR_MAX)
    expect(off(at(pulseValue.rsi14), naive.rsi14) / 100, what).toBeLessThan(SEED_ERROR_MAX)
    expect(off(at(pulseValue.atr14), naive.atr14) / naive.atr14, what).toBeLessThan(SEED_ERROR_MAX)
    const scale = Math.max(1, Math.abs(naive.zscore100))
    for (const [name, slot, expected, unit] of [
      ['vwap_20', pulseValue.vwap20, naive.vwap20, close],
      ['zscore_100', pulseValue.zscore100, naive.zscore100, scale],
      ['middle', pulseValue.bollingerMiddle, naive.middle, close],
      ['upper', pulseValue.bollingerUpper, naive.middle + 2 * naive.deviation, close],
    ] as const)
      expect(off(at(slot), expected) / unit, `${name} of ${what}`).toBeLessThan(ROUNDING)
  }
}

/** EMA 200 over all closes, seeded like TA-Lib. */
function wholeAverage(closes: readonly number[]): number {
  const seed = closes.slice(0, 200).reduce((sum, close) => sum + close, 0) / 200
  return closes.length < 200
    ? Number.NaN
    : closes.slice(200).reduce((average, close) => average + (2 / 201) * (close - average), seed)
}

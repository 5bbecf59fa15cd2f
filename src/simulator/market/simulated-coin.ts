import assert from 'node:assert/strict'
import { BoundedMap } from '../../domain/bounded-map.ts'
import { countThrough } from './count-through.ts'
import type { Basis, FundingRule } from './funding.ts'
import {
  averagePremium,
  basisAt,
  hourlyFundingRate,
  mainDexFunding,
  premiumForRate,
} from './funding.ts'
import type { BarSource, LotBar } from './lot-bar.ts'
import {
  flatBar,
  MINUTE_MS,
  MINUTES_A_QUARTER,
  mergeBars,
  QUARTER_MS,
  QUARTERS_A_DAY,
} from './lot-bar.ts'
import type {
  Book,
  Candle,
  CandleInterval,
  Context,
  Instrument,
  SettledFunding,
  TimeRange,
  Trade,
} from './market.ts'
import { candleIntervalMs } from './market.ts'
import { bits, drift, uniform } from './noise.ts'
import { priceDecimals, priceDecimalsMax, roundPrice, roundTo, sizeOf } from './precision.ts'
import { minutesOf, tradesOf } from './refine.ts'
import type { Liquidity, Touch } from './synthetic-book.ts'
import { impactNotionalUsd, impactPrice, liquidityFor, syntheticBook } from './synthetic-book.ts'

const HOUR_MS = 3_600_000
const MINUTES_KEPT_MAX = 8
const QUARTERS_KEPT_MAX = 4
/** How far back the newest trades of a quiet coin are looked for. */
const QUIET_QUARTERS_MAX = 7 * QUARTERS_A_DAY
/** The oracle, and with it the mark, moves this often. */
const ORACLE_PERIOD_MS = 3000
const IMPACT_LEVELS = 16

type DayTotals = {
  readonly quarter: number
  readonly prevDayPrice: number
  readonly lots: number
  readonly notionalUsd: number
}

type Span = { readonly fromMs: number; readonly untilMs: number }

type OpenMinute = { readonly minute: number; readonly trades: number; readonly bar: LotBar }

/** Trades, book, context, candles and funding of one coin, derived from its bars. */
export class SimulatedCoin {
  readonly #listing: Instrument
  readonly #source: BarSource
  readonly #key: number
  readonly #liquidity: Liquidity
  readonly #basis: Basis
  readonly #funding: FundingRule
  readonly #openInterestBase: number
  /** Hourly open-interest swing as a fraction, bounded by what trading can turn over. */
  readonly #openInterestSwing: number
  #delistedAtMs: number
  readonly #minutes = new BoundedMap<number, readonly LotBar[]>(QUARTERS_KEPT_MAX)
  readonly #trades = new BoundedMap<number, readonly Trade[]>(MINUTES_KEPT_MAX)
  #day: DayTotals | undefined
  /** The closed minutes of the open bar, by interval, as a cache. */
  readonly #closedParts = new Map<number, Span & { readonly bar: LotBar | undefined }>()
  /** The newest open minute, and how many of its trades are in it. */
  #openMinute: OpenMinute | undefined
  #touchBefore: { readonly minute: number; readonly touch: Touch } | undefined
  #running: { readonly minute: number; readonly rate: number } | undefined

  constructor(options: {
    readonly instrument: Instrument
    readonly source: BarSource
    readonly key: number
    readonly priceUsd: number
    readonly dayNotionalUsd: number
    readonly openInterestUsd: number
    /** Infinity for a live coin. */
    readonly delistedAtMs: number
    /** The main dex's where absent. */
    readonly funding?: FundingRule
  }) {
    const { key, dayNotionalUsd, openInterestUsd, funding = mainDexFunding } = options
    assert(dayNotionalUsd > 0 && openInterestUsd > 0, 'a coin has volume and open interest')
    this.#listing = options.instrument
    this.#source = options.source
    this.#key = key
    this.#liquidity = liquidityFor(dayNotionalUsd)
    this.#openInterestBase = openInterestUsd / options.priceUsd
    this.#openInterestSwing = Math.min(0.03, 0.008 * (dayNotionalUsd / openInterestUsd))
    const halfSpread = this.#liquidity.spreadBps / 2e4
    this.#basis = {
      key: bits(key, 71),
      mean: -0.0002 + 0.0002 * uniform(key, 72),
      amplitude: 0.0006 + 3 * halfSpread * uniform(key, 73),
      deadZone: funding.hasDeadZone ? 1.5 * halfSpread : 0,
    }
    this.#funding = funding
    this.#delistedAtMs = options.delistedAtMs
  }

  get instrument(): Instrument {
    const isDelisted = this.#delistedAtMs !== Number.POSITIVE_INFINITY
    return { ...this.#listing, isDelisted }
  }

  delist(atMs: number): void {
    this.#delistedAtMs = Math.min(this.#delistedAtMs, atMs)
  }

  trades(afterMs: number, throughMs: number): readonly Trade[] {
    const fromMs = Math.max(afterMs, this.#source.firstQuarter * QUARTER_MS - 1)
    const untilMs = Math.min(throughMs, this.#delistedAtMs - 1)
    const found: Trade[] = []
    const last = Math.floor(untilMs / MINUTE_MS)
    for (let minute = Math.floor((fromMs + 1) / MINUTE_MS); minute <= last; minute++) {
      const trades = this.#tradesOfMinute(minute)
      for (const trade of trades.slice(countThrough(trades, fromMs))) {
        if (trade.timeMs > untilMs) break
        found.push(trade)
      }
    }
    return found
  }

  lastTrades(atMs: number, count: number): readonly Trade[] {
    const untilMs = Math.min(atMs, this.#delistedAtMs - 1)
    const found: Trade[] = []
    const newest = Math.floor(untilMs / QUARTER_MS)
    const oldest = Math.max(this.#source.firstQuarter, newest - QUIET_QUARTERS_MAX)
    for (let quarter = newest; quarter >= oldest && found.length < count; quarter--) {
      if (this.#source.quarter(quarter).trades === 0) continue
      const first = quarter * MINUTES_A_QUARTER
      const last = Math.min(first + MINUTES_A_QUARTER - 1, Math.floor(untilMs / MINUTE_MS))
      for (let minute = last; minute >= first && found.length < count; minute--) {
        const trades = this.#tradesOfMinute(minute)
        for (let i = trades.length - 1; i >= 0 && found.length < count; i--) {
          const trade = trades[i]
          if (trade !== undefined && trade.timeMs <= untilMs) found.push(trade)
        }
      }
    }
    return found.reverse()
  }

  book(atMs: number, levels: number): Book {
    if (atMs >= this.#delistedAtMs) return { bids: [], asks: [] }
    return syntheticBook({
      touch: this.#touch(atMs),
      liquidity: this.#liquidity,
      key: this.#key,
      sizeDecimals: this.#listing.sizeDecimals,
      atMs,
      levels,
    })
  }

  context(atMs: number): Context {
    const { coin, sizeDecimals } = this.#listing
    if (atMs >= this.#delistedAtMs) return this.#frozenContext()
    const tickMs = Math.floor(atMs / ORACLE_PERIOD_MS) * ORACLE_PERIOD_MS
    const then = this.book(tickMs, 1)
    const bid = then.bids[0]?.price ?? Number.NaN
    const ask = then.asks[0]?.price ?? Number.NaN
    const basis = basisAt(this.#basis, tickMs)
    const oraclePrice = roundPrice((bid + ask) / 2 / (1 + basis), sizeDecimals)
    const noise = 0.0001 * drift(this.#key ^ 0x4d, tickMs / 60_000)
    const markPrice = roundPrice(
      median(
        oraclePrice * (1 + basis),
        median(bid, ask, this.#touch(tickMs).price),
        oraclePrice * (1 + basis + noise),
      ),
      sizeDecimals,
    )
    return {
      ...this.#quotes(coin, atMs, oraclePrice),
      markPrice,
      oraclePrice,
      fundingRateHourly: this.#runningFunding(atMs),
      openInterestBase: this.#openInterest(atMs),
      ...this.#dayFigures(atMs),
    }
  }

  candles(interval: CandleInterval, range: TimeRange, atMs: number): readonly Candle[] {
    const stepMs = candleIntervalMs[interval]
    const endMs = Math.min(atMs, this.#delistedAtMs - 1)
    const last = Math.floor(Math.min(range.untilMs - 1, endMs) / stepMs)
    const first = Math.max(Math.floor(range.fromMs / stepMs), this.#firstIndex(stepMs))
    const found: Candle[] = []
    for (let index = first; index <= last; index++) {
      const isClosed = (index + 1) * stepMs <= endMs + 1
      const bar = isClosed ? this.#closedBar(stepMs, index) : this.#openBar(stepMs, endMs)
      if (bar !== undefined && (isClosed || bar.trades > 0)) {
        found.push(this.#candle(bar, index * stepMs))
      }
    }
    return found
  }

  openCandle(interval: CandleInterval, atMs: number): Candle | undefined {
    return this.candles(interval, { fromMs: atMs, untilMs: atMs + 1 }, atMs)[0]
  }

  fundingHistory(range: TimeRange, atMs: number, rowsMax: number): readonly SettledFunding[] {
    const endMs = Math.min(range.untilMs - 1, atMs, this.#delistedAtMs - 1)
    const firstHour = Math.ceil((this.#source.firstQuarter * QUARTER_MS + 1) / HOUR_MS)
    const first = Math.max(firstHour, Math.floor(range.fromMs / HOUR_MS))
    const rows: SettledFunding[] = []
    for (let hour = first; hour * HOUR_MS <= endMs && rows.length < rowsMax; hour++) {
      const row = this.#settled(hour)
      if (row.timeMs >= range.fromMs && row.timeMs <= endMs) rows.push(row)
    }
    return rows
  }

  /** The row that closes the hour before the whole hour `hour`, a few milliseconds after it. */
  #settled(hour: number): SettledFunding {
    const timeMs = hour * HOUR_MS + 1 + Math.floor(118 * uniform(this.#key ^ 0x1b, hour))
    const modelled = averagePremium(this.#basis, (hour - 1) * HOUR_MS, hour * HOUR_MS - 1)
    const recorded = this.#source.settledFunding(hour)
    if (recorded === undefined) {
      return {
        timeMs,
        fundingRateHourly: hourlyFundingRate(modelled, this.#funding),
        premium: modelled,
      }
    }
    return { timeMs, fundingRateHourly: recorded, premium: premiumForRate(recorded, modelled) }
  }

  #runningFunding(atMs: number): number {
    const hour = Math.floor(atMs / HOUR_MS)
    const recorded = this.#source.settledFunding(hour + 1)
    if (recorded !== undefined) return recorded
    // The average has one sample a minute, so it is constant within a minute.
    const minute = Math.floor(atMs / MINUTE_MS)
    if (this.#running?.minute !== minute) {
      const premium = averagePremium(this.#basis, hour * HOUR_MS, atMs)
      this.#running = { minute, rate: hourlyFundingRate(premium, this.#funding) }
    }
    return this.#running.rate
  }

  #quotes(
    coin: string,
    atMs: number,
    oraclePrice: number,
  ): Pick<Context, 'midPrice' | 'impact' | 'premium'> {
    const { sizeDecimals } = this.#listing
    const { bids, asks } = this.book(atMs, IMPACT_LEVELS)
    const bestBid = bids[0]
    const bestAsk = asks[0]
    if (bestBid === undefined || bestAsk === undefined) {
      return { midPrice: null, impact: null, premium: null }
    }
    const midPrice = roundTo((bestBid.price + bestAsk.price) / 2, priceDecimalsMax(sizeDecimals))
    const notionalUsd = impactNotionalUsd(coin)
    const bid = impactPrice(bids, notionalUsd)
    const ask = impactPrice(asks, notionalUsd)
    if (bid === undefined || ask === undefined) return { midPrice, impact: null, premium: null }
    const decimals = Math.min(
      priceDecimalsMax(sizeDecimals),
      priceDecimals(oraclePrice, sizeDecimals) + 1,
    )
    const impact = { bid: roundTo(bid, decimals), ask: roundTo(ask, decimals) }
    return { midPrice, impact, premium: this.#funding.premium(impact.bid, impact.ask, oraclePrice) }
  }

  #openInterest(atMs: number): number {
    const swing =
      2 * drift(this.#key ^ 0x61, atMs / (8 * HOUR_MS)) +
      drift(this.#key ^ 0x62, atMs / HOUR_MS) +
      0.1 * drift(this.#key ^ 0x63, atMs / MINUTE_MS)
    const base = this.#openInterestBase * Math.exp(this.#openInterestSwing * swing)
    const { sizeDecimals } = this.#listing
    return Math.max(sizeOf(1, sizeDecimals), roundTo(base, sizeDecimals))
  }

  #dayFigures(atMs: number): Pick<Context, 'prevDayPrice' | 'dayNotionalUsd' | 'dayVolumeBase'> {
    const { sizeDecimals } = this.#listing
    const quarter = Math.floor(atMs / QUARTER_MS)
    const day = this.#day?.quarter === quarter ? this.#day : this.#dayBefore(quarter)
    this.#day = day
    const open = this.#openBar(QUARTER_MS, atMs) ?? flatBar(0)
    return {
      prevDayPrice: day.prevDayPrice,
      dayVolumeBase: sizeOf(day.lots + open.lots, sizeDecimals),
      dayNotionalUsd: day.notionalUsd + notionalOf(open, sizeDecimals),
    }
  }

  #dayBefore(quarter: number): DayTotals {
    let lots = 0
    let notionalUsd = 0
    const first = Math.max(this.#source.firstQuarter, quarter - QUARTERS_A_DAY + 1)
    for (let index = first; index < quarter; index++) {
      const bar = this.#source.quarter(index)
      lots += bar.lots
      notionalUsd += notionalOf(bar, this.#listing.sizeDecimals)
    }
    const dayAgo = Math.max(this.#source.firstQuarter, quarter - QUARTERS_A_DAY)
    return { quarter, prevDayPrice: this.#source.quarter(dayAgo).open, lots, notionalUsd }
  }

  #frozenContext(): Context {
    const lastMs = this.#delistedAtMs - 1
    const price = this.#touch(lastMs).price
    return {
      markPrice: price,
      oraclePrice: price,
      midPrice: null,
      premium: null,
      impact: null,
      fundingRateHourly: 0,
      openInterestBase: 0,
      prevDayPrice: price,
      dayNotionalUsd: 0,
      dayVolumeBase: 0,
    }
  }

  /** The newest trade; where none is near, the close before it with a side by chance. */
  #touch(atMs: number): Touch {
    const minute = Math.floor(atMs / MINUTE_MS)
    const trades = this.#tradesOfMinute(minute)
    const newest = trades[countThrough(trades, atMs) - 1]
    if (newest !== undefined) return newest
    if (this.#touchBefore?.minute !== minute) {
      this.#touchBefore = { minute, touch: this.#touchBeforeMinute(minute) }
    }
    return this.#touchBefore.touch
  }

  #touchBeforeMinute(minute: number): Touch {
    const startMs = minute * MINUTE_MS
    const newest = this.lastTrades(startMs - 1, 1)[0]
    if (newest !== undefined) return newest
    const quarter = Math.max(this.#source.firstQuarter, Math.floor(startMs / QUARTER_MS))
    return { price: this.#source.quarter(quarter).open, side: 'B' }
  }

  /** The venue's first longer candle holds the coin's first trades, also where those came amid it. */
  #firstIndex(stepMs: number): number {
    const derived = Math.floor((this.#source.firstQuarter * QUARTER_MS) / stepMs)
    return Math.min(derived, this.#source.firstRecorded(stepMs) ?? derived)
  }

  #closedBar(stepMs: number, index: number): LotBar | undefined {
    const recorded = stepMs > QUARTER_MS ? this.#source.recorded(stepMs, index) : undefined
    return recorded ?? this.#merged({ fromMs: index * stepMs, untilMs: (index + 1) * stepMs })
  }

  /** The bar that holds `atMs`, up to and including it. */
  #openBar(stepMs: number, atMs: number): LotBar | undefined {
    const fromMs = Math.floor(atMs / stepMs) * stepMs
    const untilMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS
    let closed = this.#closedParts.get(stepMs)
    if (closed?.fromMs !== fromMs || closed.untilMs !== untilMs) {
      closed = { fromMs, untilMs, bar: this.#merged({ fromMs, untilMs }) }
      this.#closedParts.set(stepMs, closed)
    }
    const parts = [closed.bar, this.#minuteThrough(atMs)]
    return mergeBars(parts.filter((part) => part !== undefined))
  }

  /** Of whole minutes. */
  #merged({ fromMs, untilMs }: Span): LotBar | undefined {
    const firstMs = Math.max(fromMs, this.#source.firstQuarter * QUARTER_MS)
    return mergeBars(this.#parts(firstMs, untilMs))
  }

  *#parts(firstMs: number, endMs: number): Generator<LotBar> {
    let atMs = firstMs
    while (atMs < endMs) {
      if (atMs % QUARTER_MS === 0 && atMs + QUARTER_MS <= endMs) {
        yield this.#source.quarter(atMs / QUARTER_MS)
        atMs += QUARTER_MS
      } else {
        yield this.#minute(atMs / MINUTE_MS)
        atMs += MINUTE_MS
      }
    }
  }

  /** The minute that holds `atMs`, up to and including it. */
  #minuteThrough(atMs: number): LotBar | undefined {
    const minute = Math.floor(atMs / MINUTE_MS)
    const all = this.#tradesOfMinute(minute)
    const trades = countThrough(all, atMs)
    const [first] = all
    if (trades === 0 || first === undefined) return undefined
    const before = this.#openMinute
    const goesOn = before?.minute === minute && before.trades <= trades
    const known = goesOn ? before : { trades: 0, bar: flatBar(first.price) }
    const bar: { -readonly [K in keyof LotBar]: LotBar[K] } = { ...known.bar }
    for (const { price, sizeBase } of all.slice(known.trades, trades)) {
      bar.high = Math.max(bar.high, price)
      bar.low = Math.min(bar.low, price)
      bar.close = price
      bar.lots += Math.round(sizeBase * 10 ** this.#listing.sizeDecimals)
      bar.trades++
    }
    this.#openMinute = { minute, trades, bar }
    return bar
  }

  #minute(index: number): LotBar {
    const recorded = this.#source.minute(index)
    if (recorded !== undefined) return recorded
    const quarter = Math.floor(index / MINUTES_A_QUARTER)
    const minutes = kept(this.#minutes, quarter, () =>
      minutesOf(
        this.#source.quarter(quarter),
        bits(this.#key ^ 0x0f, quarter),
        this.#listing.sizeDecimals,
      ),
    )
    const minute = minutes[index - quarter * MINUTES_A_QUARTER]
    assert(minute !== undefined, 'a quarter has fifteen minutes')
    return minute
  }

  #tradesOfMinute(index: number): readonly Trade[] {
    if (index < this.#source.firstQuarter * MINUTES_A_QUARTER) return []
    return kept(this.#trades, index, () =>
      tradesOf(
        this.#minute(index),
        index * MINUTE_MS,
        bits(this.#key ^ 0x1e, index),
        this.#listing.sizeDecimals,
      ),
    )
  }

  #candle(bar: LotBar, openTimeMs: number): Candle {
    const { open, high, low, close, lots, trades } = bar
    const volumeBase = sizeOf(lots, this.#listing.sizeDecimals)
    return { openTimeMs, open, high, low, close, volumeBase, trades }
  }
}

function kept<T>(memory: BoundedMap<number, T>, index: number, make: () => T): T {
  const known = memory.get(index)
  if (known !== undefined) return known
  const made = make()
  memory.set(index, made)
  return made
}

function notionalOf(bar: LotBar, sizeDecimals: number): number {
  return (sizeOf(bar.lots, sizeDecimals) * (bar.open + bar.high + bar.low + bar.close)) / 4
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c))
}

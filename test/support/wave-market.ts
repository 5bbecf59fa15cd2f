import { maxLeverageOf } from '../../src/simulator/market/catalog.ts'
import type {
  Book,
  Candle,
  CandleInterval,
  Context,
  Instrument,
  Market,
  TimeRange,
  Trade,
} from '../../src/simulator/market/market.ts'
import { candleIntervalMs } from '../../src/simulator/market/market.ts'
import { bits, drift, noiseKey, uniform } from '../../src/simulator/market/noise.ts'
import { roundPrice } from '../../src/simulator/market/precision.ts'

const SIZE_DECIMALS = 2
/** Tables below 50 are implied: one tier with this maximum leverage. */
const LEVERAGES = [5, 10, 20]
const PRICE_USD = 100
const OPEN_INTEREST_BASE = 200_000
const TRADE_PERIOD_MS = 8_000
const TRADE_BASE = 150

/**
 * A market whose prices are smooth waves, so that an instant costs next to nothing: days of many coins pass in seconds.
 * Every coin trades every 8 s.
 */
export function waveMarket(count: number): Market {
  const coins = Array.from({ length: count }, (_, i) => `WAVE${i}`)
  const universe: readonly Instrument[] = coins.map((coin, i) => {
    const marginTableId = LEVERAGES[i % LEVERAGES.length] as number
    return {
      ...{ coin, marginTableId, sizeDecimals: SIZE_DECIMALS },
      maxLeverage: maxLeverageOf(marginTableId),
      isDelisted: false,
      isStrictlyIsolated: false,
    }
  })
  const byName = new Map(universe.map((instrument) => [instrument.coin, instrument]))
  const keys = new Map(coins.map((coin) => [coin, noiseKey(0, 'wave', coin)]))
  const keyOf = (coin: string) => keys.get(coin) ?? 0
  const price = (coin: string, atMs: number) => {
    const key = keyOf(coin)
    const wave = 0.02 * drift(key, atMs / 1_500_000) + 0.008 * drift(key ^ 0x7, atMs / 240_000)
    return roundPrice(PRICE_USD * Math.exp(wave), SIZE_DECIMALS)
  }
  const trade = (coin: string, index: number): Trade => {
    const draw = bits(keyOf(coin) ^ 0x55, index)
    return {
      id: index,
      timeMs: index * TRADE_PERIOD_MS,
      side: draw % 2 === 0 ? 'B' : 'A',
      price: price(coin, index * TRADE_PERIOD_MS),
      sizeBase: Math.round(TRADE_BASE * (0.5 + uniform(draw, 1))),
      orderKey: draw,
    }
  }
  const trades = (coin: string, afterMs: number, throughMs: number) => {
    const found: Trade[] = []
    const last = Math.floor(throughMs / TRADE_PERIOD_MS)
    for (let at = Math.floor(afterMs / TRADE_PERIOD_MS) + 1; at <= last; at++)
      found.push(trade(coin, at))
    return found
  }
  const candle = (coin: string, openTimeMs: number, untilMs: number): Candle => {
    const marks = Array.from({ length: 5 }, (_, i) =>
      price(coin, openTimeMs + ((untilMs - openTimeMs) * i) / 4),
    )
    const [open = PRICE_USD] = marks
    const volume = { volumeBase: TRADE_BASE, trades: 1 }
    const [high, low] = [Math.max(...marks), Math.min(...marks)]
    return { openTimeMs, open, high, low, close: marks.at(-1) ?? open, ...volume }
  }
  return {
    clockShiftMs: 0,
    universe: () => universe,
    instrument: (coin) => byName.get(coin),
    trades,
    lastTrades: (coin, atMs, wanted) => trades(coin, atMs - wanted * TRADE_PERIOD_MS, atMs),
    book: (coin, atMs): Book => {
      const mid = price(coin, atMs)
      const level = (away: number) => ({ price: mid + away, sizeBase: 1_000, orders: 3 })
      return { bids: [level(-0.01), level(-0.02)], asks: [level(0.01), level(0.02)] }
    },
    context: (coin, atMs): Context => {
      const markPrice = price(coin, atMs)
      return {
        ...{ markPrice, oraclePrice: markPrice, midPrice: markPrice, premium: 0 },
        impact: { bid: markPrice - 0.01, ask: markPrice + 0.01 },
        fundingRateHourly: 0.0000125,
        openInterestBase: OPEN_INTEREST_BASE,
        prevDayPrice: PRICE_USD,
        dayNotionalUsd: 1e8,
        dayVolumeBase: 1e6,
      }
    },
    candles: (coin: string, interval: CandleInterval, range: TimeRange, atMs: number) => {
      const stepMs = candleIntervalMs[interval]
      const found: Candle[] = []
      const last = Math.floor(Math.min(range.untilMs - 1, atMs) / stepMs)
      for (let at = Math.floor(range.fromMs / stepMs); at <= last; at++)
        found.push(candle(coin, at * stepMs, Math.min(atMs, (at + 1) * stepMs)))
      return found
    },
    openCandle: (coin, interval, atMs) => {
      const stepMs = candleIntervalMs[interval]
      return candle(coin, Math.floor(atMs / stepMs) * stepMs, atMs)
    },
    fundingHistory: () => [],
    isOutage: () => false,
    addListing: () => {},
    delist: () => {},
    relist: () => {},
  }
}

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { naiveLiquidations } from '../../../test/golden/naive-liquidations.ts'
import type { CoinEvent } from '../../domain/event.ts'
import type { Listing } from '../../domain/listing.ts'
import { Accounts } from '../../simulator/market/accounts.ts'
import { maxLeverageOf } from '../../simulator/market/catalog.ts'
import {
  maintenanceTiers,
  modelLiquidationPrice as marginPrice,
} from '../../simulator/market/margin.ts'
import type { Market } from '../../simulator/market/market.ts'
import { seededMarket } from '../../simulator/market/seeded-market.ts'
import { CandleLadder } from '../candles/candle-ladder.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newCoin } from '../testing/new-market.ts'
import { heatmapOf } from './heatmap.ts'
import { LiquidationExposure } from './liquidation-exposure.ts'
import { liquidationFlow } from './liquidation-flow.ts'
import { expectSameSide } from './testing/same-side.ts'

const START_MS = Date.UTC(2026, 4, 11, 7, 3, 21)
const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS
const READING_MS = 14_000
/** Longer than a bar, so that candles must replace the marks. */
const GAP_MS = 50 * MINUTE_MS
const BARS = 300

const market = seededMarket({ seed: 5, startMs: START_MS })
const accounts = new Accounts(market, START_MS - MINUTE_MS)

/** Liquidation price over mark price of one that shares margin, as if it were short; null for none. */
const multiples = fc.array(
  fc.option(
    fc.oneof(
      fc.double({ min: 1.001, max: 3, noNaN: true }),
      fc.double({ min: 1.001, max: 600, noNaN: true }),
    ),
  ),
  { minLength: 1, maxLength: 12 },
)

describe('the liquidation map of the simulated market', () => {
  property.prop(
    [
      fc.constantFrom('BTC', 'ETH', 'XRP', 'kPEPE', 'DYDX', 'BANANA'),
      fc.integer({ min: 5 * MINUTE_MS, max: 60 * MINUTE_MS }),
      fc.integer({ min: 5 * MINUTE_MS, max: 40 * MINUTE_MS }),
      fc.integer({ min: 1_000, max: MINUTE_MS }),
      multiples,
      // Of the open interest: how much of it the known accounts hold, by their replies.
      fc.constantFrom(0, 0.3, 1, 1.7),
    ],
    {
      numRuns: 30,
      // The gap ends 1.3 s into a bar in which nothing was traded yet.
      examples: [['BANANA', 2_200_311, 300_000, 1_000, [null], 0]],
    },
  )(
    'is the one that a list of every opening and every account gives, at any moment, also behind a gap',
    (name, untilGapMs, afterGapMs, answeredMs, given, share) => {
      const listing = listingOf(market, name)
      const events = logOf(market, name, { untilGapMs, afterGapMs, answeredMs })
      const lastMs = events.at(-1)?.timeExchangeMs ?? Number.NaN
      const positions = positionsAt(name, lastMs - 3 * MINUTE_MS, given, share)
      const log = [...events, ...positions].sort(
        (one, other) => one.timeReceivedMs - other.timeReceivedMs,
      )
      const coin = newCoin(listing, new CandleLadder(new PulsePool(3)))
      for (const event of log) coin.apply(event)
      const exposure = LiquidationExposure.of(coin)
      if (exposure === null) throw new Error('the log has readings')
      const map = heatmapOf(exposure, coin.midPrice)
      const naive = naiveLiquidations(log, listing.maxLeverage, coin.midPrice)
      for (const side of ['long', 'short'] as const) {
        expectSameSide(map[side], naive[side])
        const { flowBase } = exposure.totals[side]
        const flowShare = flowBase / exposure.openInterestBase
        expect(flowShare).toBeCloseTo(naive[side].shares.flow, 7)
        if (share < 1) expect(flowShare, 'there is something to compare').toBeGreaterThan(0)
      }
      expect(coin.of(liquidationFlow).isApproximate).toBe(true)
      expect(coin.of(liquidationFlow).save().length, 'numbers in a checkpoint').toBeLessThan(2_000)
    },
  )
})

/** All events of a coin: a cold start, a while, a gap, and another while with history. */
function logOf(
  of: Market,
  coin: string,
  given: {
    readonly untilGapMs: number
    readonly afterGapMs: number
    /** From the end of the gap. */
    readonly answeredMs: number
  },
): CoinEvent[] {
  const gapStartMs = START_MS + given.untilGapMs
  const gapEndMs = gapStartMs + GAP_MS
  const after = [...heard(of, coin, gapEndMs, gapEndMs + given.afterGapMs)]
  const isBefore = (event: CoinEvent) => event.timeReceivedMs <= gapEndMs + given.answeredMs
  return [
    contextAt(of, coin, START_MS),
    historyAt(of, coin, START_MS + 2_000),
    ...heard(of, coin, START_MS, gapStartMs),
    contextAt(of, coin, gapEndMs),
    ...after.filter(isBefore),
    historyAt(of, coin, gapEndMs + given.answeredMs),
    ...after.filter((event) => !isBefore(event)),
  ]
}

function* heard(of: Market, coin: string, fromMs: number, untilMs: number): Generator<CoinEvent> {
  for (let atMs = fromMs + READING_MS; atMs <= untilMs; atMs += READING_MS) {
    const middleMs = atMs - READING_MS / 2
    yield* tradesIn(of, coin, atMs - READING_MS, middleMs)
    const { markPrice = 0 } = of.context(coin, middleMs) ?? {}
    yield { kind: 'mark', coin, markPrice, ...at(middleMs) }
    yield* tradesIn(of, coin, middleMs, atMs)
    yield contextAt(of, coin, atMs)
  }
}

/** Replies to what the accounts of the model hold; of those that share margin the price is the given one. */
function positionsAt(
  coin: string,
  atMs: number,
  given: readonly (number | null)[],
  share: number,
): CoinEvent[] {
  if (share === 0) return []
  const tiers = maintenanceTiers(market.instrument(coin)?.marginTableId ?? Number.NaN)
  const { markPrice = Number.NaN } = market.context(coin, atMs) ?? {}
  return accounts.holdersOf(coin, atMs).map((held, number) => {
    const multiple = given[number % given.length] ?? null
    const { sizeBase, rawUsd, isIsolated, entryPrice, leverage } = held
    const shared = multiple === null ? null : markPrice * multiple ** -Math.sign(sizeBase)
    const liquidationPrice = isIsolated ? marginPrice(tiers, sizeBase, rawUsd) : shared
    return {
      kind: 'account-position',
      coin,
      account: `0x${held.account}`,
      sizeBase: sizeBase * share,
      entryPrice,
      leverage,
      liquidationPrice,
      ...at(atMs),
    }
  })
}

function tradesIn(of: Market, coin: string, afterMs: number, throughMs: number): CoinEvent[] {
  return of.trades(coin, afterMs, throughMs).map(({ id, timeMs, side, price, sizeBase }) => ({
    kind: 'trade',
    coin,
    tradeId: id,
    takerSide: side === 'B' ? 'buy' : 'sell',
    price,
    sizeBase,
    ...at(timeMs),
  }))
}

function contextAt(of: Market, coin: string, atMs: number): CoinEvent {
  const told = of.context(coin, atMs)
  if (told === undefined) throw new Error(`the market lists ${coin}`)
  const { impact, dayNotionalUsd: dayNotional, ...figures } = told
  const [impactBid, impactAsk] = [impact?.bid ?? null, impact?.ask ?? null]
  return { kind: 'context', coin, ...figures, dayNotional, impactBid, impactAsk, ...at(atMs) }
}

function historyAt(of: Market, coin: string, atMs: number): CoinEvent {
  const range = { fromMs: atMs - BARS * QUARTER_MS, untilMs: atMs + 1 }
  const bars = of.candles(coin, '15m', range, atMs)
  return { kind: 'history', coin, timeframe: '15m', bars, ...at(atMs) }
}

function listingOf(of: Market, name: string): Listing {
  const { coin, sizeDecimals, marginTableId, isDelisted } = of.instrument(name) ?? {}
  if (coin === undefined || marginTableId === undefined) throw new Error(`no ${name}`)
  const maxLeverage = maxLeverageOf(marginTableId)
  const marginTiers = [{ lowerBoundUsd: 0, maxLeverage }]
  return {
    coin,
    sizeDecimals: sizeDecimals ?? 0,
    maxLeverage,
    marginTiers,
    isDelisted: isDelisted === true,
  }
}

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}

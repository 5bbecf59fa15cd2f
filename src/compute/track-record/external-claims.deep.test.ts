import { describe, expect, test } from 'vitest'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import { chains } from '../../domain/external.ts'
import type { ResolvedClaim } from '../../domain/track-record.ts'
import { quantileLevels } from '../../domain/track-record.ts'
import { documentKinds } from '../analyses/registry.ts'
import { arbSeries } from '../external/arb/arb-history.ts'
import { gapSeries } from '../external/measures/gap-series.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { MarketState } from '../market/market-state.ts'
import { Processor } from '../processor.ts'
import { poolEvents, rateEvents } from '../testing/chain-tape.ts'
import { exchangeQuote, oraclePrice, sourceUp } from '../testing/external-events.ts'
import { newMarket } from '../testing/new-market.ts'
import { BOUNDARY_MS, book, context, history, NOW_MS, universe, warmTape } from '../testing/tape.ts'
import type { Rule } from './rule.ts'
import { gapRules } from './rules/gap.ts'
import { pegRule } from './rules/peg.ts'

const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS
const HOUR_MS = 4 * QUARTER_MS
const HOURS = 40
const PRICE_USD = 60_000

/** Gaps that return to zero within about an hour, by minute. */
const gaps = {
  basis: pathOf(3, 25),
  exchange: pathOf(5, 25),
  chain: pathOf(7, 25),
  peg: pathOf(11, 4),
}

describe('claims about gaps, the peg and slippage', () => {
  const events = Array.from({ length: HOURS * 60 }, (_, minute) => eventsOf(minute))
  const claims = run(events, null)
  const of = (rule: string) => claims.filter((claim) => claim.rule === rule)
  const pathAt = (path: readonly number[], atMs: number) =>
    path[Math.round((atMs - BOUNDARY_MS) / MINUTE_MS)] ?? Number.NaN

  test.each(['gap.basis@2', 'gap.cex_dex@2', 'gap.arb@2', 'peg.level@2', 'slippage.walk@2'])(
    '%s are made and resolved',
    (rule) => expect(of(rule).length).toBeGreaterThan(2),
  )

  test('about gaps happen if half of the planted gap remains on its side', () => {
    const times = (path: readonly number[]) => path.map((bps) => 1 + bps / 10_000)
    const [basis, exchange, peg] = [gaps.basis, gaps.exchange, gaps.peg].map(times)
    const ratio = (at: number) => (exchange?.[at] ?? 0) / (basis?.[at] ?? 0) / (peg?.[at] ?? 0)
    const paths = {
      'gap.basis@2': gaps.basis,
      // Exchanges against the pool, whose price is in USDC.
      'gap.cex_dex@2': gaps.exchange.map((_, at) => (ratio(at) - 1) * 10_000),
    } as const
    let judged = 0
    for (const [rule, path] of Object.entries(paths))
      for (const { madeAtMs, horizonMs, reference, outcome } of of(rule)) {
        const [before, after] = [pathAt(path, madeAtMs), pathAt(path, madeAtMs + horizonMs)]
        expect(Math.sign(before)).toBe(reference[0])
        expect((reference[1] ?? 0) / Math.abs(before / 2)).toBeCloseTo(1, 1)
        const share = after / before
        // The planted gap and the one that is measured differ by the spread of the quotes.
        if (Math.abs(share - 0.5) < 0.05) continue
        judged += 1
        expect(outcome).toEqual({ kind: 'event', happened: share > 0.5, controlHappened: null })
      }
    expect(judged).toBeGreaterThan(5)
  })

  test('about the peg happen while USDC is within 10 bps, or beyond half of its level', () => {
    for (const { madeAtMs, horizonMs, reference, outcome } of of('peg.level@2')) {
      const away = Math.abs(pathAt(gaps.peg, madeAtMs + horizonMs))
      const [fromBps = 0] = [0, 5, 12.5].slice(reference[0])
      const happened = fromBps === 0 ? away < 10 : away >= fromBps
      if (Math.min(Math.abs(away - 10), Math.abs(away - fromBps)) < 0.5) continue
      expect(outcome).toEqual({ kind: 'event', happened, controlHappened: null })
    }
  })

  test('about slippage have the cost of the first execution of the size and direction', () => {
    const resolved = of('slippage.walk@2').filter(({ outcome }) => outcome.kind === 'value')
    expect(resolved.length).toBeGreaterThan(2)
    for (const { madeAtMs, reference, outcome, statement } of resolved) {
      const first = Math.round((madeAtMs - BOUNDARY_MS) / MINUTE_MS) + 1
      const direction = reference[0] === 1 ? 1 : -1
      const minutes = Array.from({ length: 14 }, (_, at) => first + at)
      const minute = minutes.find((one) => directionOf(one) === direction) ?? Number.NaN
      const value = outcome.kind === 'value' ? outcome.value : Number.NaN
      expect(value).toBeCloseTo(paidBpsOf(minute), 6)
      expect(statement.form === 'quantiles' && statement.values).toHaveLength(quantileLevels.length)
    }
  })

  test('have the same outcomes after a restart, whose measures come from the history', () => {
    // The minute of the restart is in no history, so that a stated probability may differ a little.
    const outcomes = (all: readonly ResolvedClaim[]) =>
      all
        .filter(({ rule }) => /^(gap|peg|slippage)\./.test(rule))
        .map(({ rule, madeAtMs, resolvedAtMs, outcome }) => ({
          ...{ rule, madeAtMs, resolvedAtMs, outcome },
        }))
    expect(outcomes(run(events, 22 * 60 + 7))).toEqual(outcomes(claims))
  }, 240_000)
})

describe('rules abstain', () => {
  const DAY_MINUTES = 1_440
  const wave = (minute: number) => 50 * Math.sin(minute / 10)
  const marketOf = (events: readonly MarketEvent[]) => {
    const market = newMarket(new PulsePool(3))
    for (const event of [universe(['BTC']), ...events]) market.apply(event)
    return market
  }
  const remember = (market: MarketState, series: string, of: (minute: number) => number) => {
    for (let minute = DAY_MINUTES; minute > 0; minute -= 1)
      market.log.record(series, NOW_MS - minute * MINUTE_MS, of(minute))
  }
  const make = (rule: Rule | undefined, market: MarketState, nowMs = NOW_MS) => {
    const coin = market.coin('BTC')
    if (coin === undefined) throw new Error('BTC is listed')
    return rule?.make({ coin, market, dayBars: () => [], atMs: BOUNDARY_MS, nowMs }, 0) ?? null
  }

  test.each([
    { usdcUsd: 1, isMade: true },
    { usdcUsd: 1.0015, isMade: false },
  ])('while USDC at $usdcUsd has the level pegged by its duration only', ({ usdcUsd, isMade }) => {
    const quotes = (['kraken', 'coinbase'] as const).map((exchange) =>
      exchangeQuote(exchange, 'USDC', usdcUsd, NOW_MS),
    )
    const market = marketOf([...quotes, oraclePrice('pyth-hermes', 'USDC', usdcUsd, NOW_MS)])
    remember(market, 'depeg/price', (minute) => 1 + (minute % 2) * 1e-5)
    market.advance(NOW_MS)
    expect(make(pegRule, market) !== null).toBe(isMade)
  })

  test.each([
    { what: 'a basis of now', basisBps: 100, ageMs: 0, isMade: true },
    { what: 'a venue price that is still sold', basisBps: 100, ageMs: 60_000, isMade: true },
    { what: 'an older one', basisBps: 100, ageMs: 60_001, isMade: false },
    { what: 'a basis beyond its printed band', basisBps: 3.006, ageMs: 0, isMade: true },
    { what: 'one that prints as its band', basisBps: 3.004, ageMs: 0, isMade: false },
  ])('or not, about $what: $isMade', ({ basisBps, ageMs, isMade }) => {
    const nowMs = NOW_MS + ageMs
    const market = marketOf([
      context('BTC', { oraclePrice: 100 + basisBps / 100 }),
      oraclePrice('pyth-hermes', 'BTC', 100, nowMs),
    ])
    remember(market, gapSeries.basis('BTC', 'pyth-hermes'), wave)
    const rule = gapRules.find(({ id }) => id === 'gap.basis@2')
    expect(make(rule, market, nowMs) !== null).toBe(isMade)
  })

  test.each([
    { ageMs: 60_000, isMade: true },
    { ageMs: 60_001, isMade: false },
  ])('about a gap of exchanges with a venue price of $ageMs ms: $isMade', ({ ageMs, isMade }) => {
    const nowMs = NOW_MS + ageMs
    const market = marketOf([
      context('BTC', { oraclePrice: 100 }),
      ...(['kraken', 'coinbase'] as const).map((exchange) =>
        exchangeQuote(exchange, 'BTC', 101, nowMs),
      ),
      oraclePrice('pyth-hermes', 'BTC', 100, nowMs),
    ])
    remember(market, gapSeries.cexDex('BTC', 'pyth-hermes'), wave)
    const rule = gapRules.find(({ id }) => id === 'gap.cex_dex@2')
    expect(make(rule, market, nowMs) !== null).toBe(isMade)
  })

  test.each([
    { fresh: 5, isMade: true },
    { fresh: 4, isMade: false },
  ])('about a gap between $fresh fresh chains: $isMade', ({ fresh, isMade }) => {
    const market = marketOf([])
    remember(market, arbSeries.gap('BTC', 'base'), wave)
    for (const chain of chains)
      if (chain !== 'base') remember(market, arbSeries.gap('BTC', chain), () => 0)
    const firstMs = BOUNDARY_MS + 10_000
    for (let nowMs = firstMs; nowMs <= firstMs + 70_000; nowMs += 10_000) {
      const pools = poolEvents(nowMs, (asset, chain) =>
        asset === 'BTC' && chain === 'base' ? 60 : 0,
      ).filter((event) => !('chain' in event) || chains.indexOf(event.chain) < fresh)
      for (const event of [...rateEvents(nowMs), ...pools]) market.apply(event)
      market.advance(nowMs)
    }
    const rule = gapRules.find(({ id }) => id === 'gap.arb@2')
    expect(make(rule, market, firstMs + 70_000) !== null).toBe(isMade)
  })
})

/** @param restartAt minute before which the engine is restarted from its checkpoint */
function run(events: readonly Batch[], restartAt: number | null): readonly ResolvedClaim[] {
  let processor = new Processor(documentKinds, 'before')
  for (const batch of warmTape('BTC')) processor.process(batch)
  const resolved: ResolvedClaim[] = []
  const measures = new Map<string, { readonly timeMs: number; readonly value: number }[]>()
  for (const [minute, batch] of events.entries()) {
    const nowMs = BOUNDARY_MS + minute * MINUTE_MS + 5_000
    if (minute === restartAt) {
      const checkpoint = processor.records.checkpoint(nowMs - 1_000)
      processor = new Processor(documentKinds, 'after')
      processor.restore(checkpoint, nowMs - 500)
      const at = { timeExchangeMs: nowMs - 500, timeReceivedMs: nowMs - 500 }
      for (const [series, rows] of measures)
        processor.process([{ kind: 'measure-history', series, rows, ...at } as MarketEvent])
    }
    processor.process(batch)
    for (let part = 0; part < 3; part += 1) processor.advance(nowMs + part * 1_000)
    for (const { series, timeMs, value } of processor.records.takeHistory().measures) {
      const rows = measures.get(series) ?? []
      rows.push({ timeMs, value })
      measures.set(series, rows)
    }
    resolved.push(...processor.records.takeClaims())
  }
  return resolved
}

/** One minute: figures, sources, pools, an execution, and the bar that has ended. */
function eventsOf(minute: number): Batch {
  const timeMs = BOUNDARY_MS + minute * MINUTE_MS + 4_500
  const at = { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
  const above = (path: readonly number[]) => 1 + (path[minute] ?? 0) / 10_000
  const oracleUsd = PRICE_USD / above(gaps.basis)
  const direction = directionOf(minute)
  const price = PRICE_USD * (1 + (direction * paidBpsOf(minute)) / 10_000)
  const side = (sign: 1 | -1) =>
    Array.from({ length: 20 }, (_, level) => ({
      price: PRICE_USD * (1 + sign * (1e-4 + level * 1e-4)),
      sizeBase: 0.1,
    }))
  const atTrade = { timeExchangeMs: timeMs + 100, timeReceivedMs: timeMs + 100 }
  const usdcUsd = above(gaps.peg)
  return [
    context('BTC', {
      ...{ markPrice: PRICE_USD, oraclePrice: PRICE_USD, midPrice: PRICE_USD },
      ...{ impactBid: null, impactAsk: null, prevDayPrice: PRICE_USD, ...at },
    }),
    book('BTC', { bids: side(-1), asks: side(1), ...at }),
    {
      ...{ kind: 'trade', coin: 'BTC', price, sizeBase: 11_000 / PRICE_USD, tradeId: minute },
      ...{ takerSide: direction === 1 ? 'buy' : 'sell', ...atTrade },
    } as MarketEvent,
    ...(minute % 15 === 0 ? [barUntil(BOUNDARY_MS + minute * MINUTE_MS, at)] : []),
    sourceUp('pyth-hermes', timeMs),
    sourceUp('kraken', timeMs),
    sourceUp('coinbase', timeMs),
    ...rateEvents(timeMs, { ETH: 3_000, BTC: PRICE_USD, USDC: usdcUsd }),
    exchangeQuote('kraken', 'USDC', usdcUsd, timeMs),
    exchangeQuote('coinbase', 'USDC', usdcUsd, timeMs),
    ...poolEvents(
      timeMs,
      (asset, chain) => (asset === 'BTC' && chain === chains[3] ? (gaps.chain[minute] ?? 0) : 0),
      { ETH: 3_000, BTC: PRICE_USD, USDC: 1 },
    ),
    oraclePrice('pyth-hermes', 'BTC', oracleUsd, timeMs),
    exchangeQuote('kraken', 'BTC', oracleUsd * above(gaps.exchange), timeMs),
    exchangeQuote('coinbase', 'BTC', oracleUsd * above(gaps.exchange), timeMs),
  ]
}

function barUntil(endMs: number, at: Pick<MarketEvent, 'timeExchangeMs' | 'timeReceivedMs'>) {
  const prices = { open: PRICE_USD, high: PRICE_USD * 1.001, low: PRICE_USD * 0.999 }
  const bar = { openTimeMs: endMs - QUARTER_MS, ...prices, close: PRICE_USD, volumeBase: 10 }
  return { ...history('BTC', '15m', [bar]), ...at } as MarketEvent
}

function directionOf(minute: number): 1 | -1 {
  return Math.floor(minute / 2) % 2 === 0 ? 1 : -1
}

function paidBpsOf(minute: number): number {
  return 1 + (minute % 7) / 4
}

/** An AR(1) path by minute, bps. */
function pathOf(seed: number, deviationBps: number): readonly number[] {
  let state = seed
  const uniform = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32 - 0.5
  }
  const kept = 0.5 ** (MINUTE_MS / HOUR_MS)
  const step = deviationBps * Math.sqrt(12 * (1 - kept ** 2))
  const path = [0]
  while (path.length < HOURS * 60 + 60) path.push(kept * (path.at(-1) ?? 0) + step * uniform())
  return path
}

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naiveSpread } from '../../../test/golden/naive-spread.ts'
import type { BookEvent, CoinEvent, TradeEvent } from '../../domain/event.ts'
import { TradeCosts } from './trade-costs.ts'

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

/** Kept small, so that a log is searched from its start thousands of times. */
const LOG_LENGTH = 400

describe('trade costs', () => {
  property.prop([tapes(), fc.integer({ min: 1, max: LOG_LENGTH })], { numRuns: 100 })(
    'are those of the slow search through the whole log, at any moment',
    (log, moment) => {
      const upTo = log.slice(0, moment)
      agree(costsAfter(upTo), upTo)
    },
  )

  property.prop([tapes(), fc.integer({ min: 1, max: LOG_LENGTH })], { numRuns: 80 })(
    'go on after they were saved as if nothing was, once the quotes before are too old anyway',
    (log, moment) => {
      const kept = costsAfter(log.slice(0, moment))
      const restored = new TradeCosts()
      expect(restored.restore(kept.save())).toBe(true)
      const savedMs = Math.max(...log.slice(0, moment).map(({ timeExchangeMs }) => timeExchangeMs))
      for (const event of log.slice(moment)) {
        const later = { ...event, timeExchangeMs: event.timeExchangeMs + 7_000 }
        if (later.timeExchangeMs < savedMs + 6_500) continue
        kept.apply(later)
        restored.apply(later)
      }
      expect(restored.costs()).toEqual(kept.costs())
      expect(restored.calibration()).toEqual(kept.calibration())
    },
  )

  test('a worked example: bought at 101 and 103 with mid 100, the mid 104 ten seconds later', () => {
    const costs = new TradeCosts()
    for (let at = 0; at < 20; at += 1) {
      const timeMs = START_MS + at * 20_000
      costs.apply(book(timeMs, 100))
      costs.apply(trade(timeMs + 500, 'buy', 101, 3))
      costs.apply(trade(timeMs + 500, 'buy', 103, 1))
      costs.apply(book(timeMs + 11_000, 104))
    }
    const { effectiveBps, realizedBps, n, realizedN, notionalUsd } = costs.costs()
    expect([n, realizedN, notionalUsd]).toEqual([20, 20, 20 * 406])
    // 2 x (303 x 1 % + 103 x 3 %) / 406
    expect(effectiveBps).toBeCloseTo((2 * (303 * 100 + 103 * 300)) / 406, 9)
    // 2 x (303 x -3 % + 103 x -1 %) / 406: the price ran away from the makers
    expect(realizedBps).toBeCloseTo((-2 * (303 * 300 + 103 * 100)) / 406, 9)
  })

  test('a sale at the bid costs as much as a buy at the ask', () => {
    const bought = costsOf('buy', 101)
    const sold = costsOf('sell', 99)
    expect(sold.effectiveBps).toBe(bought.effectiveBps)
    expect(sold.realizedBps).toBe(bought.realizedBps)
  })

  test('a quote with the timestamp of the trade is not used', () => {
    const costs = new TradeCosts()
    for (let at = 0; at < 20; at += 1) {
      const timeMs = START_MS + at * 5_000
      costs.apply(book(timeMs, 100))
      costs.apply(book(timeMs + 500, 110))
      costs.apply(trade(timeMs + 500, 'buy', 101, 1))
    }
    costs.apply(book(START_MS + 200_000, 100))
    expect(costs.costs().effectiveBps).toBeCloseTo(200, 9)
  })

  test.each([
    { what: 'nineteen executions', changes: { count: 19 }, n: 19 },
    { what: 'quotes older than a second', changes: { delayMs: 1_001 }, n: 0 },
    { what: 'one-sided quotes', changes: { isOneSided: true }, n: 0 },
  ])('$what say nothing', ({ changes, n }) => {
    const costs = costsOf('buy', 101, changes)
    expect(costs.effectiveBps).toBeNull()
    expect(costs.realizedBps).toBeNull()
    expect(costs.n).toBe(n)
  })

  test('an execution without a quote 10 to 16 s later has no realized spread', () => {
    const costs = costsOf('buy', 101, { afterMs: 16_501 })
    expect(costs.n).toBe(20)
    expect(costs.effectiveBps).toBeCloseTo(200, 9)
    expect(costs).toMatchObject({ realizedN: 0, realizedBps: null })
  })

  test('every execution of a burst has its later mid price', () => {
    const burst = [...burstOf(400), book(START_MS + 12_000, 100)]
    const costs = costsAfter(burst)
    agree(costs, burst)
    expect(costs.costs()).toMatchObject({ n: 400, realizedN: 400, isWhole: true })
  })

  test('a burst beyond the bound of waiting executions is partial for its hour', () => {
    const costs = costsAfter([...burstOf(1_026), book(START_MS + 12_000, 100)])
    expect(costs.costs()).toMatchObject({ n: 1_026, realizedN: 1_024, isWhole: false })
    costs.apply(book(START_MS + 61 * MINUTE_MS, 100))
    expect(costs.costs().isWhole).toBe(true)
  })

  test('executions expire minute by minute after an hour', () => {
    const costs = new TradeCosts()
    runOf(costs, 'buy', 101)
    costs.apply(book(START_MS + 59 * MINUTE_MS, 100))
    expect(costs.costs()).toMatchObject({ n: 20, windowSeconds: 59 * 60 })
    costs.apply(book(START_MS + 70 * MINUTE_MS, 100))
    expect(costs.costs()).toMatchObject({ n: 0, effectiveBps: null, windowSeconds: 0 })
  })

  test('a trade that the venue replays to a restored engine is counted once', () => {
    const costs = new TradeCosts()
    const tell = (to: TradeCosts) => {
      to.apply(book(START_MS, 100))
      to.apply(trade(START_MS + 500, 'buy', 101, 1))
      to.apply(book(START_MS + 5_000, 100))
    }
    tell(costs)
    expect(costs.costs().n).toBe(1)
    const restored = new TradeCosts()
    restored.restore(costs.save())
    tell(restored)
    expect(restored.costs().n).toBe(1)
  })

  test('pending executions survive a restart', () => {
    const [costs, restored] = [new TradeCosts(), new TradeCosts()]
    costs.apply(book(START_MS, 100))
    costs.apply(trade(START_MS + 500, 'buy', 101, 1))
    costs.apply(book(START_MS + 1_000, 100))
    restored.restore(costs.save())
    restored.apply(book(START_MS + 11_000, 100))
    expect(restored.costs()).toMatchObject({ n: 1, realizedN: 1 })
  })

  test('executions cut by a gap are left out', () => {
    const costs = new TradeCosts()
    const [quotedMs, tradedMs] = [START_MS, START_MS + 500]
    costs.apply(book(quotedMs, 100))
    costs.apply(trade(tradedMs, 'buy', 101, 1))
    costs.apply({ ...gap(tradedMs, tradedMs + 100), coin: 'BTC' })
    costs.apply(trade(tradedMs + 100, 'buy', 101, 1))
    costs.apply(book(START_MS + 5_000, 100))
    expect(costs.costs().n).toBe(0)
  })

  test('is_partial lasts an hour after a gap, also across a restart', () => {
    const costs = new TradeCosts()
    expect(costs.costs().isWhole, 'before any event').toBe(true)
    runOf(costs, 'buy', 101)
    expect(costs.costs().isWhole).toBe(true)
    const lostMs = START_MS + 10 * MINUTE_MS
    costs.apply({ ...gap(lostMs - 5_000, lostMs), coin: 'BTC' })
    const restored = new TradeCosts()
    restored.restore(costs.save())
    for (const one of [costs, restored]) {
      one.apply(book(lostMs + 59 * MINUTE_MS, 100))
      expect(one.costs().isWhole).toBe(false)
      one.apply(book(lostMs + 60 * MINUTE_MS, 100))
      expect(one.costs().isWhole).toBe(true)
    }
  })

  test('a venue clock set back clears the state', () => {
    const costs = new TradeCosts()
    runOf(costs, 'buy', 101)
    costs.apply(book(START_MS - 5 * MINUTE_MS, 100))
    expect(costs.costs()).toMatchObject({ n: 0, windowSeconds: 0 })
    runOf(costs, 'buy', 101)
    expect(costs.costs().n).toBe(20)
  })

  test('calibration compares the cost paid with the estimate from the book before', () => {
    const costs = new TradeCosts()
    for (let at = 0; at < 20; at += 1) {
      const timeMs = START_MS + at * 20_000
      costs.apply(book(timeMs, 100))
      // 8,160 USD from the book before are 40 at 101 and the rest at 103.
      costs.apply(trade(timeMs + 100, 'buy', 102, 80))
      costs.apply(book(timeMs + 5_000, 100))
    }
    const paid = 200
    const base = 40 + (8_160 - 4_040) / 103
    const estimated = (8_160 / base / 100 - 1) * 10_000
    const { n, medianAbsErrorBps, medianErrorBps, asOfMs, modelScale } = costs.calibration()
    expect(n).toBe(20)
    expect(medianErrorBps).toBeCloseTo(paid - estimated, 9)
    expect(medianAbsErrorBps).toBeCloseTo(Math.abs(paid - estimated), 9)
    expect(asOfMs).toBe(START_MS + 19 * 20_000 + 100)
    expect(modelScale, 'the visible book is no model').toBe(1)
  })

  test('small executions are not compared', () => {
    const costs = new TradeCosts()
    runOf(costs, 'buy', 101)
    expect(costs.calibration()).toMatchObject({ n: 0, medianAbsErrorBps: null, asOfMs: null })
  })

  test('a model that is half the actual cost is doubled after twenty executions', () => {
    const costs = new TradeCosts()
    const visibleUsd = 40 * 101 + 60 * 103
    // The whole side costs 222 bps of mid; the model says twice that for four times the size.
    const modelled = (visibleUsd / 100 / 100 - 1) * 10_000 * 2
    const price = 100 * (1 + (2 * modelled) / 10_000)
    const sweep = (at: number) => {
      const timeMs = START_MS + at * 20_000
      costs.apply(book(timeMs, 100))
      costs.apply(trade(timeMs + 100, 'buy', price, (4 * visibleUsd) / price))
      costs.apply(book(timeMs + 5_000, 100))
    }
    for (let at = 0; at < 20; at += 1) {
      expect(costs.calibration().modelScale).toBe(1)
      sweep(at)
    }
    expect(costs.calibration()).toMatchObject({ n: 20, modelN: 20 })
    expect(costs.calibration().modelScale).toBeCloseTo(2, 9)
    expect(costs.calibration().medianErrorBps).toBeCloseTo(modelled, 9)
    for (let at = 20; at < 50; at += 1) sweep(at)
    expect(costs.calibration().medianErrorBps, 'of most of them').toBeCloseTo(0, 9)
  })

  test('a state of another version is not restored', () => {
    const costs = new TradeCosts()
    expect(costs.restore(new Float64Array(0))).toBe(false)
    expect(costs.restore(Float64Array.of(1, 7))).toBe(false)
    expect(costs.restore(new TradeCosts().save())).toBe(true)
    expect(costs.costs()).toMatchObject({ n: 0, windowSeconds: 0 })
  })
})

function costsAfter(log: readonly CoinEvent[]): TradeCosts {
  const costs = new TradeCosts()
  for (const event of log) costs.apply(event)
  return costs
}

function agree(costs: TradeCosts, log: readonly CoinEvent[]): void {
  const naive = naiveSpread(log)
  const { effectiveBps, n, notionalUsd, realizedBps, realizedN, windowSeconds } = costs.costs()
  const calibration = costs.calibration()
  expect([n, realizedN, calibration.n, calibration.modelN]).toEqual([
    naive.n,
    naive.realizedN,
    naive.calibrationN,
    naive.modelN,
  ])
  isClose(effectiveBps, naive.effectiveBps)
  isClose(realizedBps, naive.realizedBps)
  isClose(notionalUsd, naive.notionalUsd)
  isClose(windowSeconds, naive.windowSeconds)
  isClose(calibration.medianAbsErrorBps, naive.medianAbsErrorBps)
  isClose(calibration.p90AbsErrorBps, naive.p90AbsErrorBps)
  isClose(calibration.medianErrorBps, naive.medianErrorBps)
  isClose(calibration.modelScale, naive.modelScale)
  isClose(calibration.asOfMs, naive.calibratedAtMs)
}

/** null here is NaN there. */
function isClose(value: number | null, reference: number): void {
  if (value === null) expect(reference).toBeNaN()
  else expect(Math.abs(value - reference)).toBeLessThanOrEqual(1e-9 * Math.abs(reference) + 1e-9)
}

/**
 * Events of a busy coin with everything that can go wrong on the way: quotes that overtake each other, one
 * side missing, orders of many fills beyond the visible book, pauses, replays and lost trades.
 */
function tapes(): fc.Arbitrary<CoinEvent[]> {
  const step = fc.record({
    kind: fc.constantFrom(
      ...(['trade', 'trade', 'trade', 'trade', 'fill', 'fill', 'book', 'book', 'top'] as const),
    ),
    rare: fc.integer({ min: 0, max: 60 }),
    pauseMs: fc.constantFrom(0, 0, 70, 70, 140, 300, 900, 2_500, 7_000),
    lagMs: fc.constantFrom(0, 0, 0, 0, 70, 400),
    side: fc.constantFrom<'buy' | 'sell'>('buy', 'sell'),
    move: fc.integer({ min: -3, max: 3 }),
    size: fc.constantFrom(0.53, 5.1, 20.7, 83.3, 311.9),
  })
  return fc.array(step, { minLength: 40, maxLength: LOG_LENGTH, size: 'max' }).map((steps) => {
    let [timeMs, mid, tradeMs] = [START_MS, 100, START_MS]
    return steps.map(({ kind, rare, pauseMs, lagMs, side, move, size }): CoinEvent => {
      timeMs += pauseMs
      mid = Math.max(90, mid + move / 10)
      const direction = side === 'buy' ? 1 : -1
      if (rare === 0) return { ...gap(tradeMs, timeMs), coin: 'BTC' }
      if (rare === 1)
        return { kind: 'silence', coin: 'BTC', channel: 'trades', ...of(timeMs, side) }
      if (rare === 2) return trade(tradeMs - 5_000, side, mid, size)
      if (kind === 'fill') return trade(tradeMs, side, mid + 2 * direction, size)
      if (kind === 'trade') {
        tradeMs = timeMs
        return trade(timeMs, side, mid + direction, size)
      }
      const isOneSided = rare === 3
      if (kind === 'book') return book(timeMs - lagMs, mid, isOneSided)
      const [bid, ask] = [level(mid - 1, 40), level(mid + 1, 40)]
      const sides = { bid: isOneSided ? null : bid, ask }
      return { kind: 'top-of-book', coin: 'BTC', ...sides, ...at(timeMs - lagMs) }
    })
  })
}

type RunChanges = { count?: number; delayMs?: number; afterMs?: number; isOneSided?: boolean }

function costsOf(side: 'buy' | 'sell', price: number, changes: RunChanges = {}) {
  const costs = new TradeCosts()
  runOf(costs, side, price, changes)
  return costs.costs()
}

/** One small execution every two seconds from the start on, mid 100 all the time. */
function runOf(costs: TradeCosts, side: 'buy' | 'sell', price: number, changes: RunChanges = {}) {
  const { count = 20, delayMs = 500, afterMs = 10_500, isOneSided = false } = changes
  for (let index = 0; index < count; index += 1) {
    const timeMs = START_MS + index * (delayMs + afterMs)
    costs.apply(book(timeMs, 100, isOneSided))
    costs.apply(trade(timeMs + delayMs, side, price, 1))
    costs.apply(book(timeMs + delayMs + afterMs, 100, isOneSided))
  }
}

/** Executions of both sides within two seconds, two a block, with quotes that are recent for each. */
function burstOf(executions: number): CoinEvent[] {
  return Array.from({ length: executions / 2 }, (_, block) => {
    const timeMs = START_MS + 2 * block
    return [
      book(timeMs, 100 + (block % 3)),
      trade(timeMs + 1, 'buy', 103, 1),
      trade(timeMs + 1, 'sell', 98, 1),
    ]
  }).flat()
}

/** Half a spread of 1 around the mid, 40 there and 60 two further away. */
function book(timeMs: number, mid: number, isOneSided = false): BookEvent {
  return {
    kind: 'book',
    coin: 'BTC',
    bids: isOneSided ? [] : [level(mid - 1, 40), level(mid - 3, 60)],
    asks: [level(mid + 1, 40), level(mid + 3, 60)],
    ...at(timeMs),
  }
}

function trade(timeMs: number, takerSide: 'buy' | 'sell', price: number, sizeBase: number) {
  const event: TradeEvent = {
    kind: 'trade',
    coin: 'BTC',
    tradeId: 0,
    takerSide,
    price,
    sizeBase,
    ...at(timeMs),
  }
  return event
}

function gap(fromMs: number, toMs: number) {
  return { kind: 'trade-gap' as const, fromMs, toMs, ...at(toMs) }
}

function of(timeMs: number, side: 'buy' | 'sell') {
  return { state: side === 'buy' ? ('silent' as const) : ('heard' as const), ...at(timeMs) }
}

function level(price: number, sizeBase: number) {
  return { price, sizeBase }
}

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}

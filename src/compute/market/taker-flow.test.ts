import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { TradeEvent, TradeGapEvent } from '../../domain/event.ts'
import { TakerFlow } from './taker-flow.ts'

const START_MS = Date.UTC(2026, 0, 1)
const STEP_MS = 300_000
const WINDOW_MS = 48 * STEP_MS

const trades = fc.array(
  fc.record({
    takerSide: fc.constantFrom('buy' as const, 'sell' as const),
    price: fc.double({ min: 0.001, max: 1e5, noNaN: true }),
    sizeBase: fc.double({ min: 0.001, max: 1e4, noNaN: true }),
    afterMs: fc.integer({ min: 0, max: 1_200_000 }),
  }),
  { maxLength: 120 },
)

describe('taker flow', () => {
  property.prop([trades])('is the sum over the trades of the last 48 five minutes', (given) => {
    const tape = timed(given)
    const nowMs = tape.at(-1)?.timeExchangeMs ?? START_MS
    const fromMs = Math.floor(nowMs / STEP_MS) * STEP_MS - 47 * STEP_MS
    const window = tape.filter(({ timeExchangeMs }) => timeExchangeMs >= fromMs)
    const usd = (side: string) =>
      window
        .filter(({ takerSide }) => takerSide === side)
        .reduce((sum, { price, sizeBase }) => sum + price * sizeBase, 0)
    const volume = flowOf(tape).volume(nowMs)
    expect(volume.buyUsd).toBeCloseTo(usd('buy'), 3)
    expect(volume.sellUsd).toBeCloseTo(usd('sell'), 3)
    const steps = new Set(window.map(({ timeExchangeMs }) => Math.floor(timeExchangeMs / STEP_MS)))
    expect(volume.steps).toBe(steps.size)
  })

  property.prop([trades, fc.nat(120)])('a restored tracker continues the same', (given, at) => {
    const tape = timed(given).map((trade, index) => ({
      ...trade,
      timeExchangeMs: trade.timeExchangeMs + index,
    }))
    const kept = flowOf(tape.slice(0, at))
    const restored = new TakerFlow()
    expect(restored.restore(kept.save())).toBe(true)
    // The venue repeats its last trades.
    for (const trade of tape.slice(Math.max(0, at - 30))) restored.apply(trade)
    for (const trade of tape.slice(at)) kept.apply(trade)
    const nowMs = tape.at(-1)?.timeExchangeMs ?? START_MS
    expect(restored.volume(nowMs)).toEqual(kept.volume(nowMs))
  })

  test('forgets what is over four hours old', () => {
    const flow = flowOf([trade(START_MS, 'buy', 5)])
    expect(flow.volume(START_MS + WINDOW_MS - 1)).toMatchObject({
      buyUsd: 500,
      sellUsd: 0,
      steps: 1,
    })
    expect(flow.volume(START_MS + WINDOW_MS)).toMatchObject({ buyUsd: 0, sellUsd: 0, steps: 0 })
  })

  test('does not count what may be a part of what was lost', () => {
    const flow = new TakerFlow()
    flow.apply(gapUntil(START_MS))
    flow.apply(trade(START_MS, 'sell', 1))
    flow.apply(trade(START_MS + 1, 'sell', 2))
    expect(flow.volume(START_MS + 1)).toMatchObject({ buyUsd: 0, sellUsd: 200, steps: 1 })
  })

  test('is incomplete for four hours after a gap, also across a restart', () => {
    const flow = flowOf([trade(START_MS - WINDOW_MS, 'buy', 5), trade(START_MS, 'buy', 5)])
    expect(flow.volume(START_MS).isWhole).toBe(true)
    flow.apply(gapUntil(START_MS + 60_000))
    const restored = new TakerFlow()
    restored.restore(flow.save())
    for (const one of [flow, restored]) {
      expect(one.volume(START_MS + 60_000).isWhole).toBe(false)
      expect(one.volume(START_MS + WINDOW_MS - 1).isWhole).toBe(false)
      expect(one.volume(START_MS + WINDOW_MS).isWhole).toBe(true)
    }
  })

  test('is incomplete for four hours after the first known trade, also across a restart', () => {
    const flow = flowOf([trade(START_MS + 1_000, 'buy', 5), trade(START_MS, 'buy', 5)])
    const restored = new TakerFlow()
    restored.restore(flow.save())
    for (const one of [flow, restored]) {
      expect(one.volume(START_MS + 3_600_000)).toMatchObject({ steps: 1, isWhole: false })
      expect(one.volume(START_MS + WINDOW_MS - 1).isWhole).toBe(false)
      expect(one.volume(START_MS + WINDOW_MS).isWhole).toBe(true)
    }
  })

  test('of a coin that never traded is complete', () => {
    expect(flowOf([]).volume(START_MS)).toMatchObject({ steps: 0, isWhole: true })
  })

  test.each([
    { what: 'nothing', saved: new Float64Array(0) },
    { what: 'another layout', saved: Float64Array.of(3, 1, 0, 0, 0) },
    { what: 'half a row', saved: Float64Array.of(4, 4_302, 0, 0, 0, 2, 1, 1) },
  ])('begins anew from $what', ({ saved }) => {
    expect(new TakerFlow().restore(saved)).toBe(false)
  })
})

type Given = Pick<TradeEvent, 'takerSide' | 'price' | 'sizeBase'> & { readonly afterMs: number }

function timed(given: readonly Given[]): TradeEvent[] {
  let timeMs = START_MS
  return given.map(({ afterMs, ...trade }, tradeId) => {
    timeMs += afterMs
    return {
      kind: 'trade',
      coin: 'BTC',
      tradeId,
      ...trade,
      timeExchangeMs: timeMs,
      timeReceivedMs: timeMs,
    }
  })
}

function gapUntil(toMs: number): TradeGapEvent {
  const fromMs = toMs - 5_000
  return {
    kind: 'trade-gap',
    coin: 'BTC',
    fromMs,
    toMs,
    timeExchangeMs: toMs,
    timeReceivedMs: toMs,
  }
}

function trade(timeMs: number, takerSide: 'buy' | 'sell', sizeBase: number): TradeEvent {
  const at = { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
  return { kind: 'trade', coin: 'BTC', tradeId: 1, takerSide, price: 100, sizeBase, ...at }
}

function flowOf(tape: readonly TradeEvent[]): TakerFlow {
  const flow = new TakerFlow()
  for (const one of tape) flow.apply(one)
  return flow
}

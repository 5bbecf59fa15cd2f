import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import { timeframeMs, timeframes } from '../../domain/timeframe.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { quarters, START_MS } from '../testing/bars.ts'
import { CandleLadder } from './candle-ladder.ts'

const QUARTER_MS = timeframeMs['15m']
const tape = () => quarters({ minLength: 40, maxLength: 120 })

describe('candle ladder', () => {
  property.prop([tape(), fc.nat(), fc.nat(3)])(
    'gives the same state whether bars came as history or live, in however many updates',
    (bars, seed, updates) => {
      const cut = 1 + (seed % (bars.length - 1))
      const live = open(bars.slice(0, cut))
      for (const bar of bars.slice(cut)) {
        for (let part = 0; part < updates; part += 1) live.live({ ...bar, close: bar.open })
        live.live(bar)
      }
      live.advance(endOf(bars) + 10_000)
      expect(readings(live)).toEqual(readings(open(bars)))
    },
  )

  property.prop([tape(), fc.nat(), fc.nat()])(
    'gives the same state with and without an interruption that history repaired',
    (bars, seedA, seedB) => {
      const lost = 1 + (seedA % (bars.length - 2))
      const back = lost + 1 + (seedB % (bars.length - lost - 1))
      const ladder = open(bars.slice(0, lost))
      ladder.interrupt()
      const nextLive = bars[back]
      if (nextLive !== undefined) ladder.live(nextLive)
      const nowMs = START_MS + back * QUARTER_MS + 1_000
      expect(ladder.needs(nowMs)).toEqual([
        { timeframe: '15m', fromMs: START_MS + lost * QUARTER_MS },
      ])
      ladder.history('15m', bars.slice(lost, back + 1), nowMs)
      for (const bar of bars.slice(back)) ladder.live(bar)
      ladder.advance(endOf(bars) + 10_000)
      expect(readings(ladder)).toEqual(readings(open(bars)))
    },
  )

  property.prop([tape()])('restores bit for bit and goes on identically', (bars) => {
    const half = Math.floor(bars.length / 2)
    const restored = new CandleLadder(new PulsePool(3))
    restored.restore(open(bars.slice(0, half)).save())
    restored.history('15m', bars.slice(half), endOf(bars) + 10_000)
    expect(readings(restored)).toEqual(readings(open(bars)))
  })

  test('folds nothing across a hole', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt()
    ladder.live(flatBar(12))
    ladder.live(flatBar(13))
    expect(ladder.barCount('15m')).toBe(8)
    expect(ladder.isContinuous).toBe(false)
  })

  test('closes a bar in which nobody traded by its own clock, flat at the last close', () => {
    const ladder = open(flatBars(8))
    ladder.live({ ...flatBar(8), close: 101, high: 101, volumeBase: 5 })
    ladder.advance(START_MS + 11 * QUARTER_MS + 4_000)
    expect(ladder.barCount('15m')).toBe(11)
    expect(ladder.openBar('15m')).toEqual({
      ...flatBar(11),
      open: 101,
      high: 101,
      low: 101,
      close: 101,
    })
  })

  test('waits three seconds for the last word on a bar', () => {
    const ladder = open(flatBars(8))
    ladder.live(flatBar(8))
    ladder.advance(START_MS + 9 * QUARTER_MS + 2_999)
    expect(ladder.barCount('15m')).toBe(8)
    ladder.advance(START_MS + 9 * QUARTER_MS + 3_000)
    expect(ladder.barCount('15m')).toBe(9)
  })

  test('takes the last word on a bar that it had closed already', () => {
    const bars = flatBars(8)
    const final = { ...flatBar(8), high: 107, close: 105, volumeBase: 3 }
    const ladder = open(bars)
    ladder.live({ ...final, close: 103, high: 103 })
    ladder.advance(START_MS + 9 * QUARTER_MS + 5_000)
    ladder.live(final)
    expect(readings(ladder)).toEqual(readings(open([...bars, final])))
    expect(ladder.openBar('15m')?.open, 'the flat bar after it starts where it ended').toBe(105)
  })

  test('ignores bars from before the last closed one', () => {
    const ladder = open(flatBars(20))
    const before = readings(ladder)
    ladder.live({ ...flatBar(3), close: 1, low: 1 })
    expect(readings(ladder)).toEqual(before)
  })

  test('asks for both histories when cold and starts 15m on a 4h boundary', () => {
    const nowMs = START_MS + 7 * QUARTER_MS
    const needs = new CandleLadder(new PulsePool(3)).needs(nowMs)
    expect(needs.map(({ timeframe }) => timeframe)).toEqual(['4h', '15m'])
    for (const { fromMs } of needs) expect(fromMs % timeframeMs['4h']).toBe(0)
  })

  test('starts over after a gap too long to bridge', () => {
    const ladder = open(flatBars(300))
    const later = START_MS + 5_000 * QUARTER_MS
    expect(ladder.needs(later)).toHaveLength(2)
    const history = Array.from({ length: 40 }, (_, at) => flatBar(4_960 + at))
    ladder.history('15m', history, later + 1_000)
    expect(ladder.barCount('15m')).toBe(40)
  })

  test('continues 4h history with bars derived from 15m, none twice', () => {
    const ladder = new CandleLadder(new PulsePool(3))
    const fours = Array.from({ length: 30 }, (_, at) => ({
      ...flatBar(0),
      openTimeMs: START_MS + at * timeframeMs['4h'],
    }))
    const nowMs = START_MS + 30 * timeframeMs['4h'] + 1
    ladder.history('4h', fours, nowMs)
    ladder.history(
      '15m',
      Array.from({ length: 160 }, (_, at) => flatBar(30 * 16 - 160 + at)),
      nowMs,
    )
    expect(ladder.barCount('4h')).toBe(30)
    expect(ladder.barCount('1h')).toBe(40)
  })
})

function open(bars: readonly Bar[]): CandleLadder {
  const ladder = new CandleLadder(new PulsePool(3))
  ladder.history('15m', bars, endOf(bars) + 10_000)
  return ladder
}

/** Everything that an answer could show: counts and indicator values of every timeframe. */
function readings(ladder: CandleLadder): unknown {
  return timeframes.map((timeframe) => [
    timeframe,
    ladder.barCount(timeframe),
    ladder.openBar(timeframe) && [...(ladder.peek(timeframe) ? ladder.values : [])],
  ])
}

function endOf(bars: readonly Bar[]): number {
  return (bars.at(-1)?.openTimeMs ?? 0) + QUARTER_MS
}

function flatBars(count: number): Bar[] {
  return Array.from({ length: count }, (_, at) => flatBar(at))
}

function flatBar(at: number): Bar {
  return {
    openTimeMs: START_MS + at * QUARTER_MS,
    open: 100,
    high: 100,
    low: 100,
    close: 100,
    volumeBase: 0,
  }
}

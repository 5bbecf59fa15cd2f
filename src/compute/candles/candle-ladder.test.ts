import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Bar } from '../../domain/bar.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { timeframeMs, timeframes } from '../../domain/timeframe.ts'
import { pulseValue } from '../indicators/pulse-layout.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { quarters, START_MS } from '../testing/bars.ts'
import { CandleLadder } from './candle-ladder.ts'

const QUARTER_MS = timeframeMs['15m']
/** Long enough after a bar's end for its final frame. */
const SETTLED_MS = 10_000

const tape = () => quarters({ minLength: 40, maxLength: 120 })

describe('candle ladder', () => {
  property.prop([tape(), fc.nat(), fc.nat(3)])(
    'gives the same state whether bars came as history or live, in however many updates',
    (bars, seed, updates) => {
      const cut = 1 + (seed % (bars.length - 1))
      const live = open(bars.slice(0, cut))
      for (const bar of bars.slice(cut)) {
        for (let part = 0; part < updates; part += 1)
          live.live({ ...bar, close: bar.open }, bar.openTimeMs + part)
        live.live(bar, endOf(bar))
      }
      live.advance(settledAfter(bars))
      expect(readings(live)).toEqual(readings(open(bars)))
    },
  )

  property.prop([
    tape(),
    fc.array(fc.record({ at: fc.nat(), lasts: fc.nat(6) }), { maxLength: 4 }),
  ])("ends with the venue's bars, whatever connections were lost", (bars, outages) => {
    const ladder = open(bars.slice(0, 1))
    const told = new Map<string, Bar>()
    const lost = new Set(
      outages.flatMap(({ at, lasts }) =>
        Array.from({ length: lasts + 1 }, (_, index) => (at % bars.length) + index),
      ),
    )
    for (const [at, bar] of bars.entries()) {
      if (at === 0) continue
      if (lost.has(at)) {
        // Half of the bar was seen before the connection broke.
        if (!lost.has(at - 1))
          ladder.live({ ...bar, close: bar.open, volumeBase: 0 }, bar.openTimeMs)
        ladder.interrupt(bar.openTimeMs + 60_000)
        continue
      }
      ladder.live(bar, endOf(bar) - 1)
      repair(ladder, bars, endOf(bar) - 1)
      ladder.advance(endOf(bar) - 1)
      takeClosed(ladder, told)
    }
    repair(ladder, bars, settledAfter(bars))
    ladder.advance(settledAfter(bars))
    expect(readings(ladder)).toEqual(readings(open(bars)))
    takeClosed(ladder, told)
    const uninterrupted = new Map<string, Bar>()
    takeClosed(open(bars), uninterrupted)
    expect(told, 'and so do the closed bars').toEqual(uninterrupted)
  })

  property.prop([tape()])('restores bit for bit and continues identically', (bars) => {
    const half = Math.floor(bars.length / 2)
    const restored = new CandleLadder(new PulsePool(3))
    restored.restore(open(bars.slice(0, half)).save())
    restored.history('15m', bars.slice(half), settledAfter(bars))
    expect(readings(restored)).toEqual(readings(open(bars)))
  })

  test('folds nothing across a hole', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    ladder.live(flatBar(12), timeOf(12))
    ladder.live(flatBar(13), timeOf(13))
    expect(ladder.barCount('15m')).toBe(8)
    expect(ladder.isContinuous).toBe(false)
  })

  test('a reply with a gap is closed up to the gap, and the remaining bars are requested again', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    ladder.history('15m', [flatBar(8), flatBar(9), flatBar(12)], timeOf(13) + SETTLED_MS)
    expect(ladder.barCount('15m')).toBe(10)
    expect(ladder.needs(timeOf(13))).toEqual([{ timeframe: '15m', fromMs: timeOf(10) }])
  })

  describe('compared with the venue', () => {
    const asked = (index: number) => timeOf(index) + SETTLED_MS
    const traded = { ...flatBar(8), high: 105, close: 104, volumeBase: 4 }

    function afterAFlatBar(): CandleLadder {
      const ladder = open(flatBars(8))
      ladder.live(flatBar(8), timeOf(8.5))
      ladder.advance(asked(9))
      return ladder
    }

    test('asks for the bars that it closed', () => {
      expect(afterAFlatBar().audit()).toEqual({ timeframe: '15m', fromMs: timeOf(1) })
    })

    test('corrects the last closed bar when its final frame was lost', () => {
      const ladder = afterAFlatBar()
      ladder.history('15m', [flatBar(7), traded], asked(9.2))
      ladder.live(flatBar(9), timeOf(9.3))
      expect(readings(ladder)).toEqual(readings(withOpen(open([...flatBars(8), traded]), 9)))
    })

    test('starts over when an older bar was otherwise', () => {
      const ladder = afterAFlatBar()
      ladder.live(flatBar(9), timeOf(9.5))
      ladder.advance(asked(10))
      ladder.history('15m', [traded], asked(10.2))
      expect(ladder.barCount('15m')).toBe(0)
      expect(ladder.needs(asked(10.2))).toHaveLength(2)
    })

    test('changes nothing where both agree, and keeps what came since the question', () => {
      const ladder = afterAFlatBar()
      const live = { ...flatBar(9), high: 103, close: 103, volumeBase: 2 }
      ladder.live(live, timeOf(9.3))
      const before = readings(ladder)
      ladder.history('15m', [flatBar(7), flatBar(8), flatBar(9)], timeOf(9.2))
      expect(readings(ladder)).toEqual(before)
      expect(ladder.openBar('15m')).toEqual(live)
    })
  })

  test('a reply without the bar that was seen traded is not believed', () => {
    const ladder = open(flatBars(8))
    ladder.live({ ...flatBar(8), volumeBase: 3 }, timeOf(8.5))
    ladder.interrupt(timeOf(8.5))
    ladder.history('15m', [], timeOf(10) + SETTLED_MS)
    expect(ladder.isContinuous).toBe(false)
    expect(ladder.barCount('15m')).toBe(8)
  })

  test('a reply that ends early means that there were no trades since', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    ladder.history('15m', [flatBar(8)], timeOf(12) + SETTLED_MS)
    expect(ladder.barCount('15m'), 'bars 9, 10 and 11 are flat').toBe(12)
    expect(ladder.isContinuous).toBe(true)
  })

  test('a coin without any history yet starts with its first bar', () => {
    const ladder = new CandleLadder(new PulsePool(3))
    ladder.history('15m', [], timeOf(0) + 1_000)
    ladder.live(flatBar(0), timeOf(0.5))
    expect(ladder.needs(timeOf(0.5)), 'and asks again until there is one').toHaveLength(2)
    ladder.history('15m', [flatBar(0)], timeOf(0.6))
    ladder.live(flatBar(1), timeOf(1.2))
    expect(ladder.barCount('15m')).toBe(1)
  })

  test('a bar that ended while history was requested keeps its final state', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    const asPastOf = { ...flatBar(8), close: 101, high: 101, volumeBase: 1 }
    const final = { ...flatBar(8), close: 104, high: 104, volumeBase: 4 }
    const askedMs = timeOf(9) - 500
    ladder.live(final, timeOf(9) - 100)
    ladder.live(flatBar(9), timeOf(9) + 200)
    ladder.history('15m', [asPastOf], askedMs)
    ladder.live(flatBar(10), timeOf(10.1))
    expect(readings(ladder)).toEqual(
      readings(withOpen(open([...flatBars(8), final, flatBar(9)]), 10)),
    )
  })

  test('a reply from just after a boundary has both bars, the ended one and the new one', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    const begun = { ...flatBar(9), high: 103, close: 103, volumeBase: 2 }
    ladder.live(begun, timeOf(9) + 500)
    ladder.history('15m', [flatBar(8), begun], timeOf(9) + 1_000)
    expect(ladder.openBar('15m')).toEqual(begun)
    expect(ladder.barCount('15m')).toBe(9)
  })

  test('what was held from before the question does not overwrite the answer', () => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    ladder.live({ ...flatBar(9), low: 50, close: 50, volumeBase: 1 }, timeOf(9.1))
    ladder.interrupt(timeOf(9.2))
    const complete = [flatBar(8), { ...flatBar(9), high: 130, volumeBase: 7 }]
    ladder.history('15m', complete, timeOf(10) + SETTLED_MS)
    expect(readings(ladder)).toEqual(readings(open([...flatBars(8), ...complete])))
  })

  test('a bar that was closed on the silence of a dead connection is taken back', () => {
    const ladder = open(flatBars(8))
    ladder.live({ ...flatBar(8), volumeBase: 1 }, timeOf(8.9))
    ladder.advance(timeOf(9) + SETTLED_MS)
    expect(ladder.barCount('15m')).toBe(9)
    ladder.interrupt(timeOf(9) + 35_000)
    expect(ladder.needs(timeOf(9) + 36_000)).toEqual([{ timeframe: '15m', fromMs: timeOf(8) }])
    const complete = [{ ...flatBar(8), close: 107, high: 107, volumeBase: 9 }]
    ladder.history('15m', complete, timeOf(9) + 40_000)
    expect(readings(ladder)).toEqual(readings(open([...flatBars(8), ...complete])))
  })

  test('a reopened bar has the state of its last frame', () => {
    const last = { ...flatBar(8), high: 106, close: 104, volumeBase: 2 }
    const ladder = open(flatBars(8))
    ladder.live({ ...flatBar(8), volumeBase: 1 }, timeOf(8.9))
    ladder.advance(timeOf(9) + 5_000)
    ladder.live(last, timeOf(9) + 5_100)
    ladder.interrupt(timeOf(9) + 6_000)
    expect(ladder.barCount('15m')).toBe(8)
    expect(ladder.openBar('15m')).toEqual(last)
  })

  test('a bar that began before the one behind it was taken back outlasts a reply that was asked before', () => {
    const last = { ...flatBar(8), volumeBase: 1 }
    const next = { ...flatBar(9), high: 104, close: 104, volumeBase: 2 }
    const ladder = open(flatBars(8))
    ladder.live(last, timeOf(8.9))
    ladder.live(next, timeOf(9) + 24_500)
    ladder.interrupt(timeOf(9) + 24_600)
    ladder.history('15m', [last], timeOf(9) + 24_000)
    const expected = open([...flatBars(8), last])
    expected.live(next, timeOf(9) + 24_500)
    expect(readings(ladder)).toEqual(readings(expected))
  })

  test('a reply with less of a bar than a frame, sent shortly before by its stamp, is requested again', () => {
    const heard = { ...flatBar(8), high: 104, close: 104, volumeBase: 4 }
    const before = { ...flatBar(8), volumeBase: 3 }
    const ladder = open(flatBars(8))
    ladder.live(heard, timeOf(8.5))
    ladder.interrupt(timeOf(8.5) + 40_000)
    ladder.history('15m', [before], timeOf(8.5) + 60_000)
    expect(ladder.openBar('15m')).toEqual(heard)
    expect(ladder.needs(timeOf(8.6))).toEqual([{ timeframe: '15m', fromMs: timeOf(8) }])
    ladder.history('15m', [before], timeOf(8.5) + 60_001)
    expect(ladder.openBar('15m'), 'if it repeats, the frame was wrong').toEqual(before)
    expect(ladder.needs(timeOf(8.6))).toEqual([])
  })

  test('a bar that began while history was on its way outlasts a reply that was asked before, and an interruption', () => {
    const last = { ...flatBar(8), volumeBase: 1 }
    const early = { ...flatBar(9), volumeBase: 1 }
    const next = { ...flatBar(9), high: 104, close: 104, volumeBase: 2 }
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    ladder.live(next, timeOf(9) + 24_500)
    ladder.interrupt(timeOf(9) + 24_600)
    ladder.history('15m', [last, early], timeOf(9) + 44_000)
    const expected = open([...flatBars(8), last])
    expected.live(next, timeOf(9) + 24_500)
    expect(readings(ladder)).toEqual(readings(expected))
  })

  test('a reply that was requested before a bar ended does not show its end', () => {
    const half = { ...flatBar(30), volumeBase: 9 }
    const whole = { ...flatBar(30), high: 107, close: 107, volumeBase: 10 }
    const ladder = open(flatBars(30))
    ladder.live(whole, timeOf(31) - 50)
    ladder.live(flatBar(31), timeOf(31) + 200)
    ladder.history('15m', [...flatBars(30), half], timeOf(31) - 100)
    expect(readings(ladder)).toEqual(readings(withOpen(open([...flatBars(30), whole]), 31)))
  })

  test('a frame that was lost is in the reply to the next question', () => {
    const more = { ...flatBar(8), high: 104, close: 104, volumeBase: 4 }
    const ladder = open(flatBars(8))
    ladder.live({ ...flatBar(8), volumeBase: 3 }, timeOf(8.2))
    ladder.history('15m', [...flatBars(8), more], timeOf(8.5))
    expect(ladder.openBar('15m')).toEqual(more)
  })

  test('a candle that was held up does not take back what the venue said when asked', () => {
    const asked = { ...flatBar(8), high: 104, close: 104, volumeBase: 4 }
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.1))
    ladder.history('15m', [asked], timeOf(8.5))
    ladder.live({ ...flatBar(8), volumeBase: 3 }, timeOf(8.4))
    expect(ladder.openBar('15m')).toEqual(asked)
    const later = { ...asked, close: 103, volumeBase: 5 }
    ladder.live(later, timeOf(8.6))
    expect(ladder.openBar('15m')).toEqual(later)
  })

  test('a bar that began is placed after the final frame of the one before', () => {
    const last = { ...flatBar(8), high: 104, close: 104, volumeBase: 4 }
    const next = { ...flatBar(9), volumeBase: 2 }
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.5))
    ladder.live(next, timeOf(9) + 100)
    ladder.live(last, timeOf(9) + 200)
    const expected = open([...flatBars(8), last])
    expected.live(next, timeOf(9) + 200)
    expect(readings(ladder)).toEqual(readings(expected))
  })

  test('a bent volume in a reply holds the bar up only until the venue is asked again', () => {
    const bent = { ...flatBar(8), close: 104, high: 104, volumeBase: 7_800_000 }
    const traded = { ...flatBar(8), close: 103, high: 104, volumeBase: 881 }
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.4))
    ladder.history('15m', [bent], timeOf(8.5))
    ladder.live(traded, timeOf(8.55))
    expect(ladder.openBar('15m'), 'as one that was held up since before').toEqual(bent)
    ladder.history('15m', [traded], timeOf(8.7))
    expect(ladder.openBar('15m')).toEqual(traded)
    const later = { ...traded, close: 102, volumeBase: 885 }
    ladder.live(later, timeOf(8.8))
    expect(ladder.openBar('15m')).toEqual(later)
  })

  test('requests again where frames stay below a reply for longer than any delay', () => {
    const bent = { ...flatBar(8), close: 104, high: 104, volumeBase: 7_800_000 }
    const traded = { ...flatBar(8), close: 103, high: 104, volumeBase: 881 }
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.4))
    ladder.history('15m', [bent], timeOf(8.5))
    ladder.live(traded, timeOf(8.5) + 60_000)
    expect(ladder.needs(timeOf(8.6)), 'it may have been held up').toEqual([])
    ladder.live(traded, timeOf(8.5) + 60_001)
    expect(ladder.needs(timeOf(8.6))).toEqual([{ timeframe: '15m', fromMs: timeOf(8) }])
    ladder.history('15m', [traded], timeOf(8.7))
    expect(ladder.needs(timeOf(8.7))).toEqual([])
    expect(ladder.openBar('15m')).toEqual(traded)
  })

  test.each([
    { why: 'frames said more since', heard: { ...flatBar(8), volumeBase: 5 }, askedAt: 8.7 },
    {
      why: 'it was asked before, and came late',
      heard: { ...flatBar(8), volumeBase: 4 },
      askedAt: 8.45,
    },
  ])('a reply that says less than the one before is not believed where $why', (other) => {
    const ladder = open(flatBars(8))
    ladder.interrupt(timeOf(8.4))
    ladder.history('15m', [{ ...flatBar(8), volumeBase: 4 }], timeOf(8.5))
    ladder.live(other.heard, timeOf(8.6))
    ladder.history('15m', [{ ...flatBar(8), volumeBase: 3 }], timeOf(other.askedAt))
    expect(ladder.openBar('15m')).toEqual(other.heard)
  })

  describe('a quiet bar whose last frame was wrong', () => {
    const traded = { ...flatBar(8), close: 103, high: 104, volumeBase: 881 }
    const told = timeOf(8.5)
    const late = told + 60_001

    function afterFrame(bar: Bar): CandleLadder {
      const ladder = open(flatBars(8))
      ladder.live(bar, told)
      return ladder
    }

    test.each([
      { what: 'more than was traded', bent: { ...traded, volumeBase: 7_800_000 } },
      { what: 'another price', bent: { ...traded, close: 103.5 } },
    ])("equals the venue's after two replies: $what", ({ bent }) => {
      const ladder = afterFrame(bent)
      ladder.history('15m', [traded], late)
      expect(ladder.openBar('15m'), 'the reply may be the one that is bent').toEqual(bent)
      expect(ladder.isContinuous, 'and neither is confirmed').toBe(false)
      expect(ladder.needs(late)).toEqual([{ timeframe: '15m', fromMs: timeOf(8) }])
      ladder.history('15m', [traded], late + 1_000)
      expect(ladder.openBar('15m')).toEqual(traded)
      expect(ladder.needs(late + 1_000)).toEqual([])
    })

    test('is as the frame said while the reply may be of before it', () => {
      const more = { ...traded, volumeBase: 900 }
      const ladder = afterFrame(more)
      ladder.history('15m', [traded], told + 60_000)
      expect(ladder.openBar('15m')).toEqual(more)
      expect(ladder.isContinuous).toBe(true)
    })

    test('is as the frame said where that came after the question', () => {
      const more = { ...traded, volumeBase: 900 }
      const ladder = afterFrame(traded)
      ladder.live(more, late + 1_000)
      ladder.history('15m', [traded], late)
      expect(ladder.openBar('15m')).toEqual(more)
    })

    test('stays as it was where the reply was the bent one', () => {
      const ladder = afterFrame(traded)
      ladder.history('15m', [{ ...traded, high: 104_000 }], late)
      ladder.history('15m', [traded], late + 1_000)
      expect(ladder.openBar('15m')).toEqual(traded)
      expect(ladder.isContinuous).toBe(true)
    })

    test('stays the same where the reply agrees', () => {
      const ladder = afterFrame(traded)
      ladder.history('15m', [{ ...traded }], late)
      expect(ladder.isContinuous).toBe(true)
    })

    test('is replaced by the next frame', () => {
      const ladder = afterFrame({ ...traded, volumeBase: 7_800_000 })
      ladder.history('15m', [traded], late)
      const next = { ...traded, close: 102, volumeBase: 890 }
      ladder.live(next, late + 1_000)
      expect(ladder.openBar('15m')).toEqual(next)
      expect(ladder.needs(late + 1_000)).toEqual([])
    })
  })

  test('frames after the request count by their volume, whatever their stamp', () => {
    const asked = { ...flatBar(8), volumeBase: 4 }
    const heard = { ...flatBar(8), high: 104, close: 104, volumeBase: 5 }
    const ladder = open(flatBars(7))
    ladder.interrupt(timeOf(7.5))
    ladder.live(heard, timeOf(8.4))
    ladder.history('15m', [flatBar(7), asked], timeOf(8.5))
    expect(ladder.openBar('15m')).toEqual(heard)
  })

  test('used for another coin it makes no hour of the quarters of the one before', () => {
    const [first, second, third, fourth] = [16, 17, 18, 19].map(flatBar) as [Bar, Bar, Bar, Bar]
    const ladder = open([first, second, third])
    ladder.reset()
    ladder.history('15m', [{ ...fourth, volumeBase: 1 }], timeOf(20) + SETTLED_MS)
    expect(ladder.barCount('15m')).toBe(1)
    expect(ladder.barCount('1h')).toBe(0)
  })

  test('closes a bar without trades, flat at the last close', () => {
    const ladder = open(flatBars(8))
    ladder.live({ ...flatBar(8), close: 101, high: 101, volumeBase: 5 }, timeOf(8.5))
    ladder.advance(timeOf(11) + 4_000)
    expect(ladder.barCount('15m')).toBe(11)
    expect(ladder.openBar('15m')).toEqual({
      ...flatBar(11),
      open: 101,
      high: 101,
      low: 101,
      close: 101,
    })
  })

  test('waits three seconds for the final frame of a bar', () => {
    const ladder = open(flatBars(8))
    ladder.live(flatBar(8), timeOf(8.5))
    ladder.advance(timeOf(9) + 2_999)
    expect(ladder.barCount('15m')).toBe(8)
    ladder.advance(timeOf(9) + 3_000)
    expect(ladder.barCount('15m')).toBe(9)
  })

  test('takes a final frame of a bar that is already closed, more than once', () => {
    const bars = flatBars(30)
    const late = { ...flatBar(30), high: 106, close: 104, volumeBase: 2 }
    const final = { ...flatBar(30), high: 107, close: 105, volumeBase: 3 }
    const ladder = open(bars)
    ladder.live({ ...final, close: 103, high: 103 }, timeOf(30.9))
    ladder.advance(timeOf(31) + 5_000)
    ladder.live(late, timeOf(31) + 5_100)
    ladder.live(final, timeOf(31) + 5_200)
    expect(readings(ladder)).toEqual(readings(open([...bars, final])))
    expect(ladder.openBar('15m')?.open, 'the flat bar after it starts where it ended').toBe(105)
  })

  test('ignores bars from before the last closed one', () => {
    const ladder = open(flatBars(20))
    const before = readings(ladder)
    ladder.live({ ...flatBar(3), close: 1, low: 1 }, timeOf(20.5))
    expect(readings(ladder)).toEqual(before)
  })

  test('asks for both histories when cold and starts 15m on a 4h boundary', () => {
    const needs = new CandleLadder(new PulsePool(3)).needs(timeOf(7))
    expect(needs.map(({ timeframe }) => timeframe)).toEqual(['4h', '15m'])
    for (const { fromMs } of needs) expect(fromMs % timeframeMs['4h']).toBe(0)
  })

  test('starts over after a gap too long to bridge', () => {
    const ladder = open(flatBars(300))
    const later = timeOf(5_300)
    expect(ladder.needs(later)).toHaveLength(2)
    expect(ladder.isCold(later)).toBe(true)
    const history = Array.from({ length: 40 }, (_, at) => flatBar(5_260 + at))
    ladder.history('15m', history, later + SETTLED_MS)
    expect(ladder.barCount('15m')).toBe(40)
  })

  test('reports every closed bar once, on all timeframes', () => {
    const ladder = open(flatBars(16))
    const { bars, dropped } = ladder.takeClosed()
    const timesOf = (of: Timeframe) =>
      bars.filter(({ timeframe }) => timeframe === of).map(({ bar }) => bar.openTimeMs)
    expect(timesOf('15m')).toEqual(flatBars(16).map(({ openTimeMs }) => openTimeMs))
    expect(timesOf('1h')).toEqual([0, 4, 8, 12].map(timeOf))
    expect(timesOf('4h')).toEqual([timeOf(0)])
    expect(dropped).toBe(0)
    expect(ladder.takeClosed().bars).toEqual([])
  })

  test('reports a bar again when a later frame revises it', () => {
    const ladder = open(flatBars(8))
    ladder.takeClosed()
    const final = { ...flatBar(8), high: 107, close: 105, volumeBase: 3 }
    ladder.live({ ...final, volumeBase: 1 }, timeOf(8.9))
    ladder.advance(timeOf(9) + 5_000)
    ladder.live(final, timeOf(9) + 5_100)
    expect(ladder.takeClosed().bars.map(({ bar }) => bar.volumeBase)).toEqual([1, 3])
  })

  test('keeps the newest closed bars and counts the dropped ones', () => {
    const ladder = open(flatBars(5_000))
    const { bars, dropped } = ladder.takeClosed()
    expect(bars).toHaveLength(6_500)
    expect(bars.length + dropped).toBe(5_000 + 1_250 + 312)
    expect(bars.at(-1)?.bar.openTimeMs).toBe(timeOf(4_996))
  })

  test('reports nothing of the previous coin to the next one', () => {
    const ladder = open(flatBars(8))
    ladder.reset()
    expect(ladder.takeClosed()).toEqual({ bars: [], dropped: 0 })
  })

  test('does not report restored bars again', () => {
    const ladder = new CandleLadder(new PulsePool(3))
    ladder.restore(open(flatBars(8)).save())
    expect(ladder.takeClosed().bars).toEqual([])
  })

  describe('deepened by older bars of 1h', () => {
    const hoursOf = (bars: readonly Bar[]) =>
      Array.from({ length: Math.floor(bars.length / 4) }, (_, at): Bar => {
        const four = bars.slice(at * 4, at * 4 + 4)
        return {
          ...(four[0] as Bar),
          high: Math.max(...four.map(({ high }) => high)),
          low: Math.min(...four.map(({ low }) => low)),
          close: (four[3] as Bar).close,
          volumeBase: four.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
        }
      })
    const priced = (index: number): Bar => {
      const price = (at: number) => 100 + 10 * Math.sin(at / 900) + Math.sin(at / 7)
      const [open, close] = [price(index), price(index + 1)]
      const [high, low] = [Math.max(open, close), Math.min(open, close)]
      return { openTimeMs: timeOf(index), open, high, low, close, volumeBase: 1 + (index % 5) }
    }
    const all = Array.from({ length: 6_000 }, (_, at) => priced(at))
    const fromMs = timeOf(0)
    const recent = (until = all.length) => open(all.slice(-1_344 - (all.length - until), until))
    const ema200 = (ladder: CandleLadder) => {
      ladder.peek('1h')
      return ladder.values[pulseValue.ema200]
    }

    test('equals a ladder that closed all of them, and continues the same', () => {
      const ladder = recent(5_990)
      expect(ema200(ladder)).toBeNaN()
      ladder.deepen(hoursOf(all.slice(0, 5_990)), fromMs)
      for (const bar of all.slice(5_990)) ladder.live(bar, endOf(bar) - 1)
      ladder.advance(settledAfter(all))
      const whole = open(all)
      expect(ladder.barCount('1h')).toBe(1_500)
      expect(ema200(ladder)).toBe(ema200(whole))
      expect(ladder.depthFromMs(timeOf(6_000))).toBeNull()
    })

    test('reports no bar that was closed before', () => {
      const ladder = recent()
      ladder.takeClosed()
      ladder.deepen(hoursOf(all), fromMs)
      expect(ladder.takeClosed().bars).toEqual([])
    })

    test('stays deep where the bar that completed an hour is revised', () => {
      const ladder = recent(5_996)
      for (const bar of all.slice(5_996)) ladder.live(bar, endOf(bar) - 1)
      ladder.advance(settledAfter(all))
      ladder.deepen(hoursOf(all), fromMs)
      const last = all.at(-1) as Bar
      const revised = { ...last, high: 140, close: 130, volumeBase: 99 }
      ladder.live(revised, settledAfter(all))
      expect(ema200(ladder)).toBe(ema200(open([...all.slice(0, -1), revised])))
    })

    test('stays deep after it was saved and restored', () => {
      const ladder = recent()
      ladder.deepen(hoursOf(all), fromMs)
      const restored = new CandleLadder(new PulsePool(3))
      restored.restore(ladder.save())
      expect(ema200(restored)).toBe(ema200(ladder))
      expect(restored.depthFromMs(settledAfter(all))).toBeNull()
    })

    test('knows the whole history of a coin by a reply that begins later than was asked', () => {
      const young = open(all.slice(0, 1_344))
      const reply = hoursOf(all.slice(0, 1_344))
      young.deepen(reply, fromMs)
      expect(young.isWhole('1h'), 'older ones may exist').toBe(false)
      young.deepen(reply, fromMs - timeframeMs['1h'])
      expect(young.isWhole('1h')).toBe(true)
      expect(ema200(young), 'of 337 bars').not.toBeNaN()
      young.reset()
      expect(young.isWhole('1h'), 'the next coin may have more').toBe(false)
    })

    test.each([
      { what: 'ends before the last bar', bars: hoursOf(all).slice(0, -1) },
      { what: 'has another last bar', bars: hoursOf([...all.slice(0, -1), priced(7_000)]) },
      { what: 'has fewer bars than are known', bars: hoursOf(all).slice(-335) },
      { what: 'is empty', bars: [] },
    ])('takes no reply that $what, and asks again', ({ bars }) => {
      const ladder = recent()
      const before = readings(ladder)
      const moved = bars.map((bar, at) => ({
        ...bar,
        openTimeMs:
          at === bars.length - 1 && bars.length === 1_500 ? timeOf(5_996) : bar.openTimeMs,
      }))
      ladder.deepen(moved, fromMs - 1)
      expect(readings(ladder)).toEqual(before)
      const boundaryMs = timeOf(6_000)
      expect(ladder.depthFromMs(boundaryMs)).toBe(boundaryMs - 2_000 * timeframeMs['1h'])
    })
  })

  test('a coin whose first trade is amid an hour has that hour in its longer bars', () => {
    const first = { ...flatBar(6), high: 103, close: 103, volumeBase: 2 }
    const ladder = new CandleLadder(new PulsePool(3))
    ladder.history('4h', [], timeOf(6.5), timeOf(-400))
    ladder.history('15m', [first], timeOf(6.5), timeOf(-400))
    ladder.live({ ...flatBar(7), low: 99, close: 99, volumeBase: 1 }, timeOf(7.5))
    ladder.live(flatBar(16), timeOf(16.5))
    const bars = ladder.takeClosed().bars.filter(({ timeframe }) => timeframe !== '15m')
    const traded = { open: 100, high: 103, low: 99, close: 99, volumeBase: 3 }
    expect(bars[0]).toEqual({ timeframe: '1h', bar: { ...traded, openTimeMs: timeOf(4) } })
    expect(bars.at(-1)).toEqual({ timeframe: '4h', bar: { ...traded, openTimeMs: timeOf(0) } })
  })

  test('continues 4h history with bars derived from 15m, none twice', () => {
    const ladder = new CandleLadder(new PulsePool(3))
    const fours = Array.from({ length: 30 }, (_, at) => ({
      ...flatBar(0),
      openTimeMs: START_MS + at * timeframeMs['4h'],
    }))
    const askedMs = START_MS + 30 * timeframeMs['4h'] + SETTLED_MS
    ladder.history('4h', fours, askedMs)
    ladder.history(
      '15m',
      Array.from({ length: 160 }, (_, at) => flatBar(30 * 16 - 160 + at)),
      askedMs,
    )
    expect(ladder.barCount('4h')).toBe(30)
    expect(ladder.barCount('1h')).toBe(40)
  })
})

function open(bars: readonly Bar[]): CandleLadder {
  const ladder = new CandleLadder(new PulsePool(3))
  ladder.history('15m', bars, settledAfter(bars))
  return ladder
}

function withOpen(ladder: CandleLadder, at: number): CandleLadder {
  ladder.live(flatBar(at), timeOf(at))
  return ladder
}

/** What the feed does: asks for what is missing, and gets the venue's bars as of now. */
function repair(ladder: CandleLadder, bars: readonly Bar[], nowMs: number): void {
  for (const { timeframe, fromMs } of ladder.needs(nowMs)) {
    if (timeframe !== '15m') continue
    const known = bars.filter((bar) => bar.openTimeMs >= fromMs && bar.openTimeMs <= nowMs)
    // A quiet bar at the edge is not there yet.
    while (known.at(-1)?.volumeBase === 0) known.pop()
    ladder.history('15m', known, nowMs)
  }
}

/** By timeframe and open time, as in stored history: a later bar replaces an earlier one. */
function takeClosed(ladder: CandleLadder, told: Map<string, Bar>): void {
  for (const { timeframe, bar } of ladder.takeClosed().bars)
    told.set(`${timeframe} ${bar.openTimeMs}`, bar)
}

/** Everything that an answer could show: counts, forming bars and indicator values of every timeframe. */
function readings(ladder: CandleLadder): unknown {
  return timeframes.map((timeframe) => [
    timeframe,
    ladder.barCount(timeframe),
    ladder.openBar(timeframe),
    ladder.openBar(timeframe) && [...(ladder.peek(timeframe) ? ladder.values : [])],
  ])
}

function endOf(bar: Bar): number {
  return bar.openTimeMs + QUARTER_MS
}

function settledAfter(bars: readonly Bar[]): number {
  const last = bars.at(-1)
  return last === undefined ? START_MS : endOf(last) + SETTLED_MS
}

function timeOf(quarter: number): number {
  return START_MS + quarter * QUARTER_MS
}

function flatBars(count: number): Bar[] {
  return Array.from({ length: count }, (_, at) => flatBar(at))
}

function flatBar(at: number): Bar {
  return {
    openTimeMs: timeOf(at),
    open: 100,
    high: 100,
    low: 100,
    close: 100,
    volumeBase: 0,
  }
}

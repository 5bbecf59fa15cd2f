import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { MeasureLog } from '../../market/measure-log.ts'
import { MinuteSchedule } from './minute-schedule.ts'
import {
  dayStatistics,
  rankOf,
  robustZ,
  seriesSummary,
  windowStatistics,
} from './minute-statistics.ts'
import { SeriesSummaries } from './series-summaries.ts'

const MINUTE_MS = 60_000
const NOW_MS = Date.UTC(2026, 0, 8) + 30_000
/** Of every coin, so the log keeps seven digits of it. */
const SERIES = 'basis/BTC/pyth'
/** As the log has them. */
const seenBps = (max: number) => fc.float({ min: -max, max, noNaN: true })
const values = fc.array(seenBps(100), { minLength: 1, maxLength: 60 })

describe('statistics of a window', () => {
  property.prop([values, seenBps(150)])('are what they are called', (given, value) => {
    const window = windowStatistics(Float64Array.from(given), 1)
    const middle = middleOf(given)
    const mad = middleOf(given.map((one) => Math.abs(one - middle)))
    expect(window).toMatchObject({ n: given.length, median: middle, mad })
    const below = given.filter((one) => one < value).length
    const equal = given.filter((one) => one === value).length
    expect(rankOf(window, value)).toBeCloseTo((100 * (below + equal / 2)) / given.length, 9)
    if (mad > 0) expect(robustZ(window, value)).toBeCloseTo((value - middle) / (1.4826 * mad), 9)
    else expect(robustZ(window, value)).toBeNaN()
  })

  test('a flat window has no z-score, and its value is in the middle', () => {
    const flat = windowStatistics(new Float64Array(300).fill(3), 240)
    expect(robustZ(flat, 3)).toBeNaN()
    expect(rankOf(flat, 3)).toBe(50)
  })

  test('a value is in the middle of those that are equal to it, with the digits that the log has not', () => {
    const log = new MeasureLog()
    fill(log, 300, () => 1.23456789)
    expect(rankOf(seriesSummary(log, SERIES, NOW_MS).day, 1.23456789)).toBe(50)
  })

  property.prop([fc.array(seenBps(5), { minLength: 240, maxLength: 260 }), seenBps(6)])(
    'a day and a week, of which the log alone has the values, rank like sorted ones',
    (given, value) => {
      const log = new MeasureLog()
      fill(log, given.length, (back) => given[back] as number)
      const { day, week } = seriesSummary(log, SERIES, NOW_MS)
      const rank = rankOf(dayStatistics(log, SERIES, NOW_MS), value)
      expect([rankOf(day, value), rankOf(week, value)]).toEqual([rank, rank])
    },
  )

  test('too few values give no statistics', () => {
    const few = windowStatistics(Float64Array.of(1, 2, 3), 4)
    expect([robustZ(few, 2), rankOf(few, 2)]).toEqual([Number.NaN, Number.NaN])
    expect(few.mean).toBe(2)
  })

  test('each window holds its own minutes', () => {
    const log = new MeasureLog()
    fill(log, 10_080, (back) => back)
    const { hour, day, week } = seriesSummary(log, SERIES, NOW_MS)
    expect([hour.n, day.n, week.n]).toEqual([60, 1_440, 10_080])
    expect([hour.max, day.max, week.max]).toEqual([59, 1_439, 10_079])
  })
})

describe('half life', () => {
  test.each([0.5, 0.9, 0.98])('of a series that keeps %f of itself a minute', (keep) => {
    const log = new MeasureLog()
    const chance = generator(7)
    let value = 0
    fill(log, 1_440, () => {
      value = keep * value + chance() - 0.5
      return value
    })
    const expected = (Math.log(0.5) / Math.log(keep)) * 60
    expect(seriesSummary(log, SERIES, NOW_MS).halfLifeSeconds / expected).toBeGreaterThan(0.6)
    expect(seriesSummary(log, SERIES, NOW_MS).halfLifeSeconds / expected).toBeLessThan(1.6)
  })

  test('minutes on both sides of a hole are no pair', () => {
    const log = new MeasureLog()
    // Exactly a half of the minute before, but for a jump across each hole.
    let value = 0
    fill(log, 1_440, (back) => {
      if (back % 10 === 0) return Number.NaN
      value = back % 10 === 9 ? 1_000 + back : value / 2
      return value
    })
    expect(seriesSummary(log, SERIES, NOW_MS).halfLifeSeconds).toBeCloseTo(60, 6)
  })

  test.each([
    { what: 'goes its way', next: (back: number) => 1.01 ** -back },
    { what: 'is flat', next: () => 586.54 },
    { what: 'turns every minute', next: (back: number) => (back % 2 === 0 ? 1 : -1) },
  ])('what $what does not revert', ({ next }) => {
    const log = new MeasureLog()
    fill(log, 1_440, next)
    expect(seriesSummary(log, SERIES, NOW_MS).halfLifeSeconds).toBeNaN()
  })
})

describe('turns', () => {
  test('come once a minute for each, at most three a second for 180', () => {
    const turns = new MinuteSchedule()
    const items = Array.from({ length: 180 }, (_, at) => at)
    const counts = new Map<number, number>()
    let most = 0
    for (let ms = 0; ms < 3 * MINUTE_MS; ms += 50) {
      const due = [...turns.due(items, NOW_MS - 30_000 + ms)]
      most = Math.max(most, due.length)
      for (const item of due) counts.set(item, (counts.get(item) ?? 0) + 1)
    }
    expect(new Set(counts.values())).toEqual(new Set([3]))
    expect(most).toBe(3)
  })

  test('a second that was slept through is made up for within its minute', () => {
    const turns = new MinuteSchedule()
    expect([...turns.due(['a', 'b', 'c', 'd'], NOW_MS)]).toEqual(['a', 'b', 'c', 'd'])
    expect([...turns.due(['a', 'b', 'c', 'd'], NOW_MS + 1_000)]).toEqual([])
  })
})

describe('summaries', () => {
  test('of another series are not those of the one before', () => {
    const log = new MeasureLog()
    log.record('one', NOW_MS, 1)
    log.record('two', NOW_MS, 2)
    const summaries = new SeriesSummaries(seriesSummary)
    expect(summaries.of('BTC', 'one', log, NOW_MS).day.mean).toBe(1)
    expect(summaries.of('BTC', 'two', log, NOW_MS).day.mean).toBe(2)
    expect(summaries.of('BTC', 'one', log, NOW_MS).day.mean).toBe(1)
  })

  test('are of the minute, and do not outlive their subject', () => {
    const log = new MeasureLog()
    const summaries = new SeriesSummaries(seriesSummary)
    summaries.of('BTC', 'one', log, NOW_MS)
    log.record('one', NOW_MS, 1)
    expect(summaries.of('BTC', 'one', log, NOW_MS + 1_000).day.n).toBe(0)
    expect(summaries.of('BTC', 'one', log, NOW_MS + 120_001).day.n).toBe(1)
    summaries.forget((subject) => subject !== 'BTC')
    expect(summaries.size).toBe(0)
  })
})

/** So many minutes up to now, oldest first. */
function fill(log: MeasureLog, minutes: number, of: (minutesBack: number) => number): void {
  for (let back = minutes - 1; back >= 0; back -= 1)
    log.record(SERIES, NOW_MS - back * MINUTE_MS, of(back))
}

function middleOf(given: readonly number[]): number {
  const sorted = [...given].sort((a, b) => a - b)
  const low = sorted[Math.floor((sorted.length - 1) / 2)] as number
  return (low + (sorted[Math.ceil((sorted.length - 1) / 2)] as number)) / 2
}

/** Numbers from 0 to below 1: a linear congruential generator (Numerical Recipes). */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

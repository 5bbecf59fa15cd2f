import { describe, expect, test } from 'vitest'
import { MeasureLog } from './measure-log.ts'

const MINUTE_MS = 60_000
const at = (minute: number) => minute * MINUTE_MS

describe('measure log', () => {
  test('keeps the last value of a minute', () => {
    const log = new MeasureLog()
    log.record('gap', at(10), 1)
    log.record('gap', at(10) + 59_999, 2)
    log.record('gap', at(11), 3)
    expect([...log.values('gap', at(10), at(11))]).toEqual([2, 3])
  })

  test('gives a minute away once, when it has ended', () => {
    const log = new MeasureLog()
    log.record('gap', at(10), 1)
    expect(log.take().minutes, 'the minute is still open').toEqual([])
    log.record('gap', at(12), 2)
    expect(log.take().minutes).toEqual([{ series: 'gap', timeMs: at(10), value: 1 }])
    expect(log.take().minutes, 'taken before').toEqual([])
  })

  test('a minute without a value stays a hole', () => {
    const log = new MeasureLog()
    log.record('gap', at(10), 1)
    log.record('gap', at(13), 2)
    expect([...log.values('gap', at(9), at(14))]).toEqual([1, 2])
    expect(log.near('gap', at(12), 0)).toBeNaN()
    expect([...log.minutes('gap', at(13) + 59_999, 5)]).toEqual([
      Number.NaN,
      1,
      Number.NaN,
      Number.NaN,
      2,
    ])
    expect([...log.minutes('other', at(13), 2)]).toEqual([Number.NaN, Number.NaN])
  })

  test.each([
    { series: 'basis/BTC/pyth', kept: Math.fround(0.99984997) },
    { series: 'cex-dex/BTC/uniswap', kept: Math.fround(0.99984997) },
    { series: 'depeg/low', kept: 0.99984997 },
  ])('keeps of $series what its answers show', ({ series, kept }) => {
    const log = new MeasureLog()
    log.record(series, at(10), 0.99984997)
    expect([...log.values(series, at(10), at(10))]).toEqual([kept])
  })

  test.each([
    ...['basis/BTC/pyth', 'arb/index', 'depeg/price', 'sentiment/premium'].map((series) => ({
      series,
      hours: 7 * 24,
    })),
    ...['cex-dex/BTC/pyth', 'arb/ETH/base', 'arb/base/gas', 'depeg/low', 'depeg/high'].map(
      (series) => ({ series, hours: 25 }),
    ),
  ])('keeps $hours hours of $series', ({ series, hours }) => {
    const log = new MeasureLog()
    for (let minute = 0; minute < 12_000; minute += 1) log.record(series, at(minute), minute)
    const values = log.values(series, 0, at(11_999))
    expect([values.length, values[0]]).toEqual([hours * 60, 12_000 - hours * 60])
  })

  test('what is not a number is no value', () => {
    const log = new MeasureLog()
    log.record('gap', at(10), Number.NaN)
    log.record('gap', at(11), Number.POSITIVE_INFINITY)
    expect(log.values('gap', 0, at(12))).toHaveLength(0)
  })

  test('what history remembers does not replace what was measured', () => {
    const log = new MeasureLog()
    log.record('gap', at(10), 1)
    const rows = [
      { timeMs: at(9), value: 8 },
      { timeMs: at(10), value: 9 },
    ]
    log.load({
      kind: 'measure-history',
      series: 'gap',
      rows,
      timeExchangeMs: 0,
      timeReceivedMs: 0,
    })
    expect([...log.values('gap', at(9), at(10))]).toEqual([8, 1])
    expect(log.take().minutes, 'history has it already').toEqual([])
  })

  test('counts the minutes that were dropped', () => {
    const log = new MeasureLog()
    for (let minute = 0; minute < 20_000; minute += 1) log.record('gap', at(minute), minute)
    const { minutes, dropped } = log.take()
    expect(minutes.length + dropped, 'all that ended').toBe(19_999)
    expect(dropped).toBeGreaterThan(0)
  })
})

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { naiveStatistics } from '../../../test/golden/naive-statistics.ts'
import type { FundingRow } from '../../domain/history.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { newMarket } from '../testing/new-market.ts'
import { fundedCoins, hasSharedFundings, sharedFundings } from '../testing/shared-fundings.ts'
import { BOUNDARY_MS, context, NOW_MS, universe } from '../testing/tape.ts'
import {
  DAY_HOURS,
  FundingSeries,
  fundingSeries,
  MONTH_HOURS,
  WEEK_HOURS,
} from './funding-series.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const at = (timeMs: number) => ({ timeExchangeMs: timeMs, timeReceivedMs: timeMs })

describe('funding series', () => {
  let coin: CoinMarket
  let series: FundingSeries

  beforeEach(() => {
    const market = newMarket(new PulsePool(3))
    market.apply(universe(['BTC']))
    coin = market.coin('BTC') as CoinMarket
    series = coin.of(fundingSeries)
  })

  test('counts the hours that are over, the one that just ended included', () => {
    tell(row(-23, 1e-6), row(-24, 7), row(0, 3e-6), row(1, 9))
    const day = (atMs: number) => series.windows(atMs).over(24)
    expect(day(BOUNDARY_MS)).toMatchObject({ count: 2, sum: 4e-6 })
    expect(day(BOUNDARY_MS - 1), 'a moment earlier').toMatchObject({
      count: 2,
      sum: 7 + 1e-6,
    })
    expect(day(BOUNDARY_MS + HOUR_MS), 'an hour later').toMatchObject({ count: 2 })
  })

  test('the running rate before the hour is its estimate until the record arrives', () => {
    coin.estimate(estimate(0, 2e-6))
    expect(series.windows(BOUNDARY_MS - 1).records(24), 'the hour is not over').toEqual([])
    expect(series.windows(NOW_MS).records(24)).toEqual([
      { timeMs: BOUNDARY_MS, rateHourly: 2e-6, premium: null, isSettled: false },
    ])
    tell({ ...row(0, 3e-6), premium: 4e-4 })
    expect(series.windows(NOW_MS).records(24)).toEqual([
      { timeMs: BOUNDARY_MS, rateHourly: 3e-6, premium: 4e-4, isSettled: true },
    ])
  })

  test('lets no estimate replace the record of the venue', () => {
    tell(row(0, 3e-6))
    tell(estimate(0, 5e-6))
    coin.estimate(estimate(0, 6e-6))
    expect(series.windows(NOW_MS).records(1)).toMatchObject([{ rateHourly: 3e-6, isSettled: true }])
  })

  test('has the premiums of a week', () => {
    const hours = Array.from({ length: 720 }, (_, back) => -back)
    tell(...hours.map((hour) => ({ ...row(hour, 1e-6), premium: (hour - 1) / 1e4 })))
    const premiums = series
      .windows(NOW_MS)
      .records(168)
      .map(({ premium }) => premium)
    expect(premiums).toEqual(Array.from({ length: 168 }, (_, at) => (at - 168) / 1e4))
  })

  test('leaves out missing hours, oldest first', () => {
    tell(row(0, 1e-6), row(-2, 3e-6), row(-3, 4e-6))
    expect(
      series
        .windows(NOW_MS)
        .records(3)
        .map(({ timeMs }) => (timeMs - BOUNDARY_MS) / HOUR_MS),
    ).toEqual([-2, 0])
  })

  test.each([
    { rates: [1, 2, 3], sign: 'POSITIVE', hours: 3 },
    { rates: [1, -2, 3], sign: 'POSITIVE', hours: 1 },
    { rates: [3, -1, -2], sign: 'NEGATIVE', hours: 2 },
    { rates: [3, 0, 0], sign: 'ZERO', hours: 2 },
    // Printed as 0.
    { rates: [3, 1e-10, -1e-10], sign: 'ZERO', hours: 2 },
    { rates: [1, null, 3], sign: 'POSITIVE', hours: 1 },
    // The newest record is an hour old.
    { rates: [1, 2, null], sign: 'POSITIVE', hours: 2 },
    { rates: [null, null, null], sign: 'ZERO', hours: 0 },
  ])('of $rates the streak is $sign for $hours hours', ({ rates, sign, hours }) => {
    rates.forEach((rate, index) => {
      if (rate !== null) tell(row(index - 2, rate))
    })
    expect(series.windows(NOW_MS).streak).toEqual({ sign, hours })
  })

  test('positive hours and flips are counted as printed', () => {
    tell(row(-3, 1e-6), row(-2, -1e-10), row(-1, 1e-10), row(0, 2e-6))
    expect(series.windows(NOW_MS).over(4)).toMatchObject({ positivePct: 50, flips: 0, min: -1e-10 })
  })

  test('a streak ends with the month', () => {
    tell(...Array.from({ length: 740 }, (_, hour) => row(hour - 739, 1e-6)))
    const windows = series.windows(NOW_MS)
    expect(windows).toMatchObject({ streak: { hours: 720 }, monthSpanHours: 720 })
    expect(windows.over(MONTH_HOURS).count).toBe(720)
  })

  test('has the beginning of its records', () => {
    expect(series.windows(NOW_MS).monthSpanHours).toBe(0)
    tell(row(-99, 1))
    expect(series.windows(NOW_MS).monthSpanHours).toBe(100)
  })

  test('computes its windows once an hour, and again when a record comes', () => {
    tell(row(-1, 1))
    const windows = series.windows(NOW_MS)
    expect(series.windows(NOW_MS + 10_000)).toBe(windows)
    tell(row(0, 2))
    expect(series.windows(NOW_MS)).not.toBe(windows)
    const again = series.windows(NOW_MS)
    expect(series.windows(NOW_MS + HOUR_MS)).not.toBe(again)
  })

  property.prop([
    fc.array(
      fc.record({ hour: fc.integer({ min: -730, max: 1 }), rate: fc.integer({ min: -9, max: 9 }) }),
      { maxLength: 900, size: 'max' },
    ),
    fc.infiniteStream(fc.nat()),
  ])('is the same whatever the order and the parts in which records came', (told, keys) => {
    const rows = [...new Map(told.map(({ hour, rate }) => [hour, row(hour, rate * 1e-6)])).values()]
    const shuffled = rows
      .map((one) => [keys.next().value, one] as const)
      .sort(([one], [other]) => one - other)
      .map(([, one]) => one)
    const [whole, parts] = [new FundingSeries(), new FundingSeries()]
    whole.apply({ kind: 'funding-history', coin: 'BTC', rows, ...at(NOW_MS) })
    for (const one of shuffled)
      parts.apply({ kind: 'funding-history', coin: 'BTC', rows: [one], ...at(NOW_MS) })
    const [found, expected] = [parts, whole].map((series) => {
      const { over, records, ...others } = series.windows(NOW_MS)
      const hours = [1, 23, DAY_HOURS, WEEK_HOURS, MONTH_HOURS]
      return { ...others, over: hours.map(over), records: hours.map(records) }
    })
    expect(found).toEqual(expected)
  })

  test.runIf(hasSharedFundings).each(fundedCoins)(
    'has the month of %s that was recorded, at any hour of it (needs ../shared/data)',
    (name) => {
      const recorded = sharedFundings(name)
      const told = new FundingSeries()
      told.apply({ kind: 'funding-history', coin: name, rows: recorded, ...at(NOW_MS) })
      const lastMs = recorded.at(-1)?.timeMs ?? Number.NaN
      for (const hours of [1, 8, 13, 24, 72, 167, 168, 720]) {
        const rates = recorded
          .filter(({ timeMs }) => timeMs > lastMs - hours * HOUR_MS)
          .map(({ rateHourly }) => rateHourly)
        const printed = rates.map((rate) => (Math.abs(rate) < 5e-9 ? 0 : rate))
        const { positivePct, flips } = naiveStatistics(printed)
        const expected = { ...naiveStatistics(rates), positivePct, flips }
        const { ascending: _, ...found } = told.windows(lastMs + MINUTE_MS).over(hours)
        for (const [key, value] of Object.entries(expected))
          expect(found[key as keyof typeof found], `${hours} hours: ${key}`).toBeCloseTo(value, 12)
      }
    },
  )

  test('the rates of other exchanges are the newest ones', () => {
    expect(series.venueFundings).toBeNull()
    const told = { kind: 'venue-fundings', coin: 'BTC', fundings: [], ...at(NOW_MS) } as const
    coin.apply(told)
    coin.apply(context('BTC'))
    expect(series.venueFundings).toBe(told)
  })

  function tell(...rows: FundingRow[]): void {
    coin.apply({ kind: 'funding-history', coin: 'BTC', rows, ...at(NOW_MS) })
  }
})

function row(hour: number, rateHourly: number): FundingRow {
  const timeMs = BOUNDARY_MS + hour * HOUR_MS
  return { coin: 'BTC', timeMs, rateHourly, premium: null, isSettled: true }
}

function estimate(hour: number, rateHourly: number): FundingRow {
  return { ...row(hour, rateHourly), isSettled: false }
}

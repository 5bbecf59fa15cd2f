import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import { FundingFilter } from './funding-filter.ts'

const HOUR_MS = 3_600_000
const NOON_MS = Date.UTC(2026, 0, 31, 12)

describe('FundingFilter', () => {
  test.prop([fc.double({ min: -0.5, max: 0.5, noNaN: true })])(
    'accepts a rate that its premium explains',
    (premium) => {
      const settled = row(impliedRateHourly(premium), premium)
      expect(new FundingFilter().accept('BTC', [settled])).toEqual([settled])
    },
  )

  test('drops only the rate that its premium does not explain', () => {
    const [before, broken, after] = [
      row(0.0000125, 0, 0),
      row(0.0000325, 0, 1),
      row(0.0000125, 0, 2),
    ]
    expect(new FundingFilter().accept('BTC', [before, broken, after])).toEqual([before, after])
  })

  test('accepts a rate that the venue repeats, because its rule may have changed', () => {
    const filter = new FundingFilter()
    const rows = [row(0.00002, 0, 0), row(0.00003, 0, 1)]
    expect(filter.accept('BTC', rows)).toEqual([])
    expect(filter.accept('BTC', rows)).toEqual(rows)
  })

  test('does not count another rate or another coin as a repetition', () => {
    const filter = new FundingFilter()
    expect(filter.accept('BTC', [row(0.0000325, 0)])).toEqual([])
    expect(filter.accept('ETH', [row(0.0000325, 0)])).toEqual([])
    expect(filter.accept('BTC', [row(0.0000525, 0)])).toEqual([])
    expect(filter.accept('BTC', [row(0.0000125, 0)])).toEqual([row(0.0000125, 0)])
    expect(filter.accept('BTC', [row(0.0000525, 0)]), 'a corrected rate is forgotten').toEqual([])
  })

  test('accepts rates without premium and rates of other dexes', () => {
    const filter = new FundingFilter()
    expect(filter.accept('BTC', [row(0.0000325, null)])).toHaveLength(1)
    expect(filter.accept('xyz:GOLD', [row(0.0000325, 0)])).toHaveLength(1)
  })
})

function row(rateHourly: number, premium: number | null, hour = 0) {
  const timeMs = NOON_MS + hour * HOUR_MS
  return { coin: 'BTC', timeMs, rateHourly, premium, isSettled: true }
}

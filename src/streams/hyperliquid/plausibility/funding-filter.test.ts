import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { impliedRateHourly } from '../../../domain/funding-rate.ts'
import { FundingFilter } from './funding-filter.ts'

const HOUR_MS = 3_600_000
const NOON_MS = Date.UTC(2026, 0, 31, 12)

describe('a settled rate', () => {
  test.prop([fc.double({ min: -0.5, max: 0.5, noNaN: true })])(
    'that the premium beside it explains is believed',
    (premium) => {
      const told = row(impliedRateHourly(premium), premium)
      expect(new FundingFilter().believed('BTC', [told])).toEqual([told])
    },
  )

  test('that it does not explain is left out, and what is beside it is not', () => {
    const [before, broken, after] = [
      row(0.0000125, 0, 0),
      row(0.0000325, 0, 1),
      row(0.0000125, 0, 2),
    ]
    expect(new FundingFilter().believed('BTC', [before, broken, after])).toEqual([before, after])
  })

  test('that is said again when it is asked again is believed: the venue has another rule now', () => {
    const doubt = new FundingFilter()
    const rows = [row(0.00002, 0, 0), row(0.00003, 0, 1)]
    expect(doubt.believed('BTC', rows)).toEqual([])
    expect(doubt.believed('BTC', rows)).toEqual(rows)
  })

  test('that is broken another time, or of another coin, is not said again', () => {
    const doubt = new FundingFilter()
    expect(doubt.believed('BTC', [row(0.0000325, 0)])).toEqual([])
    expect(doubt.believed('ETH', [row(0.0000325, 0)])).toEqual([])
    expect(doubt.believed('BTC', [row(0.0000525, 0)])).toEqual([])
    expect(doubt.believed('BTC', [row(0.0000125, 0)])).toEqual([row(0.0000125, 0)])
    expect(doubt.believed('BTC', [row(0.0000525, 0)]), 'what was put right is forgotten').toEqual(
      [],
    )
  })

  test('without a premium, or of a dex with a rule of its own, is not doubted', () => {
    const doubt = new FundingFilter()
    expect(doubt.believed('BTC', [row(0.0000325, null)])).toHaveLength(1)
    expect(doubt.believed('xyz:GOLD', [row(0.0000325, 0)])).toHaveLength(1)
  })
})

function row(rateHourly: number, premium: number | null, hour = 0) {
  const timeMs = NOON_MS + hour * HOUR_MS
  return { coin: 'BTC', timeMs, rateHourly, premium, isSettled: true }
}

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clusteredCloses } from './testing/clustered-closes.ts'
import { RANK_CLOSES, volatilityRank } from './volatility-rank.ts'

describe('volatility rank', () => {
  property.prop([fc.integer(), fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 40 })])(
    'equals its naive twin, holes included',
    (seed, count, holes) => {
      const closes = clusteredCloses(seed, count).map((close, at) =>
        (at * 7919) % 100 < holes ? Number.NaN : close,
      )
      const { percentile, readings, volatilityPct } = volatilityRank(closes)
      const naive = naiveRank(closes)
      expect(readings).toBe(naive.readings)
      if (naive.percentile === null) expect(percentile).toBeNull()
      else expect(percentile).toBeCloseTo(naive.percentile, 6)
      if (naive.volatilityPct === null) expect(volatilityPct).toBeNull()
      else expect(volatilityPct).toBeCloseTo(naive.volatilityPct, 6)
    },
  )

  property.prop([fc.integer(), fc.double({ min: 1e-3, max: 1e3, noNaN: true })])(
    'does not depend on the scale of prices',
    (seed, factor) => {
      const closes = clusteredCloses(seed, 400)
      const scaled = volatilityRank(closes.map((close) => close * factor))
      expect(scaled.percentile).toBeCloseTo(volatilityRank(closes).percentile ?? -1, 6)
    },
  )

  test('the most volatile day ranks just below 100, the calmest just above 0', () => {
    const closes = clusteredCloses(5, 800)
    const last = closes.at(-1) ?? 0
    const wild = [...closes, ...Array.from({ length: 24 }, (_, at) => last * (at % 2 ? 1 : 1.1))]
    const calm = [...closes, ...Array.from({ length: 24 }, () => last)]
    expect(volatilityRank(wild).percentile).toBe((100 * 719.5) / 720)
    expect(volatilityRank(calm).percentile).toBe((100 * 0.5) / 720)
  })

  test('a flat market is in the middle', () => {
    const rank = volatilityRank(new Float64Array(RANK_CLOSES).fill(3))
    expect(rank).toEqual({ percentile: 50, readings: 720, spanHours: 720, volatilityPct: 0 })
  })

  test('has 168 readings of 192 closes and not of 191; no more than 720', () => {
    const closes = clusteredCloses(1, 2_000)
    expect(volatilityRank(closes.slice(0, 191))).toMatchObject({ percentile: null, readings: 167 })
    const { percentile, readings } = volatilityRank(closes.slice(0, 192))
    expect([percentile === null, readings]).toEqual([false, 168])
    expect(volatilityRank(closes)).toEqual(volatilityRank(closes.slice(-RANK_CLOSES)))
  })

  test('spans the hours from its first reading to the last, whatever is missing between', () => {
    const closes = clusteredCloses(1, 400)
    expect(volatilityRank(closes)).toMatchObject({ readings: 376, spanHours: 376 })
    closes.fill(Number.NaN, 200, 230)
    const { readings, spanHours } = volatilityRank(closes)
    expect(readings).toBeLessThan(376)
    expect(spanHours).toBe(376)
    expect(volatilityRank(closes.fill(Number.NaN, 0, 200)).spanHours).toBeLessThan(170)
  })

  test('is unknown where the present day is', () => {
    const closes = clusteredCloses(1, 800)
    const stale = [...closes, ...Array.from({ length: 7 }, () => Number.NaN)]
    expect(volatilityRank(stale)).toMatchObject({ percentile: null, volatilityPct: null })
    expect(volatilityRank(stale.slice(0, -1)).percentile).not.toBeNull()
    expect(volatilityRank([])).toMatchObject({ readings: 0, spanHours: 0, volatilityPct: null })
  })
})

/** Each window summed from its returns, and counted instead of sorted. */
function naiveRank(closes: readonly number[]) {
  const returns = closes.slice(1).map((close, at) => Math.log(close) - Math.log(closes[at] ?? 0))
  const readings: number[] = []
  for (let end = returns.length; end >= 24 && returns.length - end < 720; end -= 1)
    readings.push(reading(returns.slice(end - 24, end)))
  const [present] = readings
  const known = readings.filter((value) => !Number.isNaN(value))
  if (present === undefined || Number.isNaN(present))
    return { percentile: null, readings: known.length, volatilityPct: null }
  const isEqual = (value: number) => Math.abs(value - present) < 1e-9 * present
  const equal = known.filter(isEqual).length
  const below = known.filter((value) => value < present && !isEqual(value)).length
  return {
    percentile: known.length < 168 ? null : (100 * (below + equal / 2)) / known.length,
    readings: known.length,
    volatilityPct: present,
  }
}

function reading(returns: readonly number[]): number {
  const known = returns.filter((move) => !Number.isNaN(move))
  if (known.length < 18) return Number.NaN
  const square = known.reduce((sum, move) => sum + move * move, 0) / known.length
  return 100 * Math.sqrt(square * 24 * 365)
}

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { largestCluster, liquidationMarks, notionalOf, placeOf } from './liquidation-marks.ts'

const samples = new URL('../../api/discovery/samples.json', import.meta.url)
const sample = JSON.parse(readFileSync(samples, 'utf8')).liquidations as Parameters<
  typeof liquidationMarks
>[0]

describe('marks of liquidations', () => {
  const marks = liquidationMarks(sample)

  test('are all zones and clusters of both sides, by price', () => {
    const { zones, clusters } = sample
    const all = [zones.longs, zones.shorts, clusters.longs, clusters.shorts].flat()
    expect(marks.map(({ price }) => price)).toEqual(
      all.map(({ price }) => price).sort((one, other) => one - other),
    )
  })

  test('tell the observed part from the estimated one', () => {
    const [zone] = sample.zones.longs
    if (zone === undefined) throw new Error('the sample has no zone')
    const observed = { ...zone, estimated_notional: 100, observed_notional: 40 }
    const one = { ...sample, zones: { ...sample.zones, longs: [observed], shorts: [] } }
    const mark = liquidationMarks(one).find(({ kind }) => kind === 'zone')
    expect(mark).toMatchObject({ observedUsd: 40, estimatedUsd: 60, leverage: zone.leverage })
    expect(mark && notionalOf(mark)).toBe(100)
  })

  test('of empty tiers are hypothetical', () => {
    const empty = marks.filter(({ isHypothetical }) => isHypothetical)
    expect(empty.map(({ leverage }) => leverage)).toEqual(['50x', '50x'])
  })

  test('without a price of the collateral have no notional', () => {
    const unknown = {
      price: 10,
      distance_pct: 1,
      estimated_notional: null,
      observed_notional: null,
    }
    const answer = { ...sample, clusters: { longs: [unknown], shorts: [] } }
    const mark = liquidationMarks(answer).find(({ kind }) => kind === 'cluster')
    expect(mark).toMatchObject({ observedUsd: null, estimatedUsd: null })
    expect(largestCluster(liquidationMarks(answer))).toBe(0)
  })

  test('of a newer answer stand for the ones of an earlier: tier by tier, clusters by price', () => {
    const moved = (change: number) => marks.map((one) => ({ ...one, price: one.price * change }))
    for (const [at, mark] of marks.entries()) expect(placeOf(mark, moved(1.0001))).toBe(at)
    const [gone, ...others] = marks.filter(
      ({ kind, side }) => kind === 'cluster' && side === 'long',
    )
    if (gone === undefined || others[0] === undefined) throw new Error('the sample has no clusters')
    const fewer = marks.filter((one) => one !== gone)
    expect(fewer[placeOf(gone, fewer)]).toBe(others[0])
    expect(placeOf(null, marks)).toBe(-1)
    expect(placeOf(gone, [])).toBe(-1)
  })
})

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coordinateOf, labelLanes, priceSpreadScale, spreadTicks } from './price-spread-scale.ts'

const price = fc.double({ min: 30, max: 300, noNaN: true })

describe('a scale of prices around a middle', () => {
  property.prop([fc.array(price, { minLength: 1, maxLength: 40 })])(
    'holds all prices in their order',
    (prices) => {
      const scale = priceSpreadScale(100, prices, 600)
      const places = prices
        .toSorted((one, other) => one - other)
        .map((one) => coordinateOf(scale, one))
      expect(places).toEqual(places.toSorted((one, other) => one - other))
      for (const place of places) expect(place).toBeGreaterThan(0)
      for (const place of places) expect(place).toBeLessThan(600)
    },
  )

  test('has the middle in the middle, and half as far as twice the price', () => {
    const scale = priceSpreadScale(100, [50, 200], 600)
    expect(coordinateOf(scale, 100)).toBe(300)
    expect(coordinateOf(scale, 200) - 300).toBeCloseTo(300 - coordinateOf(scale, 50))
  })

  test('gives near prices more room', () => {
    const scale = priceSpreadScale(100, [50, 200], 600)
    const near = coordinateOf(scale, 102) - coordinateOf(scale, 101)
    expect(near).toBeGreaterThan(3 * (coordinateOf(scale, 152) - coordinateOf(scale, 151)))
  })

  test('has ticks at round distances, as far apart as wanted', () => {
    const ticks = spreadTicks(priceSpreadScale(100, [60, 170], 800), 50)
    expect(ticks.map(({ distancePct }) => distancePct)).toEqual([-20, -5, -1, 0, 1, 5, 20, 40, 60])
    expect(ticks.find(({ distancePct }) => distancePct === -20)?.price).toBe(80)
  })
})

test('labels that would cover each other are in different lanes', () => {
  const spans = [
    { from: 0, to: 30 },
    { from: 20, to: 50 },
    { from: 31, to: 60 },
    { from: 40, to: 70 },
  ]
  expect(labelLanes(spans)).toEqual([0, 1, 0, 2])
})

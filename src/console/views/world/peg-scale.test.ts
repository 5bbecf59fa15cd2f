import { describe, expect, test } from 'vitest'
import { pegLevels as levelsOfTheAnalysis } from '../../../compute/external/depeg/peg-level.ts'
import { pegLevels, pegMarks, pegParts, pegPosition } from './peg-scale.ts'

test('the levels are those of the analysis', () => {
  expect(pegLevels).toEqual(levelsOfTheAnalysis.map(({ name, fromBps }) => ({ name, fromBps })))
})

describe('place of a deviation', () => {
  test.each([
    [0, 0.5],
    [5, 0.5 + 0.5 / 12],
    [10, 0.5 + 1 / 12],
    [-10, 0.5 - 1 / 12],
    [62.5, 0.5 + 2.5 / 12],
    [-200, 0.5 - 4 / 12],
    [750, 0.5 + 5.5 / 12],
    [1_000, 1],
    [-1_260, 0],
  ])('of %d basis points is %d', (bps, place) => {
    expect(pegPosition(bps)).toBeCloseTo(place, 12)
  })

  test('rises with the deviation', () => {
    const places = Array.from({ length: 2_401 }, (_, at) => pegPosition(at - 1_200))
    expect(places).toEqual([...places].sort((one, other) => one - other))
  })
})

test('each threshold is drawn between the two parts that it separates', () => {
  expect(pegParts.map(({ level }) => level)).toEqual([5, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5])
  for (const { at } of pegMarks) expect(at * pegParts.length).toBeCloseTo(Math.round(at * 12), 9)
})

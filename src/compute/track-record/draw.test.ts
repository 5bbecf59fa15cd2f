import { describe, expect, test } from 'vitest'
import { drawOf, drawPrefix } from './draw.ts'

const HOURS = 4_000

describe('draw', () => {
  test.each([
    ['confluence.bias@1', 'BTC', 480_000, { quarter: 3, item: 134_522_060 }],
    ['confluence.bias@1', 'BTC', 480_001, null],
    ['confluence.bias@1', 'BTC', 480_009, { quarter: 0, item: 108_854_485 }],
    ['zone.touch@1', 'dex:ÄÖ', 480_001, { quarter: 3, item: 51_412_335 }],
  ] as const)('of %s for %s in hour %i, by an independent program', (rule, coin, hour, draw) => {
    expect(drawOf(drawPrefix(rule, coin), hour)).toEqual(draw)
  })

  test('takes one hour in four, each quarter and item alike, and rules independently', () => {
    const drawn = (rule: 'zone.touch@1' | 'zone.reaction@1') =>
      Array.from({ length: HOURS }, (_, hour) => drawOf(drawPrefix(rule, 'ETH'), 480_000 + hour))
    const [one, other] = [drawn('zone.touch@1'), drawn('zone.reaction@1')]
    const made = one.filter((draw) => draw !== null)
    expect(made.length / HOURS).toBeCloseTo(0.25, 1)
    for (const quarter of [0, 1, 2, 3])
      expect(made.filter((draw) => draw.quarter === quarter).length / made.length).toBeCloseTo(
        0.25,
        1,
      )
    for (const rest of [0, 1, 2])
      expect(made.filter(({ item }) => item % 3 === rest).length / made.length).toBeCloseTo(
        1 / 3,
        1,
      )
    const both = one.filter((draw, hour) => draw !== null && other[hour] !== null)
    expect(both.length / HOURS).toBeCloseTo(1 / 16, 1)
  })
})

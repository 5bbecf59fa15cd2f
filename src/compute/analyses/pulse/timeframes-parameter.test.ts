import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { timeframeSubsets, timeframesParameter } from './timeframes-parameter.ts'

const viewOf = (raw: string) => timeframesParameter.valueOf(raw, [])

describe('timeframes parameter', () => {
  test('has seven subsets', () => {
    expect(new Set(timeframeSubsets.map((subset) => subset.join(',')))).toEqual(
      new Set(['15m', '1h', '4h', '15m,1h', '15m,4h', '1h,4h', '15m,1h,4h']),
    )
  })

  property.prop([
    fc.constantFrom(...timeframeSubsets).chain((subset) =>
      fc.record({
        subset: fc.constant(subset),
        typed: fc.shuffledSubarray([...subset, ...subset], { minLength: subset.length }),
      }),
    ),
    fc.boolean(),
  ])('finds the same view in any order, case and repetition', ({ subset, typed }, isUpper) => {
    fc.pre(new Set(typed).size === subset.length)
    const text = typed.join(',')
    expect(viewOf(isUpper ? text.toUpperCase() : text)).toBe(subset.join(','))
  })

  test.each(['5m', '', '1h,', ',', '1h,5m', '1h;4h', '60', '1h 4h'])('refuses %j', (raw) => {
    expect(viewOf(raw)).toBeUndefined()
  })
})

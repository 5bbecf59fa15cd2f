import { test } from '@fast-check/vitest'
import fc from 'fast-check'
import { expect } from 'vitest'
import { kept } from './kept.ts'

test.prop([fc.array(fc.nat(9)), fc.nat(9)])(
  'those that are kept are as filtered, each asked once, and the list itself where all are',
  (all, limit) => {
    const asked: number[] = []
    const some = kept(all, (one) => {
      asked.push(one)
      return one <= limit
    })
    expect(some).toEqual(all.filter((one) => one <= limit))
    expect(asked).toEqual(all)
    if (some.length === all.length) expect(some).toBe(all)
  },
)

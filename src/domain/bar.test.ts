import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { barFault } from './bar.ts'

const SOUND = { openTimeMs: 0, open: 2, high: 4, low: 1, close: 3, volumeBase: 5 }
const anything = fc.oneof(fc.double(), fc.constantFrom(0, -1, Number.NaN, Infinity, -Infinity))

describe('a bar', () => {
  test.each([
    ['is one', {}, null],
    ['may be flat and without volume', { open: 1, high: 1, low: 1, close: 1, volumeBase: 0 }, null],
    ['may open at the previous close without trades', { open: 5, volumeBase: 0 }, null],
    ['does not close above its high without trades', { close: 5, volumeBase: 0 }, 'bad_bar'],
    ['does not open above its high', { open: 5 }, 'bad_bar'],
    ['does not open below its low', { open: 0.5 }, 'bad_bar'],
    ['does not close above its high', { close: 5 }, 'bad_bar'],
    ['does not close below its low', { close: 0.5 }, 'bad_bar'],
    ['has no high below its low', { high: 0.5 }, 'bad_bar'],
    ['has no price of zero', { low: 0 }, 'bad_price'],
    ['has no price without bound', { high: 1.1e15 }, 'bad_price'],
    ['does not open at a price without bound', { open: 1.1e15, volumeBase: 0 }, 'bad_price'],
    ['has no volume below zero', { volumeBase: -1 }, 'bad_size'],
    ['has no volume without bound', { volumeBase: 1.1e30 }, 'bad_size'],
    ['has a time', { openTimeMs: Number.NaN }, 'bad_time'],
    ['has a time that a date can have', { openTimeMs: 9e15 }, 'bad_time'],
  ] as const)('%s', (_what, change, fault) => {
    expect(barFault({ ...SOUND, ...change })).toBe(fault)
  })

  property.prop([
    fc.record({
      open: anything,
      high: anything,
      low: anything,
      close: anything,
      volumeBase: anything,
    }),
  ])('is only made of numbers within bounds, in order', (figures) => {
    const { open, high, low, close, volumeBase } = figures
    const isSound =
      Math.max(high, open) <= 1e15 &&
      volumeBase <= 1e30 &&
      [high, close].every((price) => low <= price && price <= high) &&
      ((low <= open && open <= high) || volumeBase === 0) &&
      Math.min(low, open) > 0 &&
      volumeBase >= 0
    expect(barFault({ openTimeMs: 0, ...figures }) === null).toBe(isSound)
  })
})

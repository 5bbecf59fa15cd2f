import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { Batcher } from './batcher.ts'

function gathered(sizeMax = 3) {
  const clock = new ManualClock()
  const seen: (readonly number[])[] = []
  const dispatch = (things: readonly number[]) => void seen.push(things)
  return {
    clock,
    seen,
    gathering: new Batcher<number>({ clock, waitMs: 100, sizeMax, dispatch }),
  }
}

describe('what comes', () => {
  test('alone passes immediately', () => {
    const { clock, seen, gathering } = gathered()
    gathering.add(1)
    expect(seen).toEqual([[1]])
    clock.advance(100)
    gathering.add(2)
    expect(seen).toEqual([[1], [2]])
  })

  test('soon after another waits for company, until 100 ms have passed', () => {
    const { clock, seen, gathering } = gathered()
    gathering.add(1)
    gathering.add(2)
    clock.advance(99)
    gathering.add(3)
    expect(seen).toEqual([[1]])
    clock.advance(1)
    expect(seen).toEqual([[1], [2, 3]])
  })

  test('last of a full company does not wait', () => {
    const { seen, gathering } = gathered(3)
    for (const thing of [1, 2, 3, 4, 5]) gathering.add(thing)
    expect(seen).toEqual([[1], [2, 3, 4]])
  })

  property.prop([fc.array(fc.nat(60), { maxLength: 60 })])(
    'is dispatched once, in order, within 100 ms, in companies that are not too large',
    (gapsMs) => {
      const { clock, seen, gathering } = gathered(5)
      const cameAtMs: number[] = []
      const wentAtMs: number[] = []
      const note = () => {
        while (wentAtMs.length < seen.flat().length) wentAtMs.push(clock.nowMs())
      }
      const pass = (ms: number) => {
        for (let passed = 0; passed < ms; passed += 1) {
          clock.advance(1)
          note()
        }
      }
      for (const [thing, gapMs] of gapsMs.entries()) {
        pass(gapMs)
        cameAtMs.push(clock.nowMs())
        gathering.add(thing)
        note()
      }
      pass(100)
      expect(seen.flat()).toEqual(gapsMs.map((_, thing) => thing))
      expect(Math.max(0, ...seen.map(({ length }) => length))).toBeLessThanOrEqual(5)
      for (const [thing, atMs] of wentAtMs.entries())
        expect(atMs - (cameAtMs[thing] ?? Number.NaN)).toBeLessThanOrEqual(100)
    },
  )
})

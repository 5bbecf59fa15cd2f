import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { reusedFor } from './reused.ts'

test('a value is computed once per period, and only when it is asked for', async () => {
  const clock = new ManualClock()
  let computed = 0
  const read = reusedFor(1_000, clock, async () => {
    computed += 1
    return computed
  })
  clock.advance(60_000)
  expect(computed).toBe(0)
  expect(await Promise.all([read(), read()])).toEqual([1, 1])
  clock.advance(999)
  expect(await read()).toBe(1)
  clock.advance(1)
  expect(await read()).toBe(2)
  clock.putBack(3_600_000)
  expect(await read(), 'a clock that was set back').toBe(3)
})

test('a failure is not kept', async () => {
  let isFailing = true
  const read = reusedFor(1_000, new ManualClock(), async () => {
    if (isFailing) throw new Error('away')
    return 'here'
  })
  await expect(read()).rejects.toThrow('away')
  isFailing = false
  expect(await read()).toBe('here')
})

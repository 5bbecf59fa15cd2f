import { expect, test } from 'vitest'
import { measureRecovery, ROUNDS_MAX } from './recovery.ts'

/** Results in turn; the last one stays. */
function resultsOf(...results: number[]) {
  return async () => (results.length > 1 ? results.shift() : results[0]) ?? Number.NaN
}

test('a machine that is busy for some rounds recovers', async () => {
  const measured = await measureRecovery(100, resultsOf(900, 400, 220), 50)
  expect(measured).toEqual({ control: 220, recovered: true })
})

test('the control before an attack stays if it was the slower one', async () => {
  expect(await measureRecovery(100, resultsOf(90))).toEqual({ control: 100, recovered: true })
})

test.each([251, Number.POSITIVE_INFINITY, Number.NaN])(
  'lasting harm is no control and no recovery: %d',
  async (after) => {
    let rounds = 0
    const measure = async () => {
      rounds += 1
      return after
    }
    const measured = await measureRecovery(100, measure, 50)
    expect(measured).toEqual({ control: 100, recovered: false })
    expect(rounds).toBe(ROUNDS_MAX)
  },
)

test('nothing is judged by a control that was not sold', async () => {
  await expect(measureRecovery(Number.POSITIVE_INFINITY, resultsOf(1))).rejects.toThrow('control')
})

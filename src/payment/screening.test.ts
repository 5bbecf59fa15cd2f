import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { Verification } from './payment.ts'
import { Screening } from './screening.ts'

const valid: Verification = { kind: 'valid' }
const poor: Verification = { kind: 'invalid', reason: 'insufficient_funds' }

/** Even numbers can pay. */
function screening(
  ask = (numbers: readonly number[]) => numbers.map((n) => (n % 2 ? poor : valid)),
) {
  const clock = new ManualClock()
  const asked: number[][] = []
  const screened = new Screening<number>({
    clock,
    ask: async (numbers) => {
      asked.push([...numbers])
      return ask(numbers)
    },
  })
  return { clock, asked, screen: (number: number) => screened.screen(number) }
}

test('a single payment passes immediately, without a request', async () => {
  const { asked, clock, screen } = screening()
  for (const number of [1, 2, 3]) {
    expect(await screen(number)).toEqual(valid)
    clock.advance(250)
  }
  expect(asked).toEqual([])
})

test('those that come at the same time are asked about once, and each gets its own answer', async () => {
  const { asked, clock, screen } = screening()
  const answers = [1, 2, 3, 4].map(screen)
  clock.advance(250)
  expect(await Promise.all(answers)).toEqual([valid, valid, poor, valid])
  expect(asked).toEqual([[2, 3, 4]])
})

test('however many come, there are four questions a second of a hundred each', async () => {
  const { asked, clock, screen } = screening()
  const answers = Array.from({ length: 600 }, (_, number) => screen(number))
  clock.advance(1_000)
  expect(asked.map(({ length }) => length)).toEqual(Array.from({ length: 4 }, () => 100))
  const crowded = {
    kind: 'unreachable',
    reason: expect.stringContaining('are waiting for the node'),
  }
  expect(await Promise.all(answers.slice(-199))).toEqual(Array.from({ length: 199 }, () => crowded))
})

test('a node that does not answer is nobody’s fault', async () => {
  const { clock, screen } = screening(() => {
    throw new Error('down')
  })
  const answers = [1, 2, 3].map(screen)
  clock.advance(250)
  expect(await Promise.all(answers)).toEqual([
    valid,
    { kind: 'unreachable', reason: 'down' },
    { kind: 'unreachable', reason: 'down' },
  ])
})

import { beforeAll, describe, expect, test } from 'vitest'
import { PRICE } from '../../src/payment/testing/paid-host.ts'
import type { ObserverResult } from './chain-observer.ts'
import { NOISE_MS, observeChain } from './chain-observer.ts'
import { limitOf } from './recovery.ts'

const COUNT = 24

let result: ObserverResult

beforeAll(async () => {
  result = await observeChain({ count: COUNT, seed: 34 })
})

describe('a payment that a stranger reads from the chain', () => {
  test('opens no answer', () => {
    expect(result.guesses).toHaveLength(2 * COUNT)
    expect(result.guesses.filter(({ isSold }) => isSold)).toEqual([])
  })

  test('does not reveal what it bought', () => {
    const shown = ({ status, bytes }: { status: number; bytes: number }) => `${status} ${bytes}`
    const of = (isRight: boolean) =>
      new Set(result.guesses.filter((guess) => guess.isRight === isRight).map(shown))
    expect(of(true)).toEqual(of(false))
    expect([...of(true)].every((answer) => answer.startsWith('409'))).toBe(true)
  })
})

test('fast guesses of a stranger do not block an honest buyer', () => {
  const { idleMs, guessedMs, guessesBeside, recovered } = result
  expect(guessesBeside).toBeGreaterThan(100)
  expect(guessedMs).toBeLessThan(limitOf(idleMs, NOISE_MS))
  expect(recovered).toBe(true)
})

describe('a connection that breaks at any moment', () => {
  test('costs no buyer its answer, with any public client', () => {
    expect(result.calls.some(({ wasBroken }) => wasBroken)).toBe(true)
    expect(result.calls.filter(({ isAnswered }) => !isAnswered)).toEqual([])
  })

  test('is paid and rendered once', () => {
    expect(result.calls.filter(({ atomsPaid }) => atomsPaid !== PRICE)).toEqual([])
    expect(result.renders).toBe(COUNT)
  })
})

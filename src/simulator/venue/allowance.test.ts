import { describe, expect, test } from 'vitest'
import { MinuteAllowance } from './allowance.ts'

const MINUTE_MS = 60_000

describe('an allowance per minute', () => {
  test('is never passed in any minute, and is given back a minute after it was taken', () => {
    const allowance = new MinuteAllowance(10)
    const takenMs: number[] = []
    for (let atMs = 0; atMs < 5 * MINUTE_MS; atMs += 700)
      if (allowance.take(1, atMs)) takenMs.push(atMs)
    for (const [i, atMs] of takenMs.entries()) {
      const tenth = takenMs[i + 10]
      if (tenth !== undefined) expect(tenth - atMs).toBeGreaterThanOrEqual(MINUTE_MS)
    }
    expect(takenMs).toHaveLength(50)
  })

  test('takes nothing where it refuses', () => {
    const allowance = new MinuteAllowance(10)
    expect([7, 4, 3, 1].map((amount) => allowance.take(amount, 0))).toEqual([
      true,
      false,
      true,
      false,
    ])
  })

  test('may be left in debt by what is charged afterwards, until that is a minute old', () => {
    const allowance = new MinuteAllowance(10)
    expect(allowance.take(2, 0)).toBe(true)
    allowance.charge(20)
    expect(allowance.take(1, MINUTE_MS - 1)).toBe(false)
    expect(allowance.take(10, MINUTE_MS)).toBe(true)
  })
})

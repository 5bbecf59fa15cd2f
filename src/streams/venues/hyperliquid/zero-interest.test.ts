import { describe, expect, test } from 'vitest'
import type { ContextEvent } from '../../../domain/event.ts'
import { ZeroInterest } from './zero-interest.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

function told(openInterestBase: number, coin = 'BTC'): ContextEvent {
  return { coin, openInterestBase } as ContextEvent
}

describe('that nothing is open', () => {
  test('waits until it is told again, five seconds later or more', () => {
    const zeros = new ZeroInterest()
    expect(zeros.judge(told(0), NOW_MS)).toBe('waits')
    expect(zeros.judge(told(0), NOW_MS + 4_999)).toBe('waits')
    expect(zeros.judge(told(0), NOW_MS + 5_000)).toBe('believed')
    expect(zeros.judge(told(0), NOW_MS + 5_001)).toBe('believed')
  })

  test('was a broken figure when something is open after all', () => {
    const zeros = new ZeroInterest()
    zeros.judge(told(0), NOW_MS)
    expect(zeros.judge(told(7), NOW_MS + 60_000)).toBe('refuted')
    expect(zeros.judge(told(7), NOW_MS + 60_001), 'once').toBe('believed')
    expect(zeros.judge(told(0), NOW_MS + 60_002), 'it begins anew').toBe('waits')
  })

  test('was true before somebody opened something', () => {
    const zeros = new ZeroInterest()
    for (const afterMs of [0, 5_000]) zeros.judge(told(0), NOW_MS + afterMs)
    expect(zeros.judge(told(7), NOW_MS + 9_000)).toBe('believed')
  })

  test('of one coin says nothing of another', () => {
    const zeros = new ZeroInterest()
    zeros.judge(told(0), NOW_MS)
    expect(zeros.judge(told(0, 'ETH'), NOW_MS + 5_000)).toBe('waits')
  })
})

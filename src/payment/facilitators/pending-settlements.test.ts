import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { DecodedPayment } from '../payment.ts'
import { PendingSettlements } from './pending-settlements.ts'

function payment(hash: string, validBeforeSeconds: number): DecodedPayment {
  return { hash, validBeforeSeconds } as DecodedPayment
}

describe('doubts', () => {
  test('name the holder of a payment until they are cleared up', () => {
    const doubts = new PendingSettlements<string>(new ManualClock(0))
    doubts.add(payment('one', 100), 'A')
    expect(doubts.find(payment('one', 100))).toBe('A')
    expect(doubts.find(payment('other', 100))).toBeNull()
    doubts.delete(payment('one', 100))
    expect(doubts.find(payment('one', 100))).toBeNull()
  })

  test('last until a late block could no longer take the payment', () => {
    const clock = new ManualClock(0)
    const doubts = new PendingSettlements<string>(clock)
    doubts.add(payment('one', 100), 'A')
    clock.advance(160_000)
    expect(doubts.find(payment('one', 100))).toBe('A')
    clock.advance(1)
    expect(doubts.find(payment('one', 100))).toBeNull()
  })

  test('forget the oldest beyond their bound', () => {
    const doubts = new PendingSettlements<string>(new ManualClock(0))
    for (let at = 0; at <= 10_000; at += 1) doubts.add(payment(`${at}`, 100), 'A')
    expect(doubts.find(payment('0', 100))).toBeNull()
    expect(doubts.find(payment('1', 100))).toBe('A')
    expect(doubts.find(payment('10000', 100))).toBe('A')
  })
})

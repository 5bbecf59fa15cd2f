import { expect, test } from 'vitest'
import { AUDIT_SPACING_MS, AuditRotation } from './audit-rotation.ts'

const COINS = ['A', 'B', 'C', 'D']

test('every coin has its turn, one after the other', () => {
  const rotation = new AuditRotation(0)
  const turns: (readonly [number, string])[] = []
  for (let nowMs = 0; nowMs < 8 * AUDIT_SPACING_MS; nowMs += 1_000) {
    const coin = rotation.next(COINS, nowMs)
    if (coin !== undefined) turns.push([nowMs, coin])
  }
  expect(turns.map(([, coin]) => coin).join('')).toBe('ABCDABCD')
  expect(turns[1]?.[0]).toBe(AUDIT_SPACING_MS)
})

test('a coin that is gone is passed over, and nothing is due without coins', () => {
  const rotation = new AuditRotation(0)
  expect(rotation.next([], 0)).toBeUndefined()
  expect(rotation.next(COINS, 0)).toBe('A')
  expect(rotation.next(['B', 'C'], AUDIT_SPACING_MS)).toBe('B')
  expect(rotation.next(['B', 'C'], 2 * AUDIT_SPACING_MS)).toBe('C')
  expect(rotation.next(['B', 'C'], 3 * AUDIT_SPACING_MS)).toBe('B')
})

import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { usdcDecimal } from './usdc.ts'

describe('USDC', () => {
  test.each([
    [25_000n, '0.025'],
    [15_000n, '0.015'],
    [1n, '0.000001'],
    [1_000_000n, '1'],
    [0n, '0'],
    [1_234_567_890_123n, '1234567.890123'],
  ])('%i atomic units are %s', (atomic, text) => {
    expect(usdcDecimal(atomic)).toBe(text)
  })

  property.prop([fc.bigInt({ min: 0n, max: 10n ** 30n })])('loses nothing', (atomic) => {
    const [whole = '', fraction = ''] = usdcDecimal(atomic).split('.')
    expect(BigInt(whole + fraction.padEnd(6, '0'))).toBe(atomic)
  })
})

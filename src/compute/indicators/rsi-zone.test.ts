import { expect, test } from 'vitest'
import { rsiZone } from './rsi-zone.ts'

test.each([
  [100, 'overbought'],
  [70, 'overbought'],
  [69.999, 'bullish'],
  [60, 'bullish'],
  [59.999, 'neutral'],
  [40.001, 'neutral'],
  [40, 'bearish'],
  [30.001, 'bearish'],
  [30, 'oversold'],
  [0, 'oversold'],
])('an RSI of %d is %s', (rsi, zone) => {
  expect(rsiZone(rsi)).toBe(zone)
})

import { expect, test } from 'vitest'
import { VaultRefresh } from './vault-refresh.ts'

const MINUTE_MS = 60_000

test('a vault without usable details is asked for later, and leaves the weight to other requests', () => {
  const refresh = new VaultRefresh(undefined)
  const parent = refresh.due(0) ?? ''
  expect(
    refresh.answered(parent, { kind: 'vault', name: 'HLP', children: ['0xa', '0xb'] }),
  ).toBeNull()
  expect(refresh.due(1)).toBe('0xa')
  refresh.failed(1)
  expect(refresh.due(2), 'not at once').toBeUndefined()
  expect(refresh.due(11 * MINUTE_MS), 'after the others').toBe('0xb')
  expect(refresh.answered('0xb', { kind: 'vault', name: 'Liquidator 2', children: [] })).toBeNull()
  expect(refresh.answered('0xa', { kind: 'vault', name: 'Liquidator 1', children: [] })).toEqual([
    '0xb',
    '0xa',
  ])
})

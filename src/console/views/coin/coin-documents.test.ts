import { expect, test } from 'vitest'
import { callOf, pathOfCall, pathOfOffer } from '../../wallet/call-path.ts'
import { isShownOfCoin } from './coin-documents.ts'

test.each(['pulse', 'spread', 'cex-dex'])(
  'the view of a coin shows the answer to an offer of %s',
  (id) => {
    expect(isShownOfCoin(pathOfOffer({ id, scope: 'coin' }, 'xyz:TSLA'))).toBe(true)
  },
)

test('a coin of a builder-deployed dex is shown however its path is written', () => {
  expect(isShownOfCoin(pathOfCall(callOf('/spread/xyz:TSLA')))).toBe(true)
})

test.each([
  '/pulse/ETH',
  '/pulse/ETH?timeframes=1h',
  '/spread/ETH?size=5',
  '/bundle/ETH',
  '/pulse',
  '/',
])('the answer to %s is in no view of a coin', (path) => {
  expect(isShownOfCoin(path)).toBe(false)
})

test('a call keeps every part of its query', () => {
  const path = '/bundle/ETH?fields=a?b'
  expect(pathOfCall(callOf(path))).toBe(path)
})

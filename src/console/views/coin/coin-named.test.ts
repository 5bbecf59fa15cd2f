import { expect, test } from 'vitest'
import { coinNamed } from './coin-named.ts'

const coins = ['BTC', 'ETH', 'kPEPE', 'SOL', 'ETHFI', 'xyz:TSLA']

test.each([
  ['BTC', 'BTC'],
  [' btc ', 'BTC'],
  ['ethf', 'ETHFI'],
  ['eth', 'ETH'],
  ['pepe', 'kPEPE'],
  ['tsla', 'xyz:TSLA'],
  ['nothing', null],
  ['  ', null],
])('%j opens %s', (text, coin) => {
  expect(coinNamed(text, coins)).toBe(coin)
})

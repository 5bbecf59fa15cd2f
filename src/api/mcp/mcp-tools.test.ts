import { expect, test } from 'vitest'
import { pulse } from '../../compute/analyses/pulse/pulse.ts'
import { offerOf } from '../discovery/analysis-offer.ts'
import { toolOf } from './mcp-tools.ts'

const { urlOf } = toolOf(offerOf(pulse.contract, { exampleCoin: 'BTC' }))

test.each(['', '.', '..', '../..', '%2e%2e', 'BTC/../..', '\ud800'])(
  'the coin %j stays in the path of its analysis',
  (coin) => {
    const { pathname } = new URL(urlOf({ coin }), 'http://service')
    expect(pathname).toMatch(/^\/pulse\/[^/]+$/)
  },
)

test('the compact answer is the usual one, and `fields` are those of the full answer', () => {
  expect(urlOf({ coin: 'BTC' })).toBe('/pulse/BTC?view=compact')
  expect(urlOf({ coin: 'BTC', fields: 'interpretation' })).toBe('/pulse/BTC?fields=interpretation')
})

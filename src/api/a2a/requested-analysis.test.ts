import { expect, test } from 'vitest'
import { contracts } from '../../compute/analyses/registry.ts'
import { offerOf } from '../discovery/analysis-offer.ts'
import { toolOf } from '../mcp/mcp-tools.ts'
import { requestedUrl } from './requested-analysis.ts'

const tools = new Map(
  contracts.map((contract) => [contract.id, toolOf(offerOf(contract, { exampleCoin: 'BTC' }))]),
)
const asked = (value: string) =>
  requestedUrl(
    { parts: [{ content: { $case: 'text', value } }] } as unknown as Parameters<
      typeof requestedUrl
    >[0],
    tools,
  )

test.each([
  ['pulse BTC', '/pulse/BTC'],
  ['/pulse/BTC', '/pulse/BTC'],
  ['PULSE  btc-usdc', '/pulse/btc-usdc'],
  ['pulse BTC/USDC', '/pulse/BTC%2FUSDC'],
  ['pulse/BTC/USDC:USDC', '/pulse/BTC%2FUSDC%3AUSDC'],
  // The path refuses what names no coin. With an empty segment it would be another path.
  ['pulse', '/pulse/%20'],
  ['{"analysis":"pulse"}', '/pulse/%20'],
])('%s asks for %s', (words, path) => {
  expect(asked(words)?.split('?')[0]).toBe(path)
})

test('further words are passed on', () => {
  expect(asked('pulse BTC 1h')).toBe('/pulse/BTC?view=compact&1h=')
})

test.each(['what is the weather?', '', '/', 'BTC pulse'])('%j requests nothing', (words) => {
  expect(asked(words)).toBeNull()
})

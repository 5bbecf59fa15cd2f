import { expect, test } from 'vitest'
import { contracts } from '../compute/analyses/registry.ts'
import { unknownPathFacts } from './path-suggestion.ts'

test.each([
  ['/api/pulse/BTC', '/pulse/{coin}'],
  ['/v1/pulse/BTC', '/pulse/{coin}'],
  ['/api/v1/pulse/BTC', '/pulse/{coin}'],
  ['/v2/screener', '/screener'],
  ['/api/v1/puls/BTC', '/pulse/{coin}'],
  ['/puls/BTC', '/pulse/{coin}'],
  ['/pulse', '/pulse/{coin}'],
  ['/v1/track-record/zones', '/track-record/{family}'],
])('%s means %s', (path, meant) => {
  expect(unknownPathFacts(contracts, path).didYouMean?.[0]).toBe(meant)
})

test.each(['/api', '/v1', '/api/v1', '/api/BTC', '/weather/pulse-of-the-city', '/'])(
  '%s means none',
  (path) => {
    expect(unknownPathFacts(contracts, path)).toEqual({
      detail: 'This path does not exist. GET / lists all paths.',
    })
  },
)

test('a prefix is not taken for a pair', () => {
  const { detail } = unknownPathFacts(contracts, '/v1/pulse/BTC')
  expect(detail).toBe('This path does not exist. The path of pulse is /pulse/{coin}.')
  expect(unknownPathFacts(contracts, '/pulse/BTC/USDC').detail).toContain('Write a pair as')
  expect(unknownPathFacts(contracts, '/v1/pulse/BTC/USDC').detail).toContain('Write a pair as')
})

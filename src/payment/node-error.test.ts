import { BaseError, HttpRequestError, RpcRequestError, TimeoutError } from 'viem'
import { describe, expect, test } from 'vitest'
import { nodeReason, nodeSays } from './node-error.ts'

const url = 'https://node.example/v2/provider-key'
const body = { method: 'eth_call', params: ['nonce too low'] }
const refused = (message: string) =>
  new RpcRequestError({ url, body, error: { code: -32_000, message } })

describe('the reason of a failure', () => {
  test.each([
    ['a lost connection', new HttpRequestError({ url, body, details: 'fetch failed' })],
    ['a refusal that names the URL', refused(`over quota: ${url}`)],
    ['silence', new TimeoutError({ url, body })],
    ['an unusable URL', new HttpRequestError({ url, details: `Failed to parse URL from ${url}` })],
    ['a failure inside another', new BaseError('No fee.', { cause: refused(`see ${url}`) })],
    ['an error of the runtime', new TypeError(`Failed to parse URL from ${url}`)],
    ['no error at all', url],
  ])('never holds the URL: %s', (_what, cause) => {
    expect(nodeReason(cause)).not.toContain('provider-key')
  })

  test('holds what the node said', () => {
    expect(nodeReason(new BaseError('No gas.', { cause: refused('insufficient funds') }))).toBe(
      'No gas. insufficient funds',
    )
  })

  test('is of bounded length', () => {
    expect(nodeReason(refused('x'.repeat(10_000)))).toHaveLength(300)
  })
})

test('what a node says is not looked for in what it was asked', () => {
  expect(nodeSays(refused('nonce too low'), /nonce too low/)).toBe(true)
  expect(nodeSays(refused('busy'), /nonce too low/)).toBe(false)
})

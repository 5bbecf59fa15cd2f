import { Readable } from 'node:stream'
import { generatePrivateKey } from 'viem/accounts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { UsageError } from '../config/usage.ts'
import { buy } from './buy.ts'

const accepted = {
  ...{ scheme: 'exact', network: 'eip155:8453', amount: '20000', maxTimeoutSeconds: 120 },
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x00000000000000000000000000000000000000A1',
  extra: { name: 'USD Coin', version: '2' },
}
const quote = btoa(JSON.stringify({ x402Version: 2, resource: { url: 'x' }, accepts: [accepted] }))

test('a declined payment is wrong usage, as the help says, and is not sent', async () => {
  const fetched = vi.fn(
    async () => new Response('{}', { status: 402, headers: { 'payment-required': quote } }),
  )
  vi.stubGlobal('fetch', fetched)
  onTestFinished(() => void vi.unstubAllGlobals())
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(['n\n']) as typeof process.stdin)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const shell = { write: vi.fn(), tell: vi.fn(), isPretty: false, canAsk: true }
  const options = { url: 'http://127.0.0.1:1', maxUsd: 0.1, key: generatePrivateKey() }
  await expect(buy('/pulse/BTC', options, shell)).rejects.toThrow(UsageError)
  expect(fetched, 'the quote only').toHaveBeenCalledTimes(1)
})

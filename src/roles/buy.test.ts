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

test.each([
  [null, 3, 'It is not charged twice'],
  [false, 1, 'Nothing was charged.'],
  [undefined, 1, 'Nothing was charged.'],
])('a refused payment whose 402 says charged: %j exits with %i', async (charged, code, says) => {
  const diagnostics = { reason: 'x', field: null, expected: null, received: null, hint: 'y' }
  const refused = { ...diagnostics, ...(charged !== undefined && { charged }) }
  type Init = { readonly headers: Record<string, string> }
  const fetched = vi.fn(async (_url: string, { headers }: Init) => {
    const body = 'payment-signature' in headers ? { diagnostics: refused } : {}
    return Response.json(body, { status: 402, headers: { 'payment-required': quote } })
  })
  vi.stubGlobal('fetch', fetched)
  onTestFinished(() => void vi.unstubAllGlobals())
  const tell = vi.fn()
  const shell = { write: vi.fn(), tell, isPretty: false, canAsk: false }
  const options = {
    url: 'http://127.0.0.1:1',
    maxUsd: 0.1,
    key: generatePrivateKey(),
    yes: true as const,
  }
  expect(await buy('/pulse/BTC', options, shell)).toBe(code)
  expect(tell.mock.lastCall?.[0]).toContain(says)
  const header = fetched.mock.calls.at(-1)?.[1].headers['payment-signature']
  const resumed = `perpscope buy /pulse/BTC --url http://127.0.0.1:1 --resume ${header}`
  expect(tell.mock.lastCall?.[0].includes(resumed), 'it can be sent again').toBe(code === 3)
  await buy('/pulse/BTC', { ...options, json: true }, shell)
  const report = JSON.parse(String(shell.write.mock.lastCall?.[0]))
  expect('payment' in report).toBe(code === 3)
})

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

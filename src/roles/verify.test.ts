import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { verify } from './verify.ts'

const receipt = { success: true, transaction: '0x1', network: 'eip155:8453' }

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-verify-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'answer.json')
  writeFileSync(path, text)
  return path
}

test('a file may begin with a byte order mark', async () => {
  const path = fileOf(`\ufeff${JSON.stringify({ path: '/pulse/BTC', answer: {}, receipt })}`)
  const written: string[] = []
  expect(await verify(path, { json: true }, (text) => written.push(text))).toBe(1)
  expect(written.join('')).toContain('has no signature')
})

test('a file that gives a member two values is refused', async () => {
  const path = fileOf(`{"answer":{"price":1,"price":2},"receipt":${JSON.stringify(receipt)}}`)
  await expect(verify(path, { json: true }, () => undefined)).rejects.toThrow(
    'The text names "price" twice.',
  )
})

test('a claim that gives a member two values is refused', async () => {
  const claim = { rule: 'vote.trend@1', coin: 'BTC', madeAtMs: 0, horizonMs: 1, statement: {} }
  const path = fileOf(JSON.stringify(claim).replace('{', '{"coin":"ETH",'))
  const given = { url: 'http://127.0.0.1:1' }
  await expect(verify(path, given, () => undefined)).rejects.toThrow('names "coin" twice')
})

describe('the address that a service names for its receipts', () => {
  const text = JSON.stringify({ path: '/pulse/BTC', answer: {}, receipt })
  const serve = (named: unknown) =>
    vi.stubGlobal('fetch', async () => Response.json({ receipt_signer: named }))

  afterEach(() => vi.unstubAllGlobals())

  test.each([['0x1234'], ['key'], [''], [7], [{}]])('%j is refused', async (named) => {
    serve(named)
    const given = { url: 'http://service.test', json: true } as const
    await expect(verify(fileOf(text), given, () => undefined)).rejects.toThrow(
      'the receipt_signer in http://service.test/.well-known/x402 is not a 0x address',
    )
  })

  test.each([
    { named: null, options: {} },
    { named: undefined, options: {} },
    { named: `0x${'aB'.repeat(20)}`, options: {} },
    { named: 'key', options: { signer: `0x${'1'.repeat(40)}` } },
  ] as const)('$named is not refused with $options', async ({ named, options }) => {
    serve(named)
    const written: string[] = []
    const given = { url: 'http://service.test', json: true, ...options } as const
    await verify(fileOf(text), given, (part) => written.push(part))
    expect(written.join('')).toContain('has no signature')
  })
})

test.each([
  ['--receipt', { receipt: 'e30=' }],
  ['--signer', { signer: `0x${'1'.repeat(40)}` }],
  ['--recording', { recording: 'recording' }],
] as const)('%s is refused for a claim, which has no receipt', async (option, options) => {
  const claim = { rule: 'vote.trend@1', coin: 'BTC', madeAtMs: 0, horizonMs: 1, statement: {} }
  const given = { url: 'http://127.0.0.1:1', ...options }
  await expect(verify(fileOf(JSON.stringify(claim)), given, () => undefined)).rejects.toThrow(
    `${option} is for an answer, and the file contains a claim`,
  )
})

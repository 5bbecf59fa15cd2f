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

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test.each([
  ['1e999', 'The text has the number 1e999, which is not finite.'],
  ['{"deep":[-1e400]}', 'The text has the number -1e400, which is not finite.'],
  [nested(100_000), 'The text is nested more than 100 levels deep.'],
])('an answer with %.20s is refused', async (value, message) => {
  const path = fileOf(`{"answer":{"price":${value}},"receipt":${JSON.stringify(receipt)}}`)
  await expect(verify(path, { json: true }, () => undefined)).rejects.toThrow(message)
})

test('a claim with a number that is not finite is refused', async () => {
  const claim = { rule: 'vote.trend@1', coin: 'BTC', madeAtMs: 0, horizonMs: 1, statement: {} }
  const path = fileOf(JSON.stringify(claim).replace('{}', '{"probability":1e999}'))
  const given = { url: 'http://127.0.0.1:1' }
  await expect(verify(path, given, () => undefined)).rejects.toThrow('has the number 1e999')
})

test('control characters of a file reach no terminal', async () => {
  const controls = '\u001b[2J\u009b2J\u202e'
  const path = fileOf(
    JSON.stringify({
      path: '/pulse/BTC',
      answer: { coin: controls },
      receipt: {
        ...receipt,
        transaction: controls,
        extensions: {
          'offer-receipt': {
            info: {
              receipt: {
                payload: {
                  ...{ version: 1, network: controls, resourceUrl: `http://s/${controls}` },
                  ...{ payer: controls, issuedAt: 0, transaction: 'other' },
                },
                signature: '0x',
              },
            },
          },
        },
      },
    }),
  )
  const written: string[] = []
  await verify(path, {}, (text) => written.push(text))
  expect(written.join('')).toContain('?[2J')
  expect(written.join('').replaceAll('\n', '')).not.toMatch(/[\p{C}]/u)
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

  test.each([404, 500, 503])('is not taken from an answer %i', async (status) => {
    vi.stubGlobal('fetch', async () => Response.json({ receipt_signer: null }, { status }))
    const given = { url: 'http://service.test', json: true } as const
    await expect(verify(fileOf(text), given, () => undefined)).rejects.toThrow(
      `http://service.test/.well-known/x402 answered ${status}: is --url the address of the service?`,
    )
  })

  test('is not taken from an answer that is no object', async () => {
    vi.stubGlobal('fetch', async () => new Response('<html>'))
    const given = { url: 'http://service.test', json: true } as const
    await expect(verify(fileOf(text), given, () => undefined)).rejects.toThrow(
      'http://service.test/.well-known/x402 answered without JSON: is --url the address of the service?',
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

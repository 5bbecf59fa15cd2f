import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { AnswerProofs, HourAnchor, SealedHour } from '../domain/answer-proof.ts'
import { chainValue } from '../domain/answer-proof.ts'
import { MerkleTree } from '../domain/merkle-tree.ts'
import type { AnswerFile } from '../proof/answer-file.ts'
import { answerText } from '../proof/answer-file.ts'
import { checkInclusion, proofPath } from '../proof/check-inclusion.ts'
import { gatewayFixture } from './testing/gateway-fixture.ts'

const HOUR_MS = Date.UTC(2025, 11, 31, 11)
const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()
const fileOf = (price: number): AnswerFile => ({
  path: '/pulse/BTC',
  answer: { coin: 'BTC', price },
  receipt: { success: true, transaction: '0x1', network: 'eip155:8453', payer: '0x2' },
})
const files = [1, 2, 3].map(fileOf)
const digests = files.map((file) => sha256(Buffer.from(answerText(file))))
const tree = new MerkleTree(digests, sha256)
const before = new Uint8Array(32)
const { root } = tree
const hour: SealedHour = {
  ...{ number: 7, hourMs: HOUR_MS, answers: 3, claims: 0, root },
  chain: chainValue(before, { hourMs: HOUR_MS, root }, sha256),
}

const anchor: HourAnchor = {
  ...{ network: 'eip155:8453', transaction: '0xabc', chain: hour.chain, following: [] },
}

/** Answers 1 to 3 in a sealed hour, answer 4 in the open one. */
const proofsWith = (anchored: HourAnchor | null): AnswerProofs => ({
  hours: async (asked) =>
    asked === null || ('number' in asked ? asked.number > 7 : asked.hourMs > HOUR_MS) ? [hour] : [],
  proofOf: async (digest) => {
    const hex = Buffer.from(digest).toString('hex')
    const kind = 'answer'
    if (proofPath(answerText(fileOf(4))).endsWith(hex))
      return { state: 'open', kind, hourMs: HOUR_MS + 3_600_000 }
    const at = digests.findIndex((one) => Buffer.from(one).toString('hex') === hex)
    if (at === -1) return null
    return { state: 'sealed', kind, hour, before, proof: tree.proof(at), anchor: anchored }
  },
})
const proofs = proofsWith(null)

async function checkOf(
  file: AnswerFile,
  change: (body: Record<string, unknown>) => unknown = (b) => b,
) {
  const { app } = gatewayFixture({ proofs })
  const response = await app.inject(proofPath(answerText(file)))
  return checkInclusion(answerText(file), response.statusCode, change(response.json()))
}

describe('the proof of an answer', () => {
  test.each(files)('of a sealed hour leads to its root: $answer.price', async (file) => {
    expect(await checkOf(file)).toMatchObject({ id: 'inclusion', verdict: 'holds' })
  })

  test.each([
    ['another root', { root: 'ab'.repeat(32) }],
    ['another hour', { hour_iso: '2025-12-31T10:00:00.000Z' }],
    ['another chain', { chain_before: 'ab'.repeat(32) }],
    ['another place', { position: 1 }],
    ['another path', { path: ['ab'.repeat(32), 'cd'.repeat(32)] }],
  ])('fails for %s', async (_what, members) => {
    expect(await checkOf(fileOf(1), (body) => ({ ...body, ...members }))).toMatchObject({
      verdict: 'fails',
    })
  })

  test.each([
    ['of the open hour is open', 4, 'open'],
    ['of an answer that the log does not know is open', 5, 'open'],
  ] as const)('%s', async (_what, price, verdict) => {
    expect(await checkOf(fileOf(price))).toMatchObject({ verdict })
  })

  test.each([
    ['no proof', 200, {}],
    ['a member of another type', 200, { state: 'sealed', path: 'x' }],
    ['a service without proofs', 404, null],
    ['an error', 500, null],
  ])('is open for %s', (_what, status, body) => {
    expect(checkInclusion(answerText(fileOf(1)), status, body)).toMatchObject({ verdict: 'open' })
  })

  test('is cached for an hour once it is sealed, and permanently once it is anchored', async () => {
    const cachingOf = async (price: number, anchored: HourAnchor | null = null) => {
      const { app } = gatewayFixture({ proofs: proofsWith(anchored) })
      return (await app.inject(proofPath(answerText(fileOf(price))))).headers['cache-control']
    }
    expect(await cachingOf(1, anchor)).toContain('immutable')
    expect(await cachingOf(1)).toBe('public, max-age=3600')
    expect(await cachingOf(4)).toBe('no-store')
    expect(await cachingOf(5)).toBe('no-store')
  })

  test.each([
    '/proof/abc',
    '/proof?before=yesterday',
    '/proof?before=0',
    '/proof?before=2026-02-30T00:00:00Z',
    '/proof?before=1&before=2',
    '/proof?before=',
    '/proof?after=1',
  ])('is refused for %s', async (url) => {
    const { app } = gatewayFixture({ proofs })
    expect((await app.inject(url)).statusCode).toBe(400)
  })
})

test('the list of hours has root and chain of each, newest first', async () => {
  const { app } = gatewayFixture({ proofs })
  expect((await app.inject('/proof')).json()).toEqual({
    hours: [
      {
        number: 7,
        hour_iso: '2025-12-31T11:00:00.000Z',
        answers: 3,
        claims: 0,
        root: Buffer.from(root).toString('hex'),
        chain: Buffer.from(hour.chain).toString('hex'),
      },
    ],
    next_before: null,
    next_before_iso: null,
  })
  for (const before of ['2025-12-31T11:00:00Z', '7'])
    expect((await app.inject(`/proof?before=${before}`)).json().hours).toEqual([])
  expect((await app.inject('/proof?before=8')).json().hours).toHaveLength(1)
})

test('an address asks for 60 proofs and lists a minute', async () => {
  const { app } = gatewayFixture({ proofs })
  const path = proofPath(answerText(fileOf(1)))
  for (let call = 0; call < 59; call += 1) await app.inject(path)
  expect((await app.inject('/proof')).statusCode).toBe(200)
  for (const url of [path, '/proof']) {
    const refused = await app.inject(url)
    expect([refused.statusCode, refused.json().code]).toEqual([429, 'rate_limited'])
  }
  expect((await app.inject({ url: path, remoteAddress: '192.0.2.1' })).statusCode).toBe(200)
})

test('a gateway without a proof log has no such path', async () => {
  expect((await gatewayFixture().app.inject('/proof')).statusCode).toBe(404)
})

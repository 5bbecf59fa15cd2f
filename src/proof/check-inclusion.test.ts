import { sha256, stringToBytes } from 'viem'
import { describe, expect, test } from 'vitest'
import { chainValue } from '../domain/answer-proof.ts'
import { MerkleTree } from '../domain/merkle-tree.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { checkAnchor, checkClaim, proofPath } from './check-inclusion.ts'
import { verdictOf } from './check-verdict.ts'
import { readClaimFile } from './claim-file.ts'

const HOUR_MS = 3_600_000
const MADE_MS = Date.UTC(2026, 0, 1, 12, 45)
const TRANSACTION = `0x${'ab'.repeat(32)}`
const NETWORK = 'eip155:8453'

/** As `/track-record/{family}/claims` gives it. */
const published: ResolvedClaim & { readonly sequence: number } = {
  rule: 'zone.touch@1',
  coin: 'kPEPE',
  coinClass: 'mid',
  madeAtMs: MADE_MS,
  horizonMs: 24 * HOUR_MS,
  statement: { form: 'event', probability: 0.4, control: null },
  reference: [-1, 0.0112233, 1e-7, 1e21, 3],
  resolvedAtMs: MADE_MS + 25 * HOUR_MS,
  outcome: { kind: 'event', happened: true, controlHappened: false },
  sequence: 17,
}
/** RFC 8785 of the members that were fixed when it was made, by hand. */
const CANONICAL =
  '{"coin":"kPEPE","coinClass":"mid","horizonMs":86400000,"madeAtMs":1767271500000,' +
  '"reference":[-1,0.0112233,1e-7,1e+21,3],"rule":"zone.touch@1",' +
  '"statement":{"control":null,"form":"event","probability":0.4}}'

const hash = (data: Uint8Array) => sha256(data, 'bytes')
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')
const iso = (timeMs: number) => new Date(timeMs).toISOString()

/** `/proof/{sha256}` of a claim as second of three leaves of an hour, with an hour up to its anchor. */
function proofOf(text: string, hourMs: number) {
  const leaves = ['a', text, 'b'].map((one) => hash(stringToBytes(one)))
  const tree = new MerkleTree(leaves, hash)
  const before = new Uint8Array(32)
  const chain = chainValue(before, { hourMs, root: tree.root }, hash)
  const next = { hourMs: hourMs + HOUR_MS, root: hash(Uint8Array.of(1)) }
  const anchored = chainValue(chain, next, hash)
  const { path, position, size } = tree.proof(1)
  return {
    ...{ state: 'sealed', kind: 'claim', position, size, path: path.map(hex) },
    ...{
      chain_before: hex(before),
      hour_iso: iso(hourMs),
      root: hex(tree.root),
      chain: hex(chain),
    },
    anchor: {
      ...{ network: NETWORK, transaction: TRANSACTION, chain: hex(anchored) },
      following: [{ hour_iso: iso(next.hourMs), root: hex(next.root) }],
    },
  }
}

const fileOf = (claim: unknown) => {
  const file = readClaimFile(JSON.stringify(claim))
  if (file === null) throw new Error('it is a claim')
  return file
}

describe('the proof of a claim', () => {
  const file = fileOf(published)
  const hourMs = Date.UTC(2026, 0, 1, 12)

  test('is of what was stated, without what came later', () => {
    expect(file.text).toBe(CANONICAL)
    expect(proofPath(file.text)).toBe(`/proof/${hex(hash(stringToBytes(CANONICAL)))}`)
  })

  test('holds in the hour in which it was made', () => {
    const step = checkClaim(file, 200, proofOf(CANONICAL, hourMs))
    expect(step).toMatchObject({
      verdict: 'holds',
      text: expect.stringContaining('The service states that hour'),
    })
    expect(verdictOf([step])).toBe('verified')
  })

  test.each([
    ['another probability', { statement: { form: 'event', probability: 0.6, control: null } }],
    ['another level', { reference: [-1, 0.0112234, 1e-7, 1e21, 3] }],
    ['another coin', { coin: 'BTC' }],
    ['another instant', { madeAtMs: MADE_MS + 900_000 }],
  ])('fails for %s', (_what, members) => {
    const changed = fileOf({ ...published, ...members })
    expect(checkClaim(changed, 200, proofOf(CANONICAL, hourMs)).verdict).toBe('fails')
    expect(checkClaim(changed, 200, { state: 'unknown' }).verdict).toBe('open')
  })

  test('fails when it was added after its horizon', () => {
    const step = checkClaim(file, 200, proofOf(CANONICAL, hourMs + 25 * HOUR_MS))
    expect(step).toMatchObject({ verdict: 'fails', text: expect.stringContaining('after') })
  })

  test('of funding fails from the hour that its settlement begins', () => {
    const madeAtMs = Date.UTC(2026, 0, 1, 12, 15)
    const funding = fileOf({
      ...{ ...published, rule: 'funding.next@1', madeAtMs, horizonMs: HOUR_MS },
    })
    const at = (ms: number) => checkClaim(funding, 200, proofOf(funding.text, ms)).verdict
    expect([at(hourMs), at(hourMs + HOUR_MS)]).toEqual(['holds', 'fails'])
  })

  test('names what it covers, because another outcome changes nothing', () => {
    const other = fileOf({ ...published, outcome: { ...published.outcome, happened: false } })
    const { verdict, text } = checkClaim(other, 200, proofOf(other.text, hourMs))
    expect(verdict).toBe('holds')
    expect(text).toContain('outcome, resolvedAtMs and sequence are not covered')
  })

  test('alone is not verified before its hour is sealed', () => {
    expect(verdictOf([checkClaim(file, 200, { state: 'open' })])).toBe('incomplete')
  })

  test.each(['null', '[]', '{', '{"coin":"BTC"}', '{"rule":"a","coin":"b","madeAtMs":"1"}'])(
    'is not read from %s',
    (text) => expect(readClaimFile(text)).toBeNull(),
  )
})

test('a claim that gives a member two values is not read', () => {
  const text = JSON.stringify(published)
  expect(readClaimFile(text)).not.toBeNull()
  expect(readClaimFile(text.replace('{', '{"rule":"vote.other@1",'))).toBeNull()
})

describe('the anchor of a proof', () => {
  const body = proofOf(CANONICAL, Date.UTC(2026, 0, 1, 12))
  const { claim } = fileOf({ ...published, rule: 'vote.trend@1' })
  const endMs = claim.madeAtMs + claim.horizonMs
  const onChain = {
    ...{ network: NETWORK, data: `0x${body.anchor.chain}` },
    minedAtMs: endMs - 1,
  }
  const BEFORE = 'made before its outcome was known'

  test('holds if the hours lead to the data of the transaction', () => {
    const step = checkAnchor(body, onChain, null)
    expect(step).toMatchObject({ id: 'anchored', verdict: 'holds' })
    expect(step.text).toContain(iso(endMs - 1))
    expect(step.text).not.toContain('outcome')
  })

  test('of a claim proves that it was made in time only by the time of the block', () => {
    const at = (minedAtMs: number, rule = claim.rule) =>
      checkAnchor(body, { ...onChain, minedAtMs }, { ...claim, rule })
    expect(at(endMs - 1).text).toContain(BEFORE)
    expect(at(endMs)).toMatchObject({ verdict: 'holds', text: expect.not.stringContaining(BEFORE) })
    for (const rule of ['zone.touch@1', 'slippage.walk@2'] as const)
      expect(at(endMs - 1, rule).text, 'known before the horizon ends').not.toContain(BEFORE)
    const settledMs = Date.UTC(2026, 0, 1, 13)
    expect(at(settledMs - 1, 'funding.next@1').text).toContain(BEFORE)
    expect(at(settledMs, 'funding.next@1').text).not.toContain(BEFORE)
  })

  test('proves no hour by a block of days later', () => {
    const minedAtMs = Date.UTC(2026, 0, 3, 14)
    expect(checkAnchor(body, { ...onChain, minedAtMs }, claim).verdict).toBe('holds')
    expect(checkAnchor(body, { ...onChain, minedAtMs: minedAtMs + 1 }, claim)).toMatchObject({
      ...{ verdict: 'open', text: expect.stringContaining('too late') },
    })
  })

  test.each([
    ['a node that does not know it', body, { ...onChain, data: null }, 'open'],
    [
      'a node of another chain that does not know it',
      body,
      { ...onChain, network: 'eip155:1', data: null },
      'open',
    ],
    ['other data', body, { ...onChain, data: `0x${body.chain}` }, 'fails'],
    ['another chain', body, { ...onChain, network: 'eip155:1' }, 'open'],
    ['no block yet', body, { ...onChain, minedAtMs: null }, 'open'],
    ['a missing hour', { ...body, anchor: { ...body.anchor, following: [] } }, onChain, 'fails'],
    ['another hour', { ...body, chain: body.root }, onChain, 'fails'],
    ['no anchor', { ...body, anchor: null }, null, 'open'],
    [
      'a malformed anchor',
      { ...body, anchor: { ...body.anchor, following: [null] } },
      null,
      'open',
    ],
  ] as const)('with %s', (_what, proof, found, verdict) => {
    expect(checkAnchor(proof, found, null).verdict).toBe(verdict)
  })
})

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesToHex, createTestClient, http, parseGwei, publicActions } from 'viem'
import { base as baseChain } from 'viem/chains'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { gatewayFixture } from '../src/api/testing/gateway-fixture.ts'
import type { VerifyOptions } from '../src/config/verify.ts'
import type { ProofLog } from '../src/domain/answer-proof.ts'
import { claimText } from '../src/domain/claim-text.ts'
import type { Claim } from '../src/domain/track-record.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import type { ProofAnchor } from '../src/payment/evm/proof-anchor.ts'
import type { TransactionCost } from '../src/payment/ledger/transaction-costs.ts'
import { sqliteProofLog } from '../src/payment/sqlite-proof-log.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { verify } from '../src/roles/verify.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { openProofFile } from '../src/store/proof-file.ts'
import { ManualClock } from './support/manual-clock.ts'

const HOUR_MS = 3_600_000
/** Tomorrow: blocks have the time of this machine, and a late one proves no hour. */
const START_MS =
  (Math.floor(systemClock.nowMs() / (24 * HOUR_MS)) + 1) * 24 * HOUR_MS + 12.9 * HOUR_MS
const DEAD_URL = 'http://127.0.0.1:9'

const claim: Claim = {
  ...{ rule: 'vote.trend@1', coin: 'BTC', coinClass: 'majors' },
  ...{ madeAtMs: START_MS - 300_000, horizonMs: 24 * HOUR_MS, reference: [1] },
  statement: { form: 'event', probability: 0.55, control: 0.5 },
}
const digest = createHash('sha256').update(claimText(claim)).digest()

let chain: EvmChain
let folder: string
let clock: ManualClock
let proofs: ProofLog
let anchored: string[]
let failures: unknown[]
let costs: TransactionCost[]

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
})
afterAll(() => chain?.close())

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-anchor-'))
  clock = new ManualClock(START_MS)
  const { db } = openProofFile(join(folder, 'proofs.db'), START_MS)
  proofs = sqliteProofLog(db, () => clock.nowMs())
  anchored = []
  failures = []
  costs = []
  await proofs.add('claim', [digest])
  clock.advance(HOUR_MS)
  await proofs.add('answer', [Buffer.alloc(32, 1)])
  clock.advance(HOUR_MS)
  await proofs.seal()
  onTestFinished(() => {
    db.close()
    rmSync(folder, { recursive: true })
  })
})

function anvil() {
  const transport = http(chain.rpcUrl)
  return createTestClient({ mode: 'anvil', chain: baseChain, transport }).extend(publicActions)
}

/** Anvil calls a block final when 64 follow it. */
async function finalize() {
  await anvil().mine({ blocks: 65 })
}

/** Transactions of the gas account, with those that a block will contain a moment later. */
function sent(): Promise<number> {
  const { address } = chain.accounts.facilitator
  return anvil().getTransactionCount({ address, blockTag: 'pending' })
}

function anchorAt(rpcUrl = chain.rpcUrl): ProofAnchor {
  const { privateKey } = chain.accounts.facilitator
  const recordCost = (cost: TransactionCost) => void costs.push(cost)
  return localFacilitator({ network: base, rpcUrl, privateKey, clock, recordCost }).proofAnchor({
    proofs,
    onAnchored: (transaction) => anchored.push(transaction),
    onFailure: (cause) => failures.push(cause),
  })
}

/** `perpscope verify` of the claim against a gateway with this log. */
async function verified(
  rpcUrl: string,
): Promise<{ code: number; verdict: string; steps: string[]; text: string }> {
  const { app } = gatewayFixture({ proofs })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const file = join(folder, 'claim.json')
  writeFileSync(file, JSON.stringify({ ...claim, resolvedAtMs: 1, sequence: 3 }))
  let output = ''
  const options = { url, rpcUrl, json: true } as VerifyOptions
  const code = await verify(file, options, (text) => {
    output += text
  }).finally(() => app.close())
  const { verdict, steps } = JSON.parse(output) as {
    verdict: string
    steps: { id: string; verdict: string; text: string }[]
  }
  const text = steps.at(-1)?.text ?? ''
  return { code, verdict, steps: steps.map((step) => `${step.id} ${step.verdict}`), text }
}

test('the newest sealed hour is anchored once a day, and verify finds it on the chain', async () => {
  expect(await verified(chain.rpcUrl)).toMatchObject({
    ...{ code: 0, verdict: 'verified', steps: ['inclusion holds', 'anchored open'] },
  })
  const [one, other] = [anchorAt(), anchorAt()]
  await Promise.all([one.run(), other.run()])
  await other.run()
  expect(failures).toEqual([])
  expect(anchored, 'the block is not final').toEqual([])
  expect(await verified(chain.rpcUrl)).toMatchObject({
    ...{ code: 0, verdict: 'verified', steps: ['inclusion holds', 'anchored open'] },
  })
  await finalize()
  await one.run()
  const [hour] = await proofs.hours(null, 1)
  expect(new Set(anchored).size, 'one of the two sends').toBe(1)
  const [transaction] = anchored
  expect(costs).toMatchObject([{ transaction, payments: 0 }])
  expect(costs[0]?.fee).toBeGreaterThan(0n)
  const onChain = await anvil().getTransaction({ hash: transaction as `0x${string}` })
  expect(onChain).toMatchObject({ input: bytesToHex(hour?.chain ?? new Uint8Array()), value: 0n })
  expect(onChain.to).toBe(onChain.from)
  const { gasUsed } = await anvil().getTransactionReceipt({ hash: onChain.hash })
  expect(gasUsed).toBeLessThanOrEqual(30_000n)
  expect(await verified(chain.rpcUrl)).toMatchObject({
    ...{ code: 0, verdict: 'verified', steps: ['inclusion holds', 'anchored holds'] },
    text: expect.stringContaining('made before its outcome was known'),
  })
  // Another hour on the same day waits for the next one.
  await proofs.add('answer', [Buffer.alloc(32, 2)])
  clock.advance(2 * HOUR_MS)
  await proofs.seal()
  const before = await sent()
  await one.run()
  expect(await sent()).toBe(before)
  clock.advance(24 * HOUR_MS)
  await one.run()
  expect(failures).toEqual([])
  expect(await sent()).toBe(before + 1)
  await anvil().mine({ blocks: 1 })
  clock.advance(24 * HOUR_MS)
  await one.run()
  expect(await proofs.openAnchors(), 'a block has it, so it is not given up').toHaveLength(1)
})

test('a node that is down and fees above the limit put the anchor off, and nothing is spent', async () => {
  await anchorAt(DEAD_URL).run()
  expect(failures).toHaveLength(1)
  expect(await proofs.openAnchors()).toEqual([])
  const before = await sent()
  const setFee = async (gwei: string) => {
    await anvil().setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei(gwei) })
    await anvil().mine({ blocks: 1 })
  }
  onTestFinished(() => setFee('1'))
  await setFee('8')
  const anchor = anchorAt()
  await anchor.run()
  expect(failures.at(-1)).toMatchObject({ code: 'gas_too_dear' })
  expect(await sent()).toBe(before)
  await setFee('1')
  clock.advance(60_000)
  await anchor.run()
  await finalize()
  await anchor.run()
  expect(anchored).toHaveLength(1)
})

test('a transaction with other data contradicts the proof', async () => {
  const day = Math.floor(clock.nowMs() / 86_400_000)
  await proofs.beginAnchor(day, base.network)
  await anchorAt().run()
  expect(anchored, 'the day is taken').toEqual([])
  const hash = await anvil().sendUnsignedTransaction({
    from: chain.accounts.facilitator.address,
    to: chain.accounts.facilitator.address,
    data: `0x${'ab'.repeat(32)}`,
  })
  await proofs.anchorSent(day, hash)
  await finalize()
  await anchorAt().run()
  expect(anchored).toEqual([hash])
  expect(await verified(chain.rpcUrl)).toMatchObject({
    ...{ code: 1, verdict: 'contradicted', steps: ['inclusion holds', 'anchored fails'] },
  })
})

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex, PublicClient } from 'viem'
import { createPublicClient, createTestClient, custom, http, publicActions, toHex } from 'viem'
import { base as baseChain } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { chainOutcome } from '../src/payment/evm/chain-outcome.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { PaidHost } from '../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { ManualClock } from './support/manual-clock.ts'
import { promptClock } from './support/prompt-clock.ts'
import { putUsdc } from './support/usdc-balance.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Validity of the payments in these tests. */
const VALID_SECONDS = 120
const lost = { kind: 'unknown', reason: 'the reply was lost', transaction: null } as const

// Each test has its own chain, because chain time cannot be set back.
let chain: EvmChain
let clock: ManualClock
const hosts: PaidHost[] = []
const folders: string[] = []

beforeEach(async () => {
  chain = await startEvmChain({ clock: systemClock })
  clock = new ManualClock(systemClock.nowMs())
})

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
  await chain.close()
})

const node = () =>
  createTestClient({
    mode: 'anvil',
    chain: baseChain,
    transport: http(chain.rpcUrl),
  }).extend(publicActions)

/** A facilitator without memory, as after a restart. */
const local = () =>
  localFacilitator({
    network: base,
    rpcUrl: chain.rpcUrl,
    privateKey: chain.accounts.facilitator.privateKey,
    clock: promptClock,
  })

async function hosted(facilitator: Facilitator<ExactEvmPayment>, ledgerPath?: string) {
  const host = await startPaidHost({
    payTo: chain.accounts.merchant.address,
    facilitator,
    clock,
    ...(ledgerPath === undefined ? {} : { ledgerPath }),
  })
  hosts.push(host)
  return host
}

/** @returns a function that sends the same payment at each call. */
async function purchase() {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, 10n * PRICE)
  const nowSeconds = Math.floor(clock.nowMs() / SECOND_MS)
  const payload = await signedPayload(buyer, {
    amount: PRICE,
    payTo: chain.accounts.merchant.address,
    nowMs: clock.nowMs(),
    validBeforeSeconds: BigInt(nowSeconds + VALID_SECONDS),
  })
  const headers = { 'x-payment': encodedPayment(payload) }
  const send = async (host: PaidHost) => {
    const response = await fetch(`${host.url}/pulse/BTC`, { headers })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  return { send, validBeforeSeconds: nowSeconds + VALID_SECONDS }
}

/** Mines the next block with that time. */
async function blockAt(seconds: number) {
  await node().setNextBlockTimestamp({ timestamp: BigInt(seconds) })
  await node().mine({ blocks: 1 })
}

describe('a payment whose settlement has no verdict', () => {
  test('is open for as long as the blocks stand still, whatever our clock says', async () => {
    const host = await hosted({ ...local(), settle: async () => lost })
    const { send, validBeforeSeconds } = await purchase()
    expect((await send(host)).status).toBe(503)
    clock.advance(60 * MINUTE_MS)
    expect((await send(host)).status, 'a block may still have the time of before').toBe(503)
    await blockAt(validBeforeSeconds + 60)
    expect((await send(host)).status).toBe(503)
    await blockAt(validBeforeSeconds + 61)
    const refused = await send(host)
    expect(refused.status).toBe(402)
    expect(refused.body.diagnostics.reason).toMatch(/payment_expired/)
    expect(await host.ledger.counts()).toMatchObject({ released: 1, unknown: 0, settling: 0 })
  })

  test('is paid by the first block after a standstill that outlived our crash', async () => {
    const [before, after] = [newFolder(), newFolder()]
    const crashing = await hosted(local(), join(before, 'ledger.db'))
    const { send } = await purchase()
    await node().setAutomine(false)
    const cutOff = send(crashing)
    await expect.poll(async () => (await node().getTxpoolStatus()).pending).toBe(1)
    cpSync(before, after, { recursive: true })
    clock.advance(VALID_SECONDS * SECOND_MS + 2 * MINUTE_MS)
    await cutOff

    const restarted = await hosted(
      { ...local(), settle: async () => lost },
      join(after, 'ledger.db'),
    )
    expect((await send(restarted)).status, 'a 402 would make the buyer pay twice').toBe(503)
    await node().mine({ blocks: 1 })
    const paid = await send(restarted)
    expect(paid.status).toBe(200)
    expect(paid.body, 'the stored answer').toEqual({ coin: { coin: 'BTC' }, run: 1 })
  })

  test('has its answer for a buyer who comes back long after it was found settled', async () => {
    const facilitator = local()
    let [asked, answered] = [0, 0]
    const host = await hosted({
      ...facilitator,
      settle: async (payment) => {
        await facilitator.settle(payment)
        return lost
      },
      outcome: async (payment) => {
        if (clock.nowMs() < openUntilMs) return { kind: 'unknown', reason: 'the node is down' }
        asked += 1
        return facilitator.outcome(payment).finally(() => {
          answered += 1
        })
      },
    })
    const openUntilMs = clock.nowMs() + 30 * MINUTE_MS
    const { send } = await purchase()
    expect((await send(host)).status).toBe(503)
    clock.advance(30 * MINUTE_MS)
    const settled = async () => {
      // No time passes while the chain is asked, or the request would time out on a busy machine.
      if (asked === answered) clock.advance(SECOND_MS)
      return (await host.ledger.counts()).settled
    }
    await expect.poll(settled).toBe(1)
    clock.advance(24 * 60 * MINUTE_MS)
    const paid = await send(host)
    expect(paid.status).toBe(200)
    expect(paid.body).toEqual({ coin: { coin: 'BTC' }, run: 1 })
  })
})

test('the use of a nonce is found however long ago it was, and where few blocks can be searched at once', async () => {
  const facilitator = local()
  const seen: ExactEvmPayment[] = []
  const host = await hosted({
    ...facilitator,
    settle: (payment, finality) => {
      seen.push(payment)
      return facilitator.settle(payment, finality)
    },
  })
  const { send } = await purchase()
  expect((await send(host)).status).toBe(200)
  const [payment] = seen
  if (payment === undefined) throw new Error('it was settled')
  for (const atOnce of [1_000n, 500n, 10n, 5n])
    for (const blocks of [0n, 5n, 60n, 9_100n, 1_000_000n]) {
      const outcome = await chainOutcome(await later(blocks, atOnce), payment)
      expect(outcome, `after ${blocks} blocks, ${atOnce} at once`).toMatchObject({
        kind: 'settled',
      })
    }
  const { chain: network, authorization } = payment
  const lasting = { ...authorization, validBefore: authorization.validBefore + 80_000n }
  for (const atOnce of [10_000n, 1_000n])
    expect(
      await chainOutcome(await later(20_000n, atOnce), {
        ...{ ...payment, chain: network, authorization: lasting },
      }),
      `before its expiry, ${atOnce} at once`,
    ).toMatchObject({ kind: 'settled' })
})

/** The chain after a number of empty blocks, at a provider with a limited range of log searches. */
async function later(blocks: bigint, atOnce: bigint): Promise<PublicClient> {
  const client = node()
  const ask = (method: string, params: unknown) =>
    client.request({ method, params } as never) as Promise<object>
  const last = await client.getBlock()
  const headOf = async (number: bigint) => ({
    ...(await ask('eth_getBlockByNumber', ['latest', false])),
    number: toHex(number),
    timestamp: toHex(last.timestamp + 2n * (number - last.number)),
  })
  const answer = async (method: string, params: unknown) => {
    const [one, at] = params as [{ fromBlock: Hex; toBlock: Hex } & Hex, Hex]
    if (method === 'eth_getBlockByNumber') {
      const number = String(one) === 'latest' ? last.number + blocks : BigInt(one)
      if (number > last.number) return headOf(number)
    }
    if (method === 'eth_call' && BigInt(at) > last.number) return ask(method, [one, 'latest'])
    if (method === 'eth_getLogs') {
      const [from, to] = [BigInt(one.fromBlock), BigInt(one.toBlock)]
      if (to - from >= atOnce) throw new Error('the range is too large')
      if (from > last.number) return []
      const toBlock = toHex(to > last.number ? last.number : to)
      return ask(method, [{ ...(one as object), toBlock }])
    }
    return ask(method, params)
  }
  return createPublicClient({
    transport: custom(
      { request: ({ method, params }) => answer(method, params) },
      { retryCount: 0 },
    ),
  })
}

function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'perpscope-chain-time-'))
  folders.push(path)
  return path
}

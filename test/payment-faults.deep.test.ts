import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import Fastify from 'fastify'
import type { Hex } from 'viem'
import { createPublicClient, createTestClient, createWalletClient, http, publicActions } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { chainOutcome } from '../src/payment/evm/chain-outcome.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { httpFacilitator } from '../src/payment/facilitators/http-facilitator.ts'
import { decodeEnvelope } from '../src/payment/payload.ts'
import type { Facilitator, Payment } from '../src/payment/payment.ts'
import { termsOf } from '../src/payment/terms.ts'
import type { PaymentChoices } from '../src/payment/testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { eventText } from '../src/payment/testing/event-text.ts'
import type { PaidHost, PaidHostOptions } from '../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { ManualClock } from './support/manual-clock.ts'
import { minedReceipt } from './support/mined-receipt.ts'
import { promptClock } from './support/prompt-clock.ts'
import { putUsdc } from './support/usdc-balance.ts'

const FUNDS = 1_000_000n
const STRANGER = '0x000000000000000000000000000000000000dEaD'
let chain: EvmChain
/** URL without a listener. */
let nowhere: string
let local: Facilitator<ExactEvmPayment>
const opened: { close(): Promise<unknown> }[] = []
const folders: string[] = []

beforeAll(async () => {
  nowhere = `http://127.0.0.1:${await freePort()}`
  chain = await startEvmChain({ clock: systemClock })
  local = localFacilitator({
    network: base,
    rpcUrl: chain.rpcUrl,
    privateKey: chain.accounts.facilitator.privateKey,
    clock: promptClock,
  })
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

afterAll(() => chain?.close())

async function hosted(options: Partial<PaidHostOptions> = {}): Promise<PaidHost> {
  const host = await startPaidHost({
    payTo: chain.accounts.merchant.address,
    facilitator: local,
    clock: new ManualClock(systemClock.nowMs()),
    ...options,
  })
  opened.push(host)
  return host
}

async function fundedBuyer(funds = FUNDS): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, funds)
  return buyer
}

async function paymentOf(buyer: PrivateKeyAccount, choices: Partial<PaymentChoices> = {}) {
  const payTo = chain.accounts.merchant.address
  const nowMs = systemClock.nowMs()
  return encodedPayment(await signedPayload(buyer, { amount: PRICE, payTo, nowMs, ...choices }))
}

async function buy(host: PaidHost, payment: string, path = '/pulse/BTC') {
  const response = await fetch(host.url + path, { headers: { 'x-payment': payment } })
  const { status, headers } = response
  const text = await response.text()
  return { status, headers, text, problem: () => JSON.parse(text) }
}

/** Client of the chain's node. */
const chainNode = () => createPublicClient({ transport: http(chain.rpcUrl) })
/** Outcome of a payment on chain. */
const onChain = (payment: ExactEvmPayment) => chainOutcome(chainNode(), payment)

const balanceOf = (buyer: PrivateKeyAccount) => chain.balanceOf(buyer.address)

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'perpscope-ledger-'))
  folders.push(path)
  return path
}

/** A promise and its resolve function. */
function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

const never = new Promise<never>(() => undefined)

/** The SDK's own facilitator behind its HTTP interface, with a switch for each way to fail. */
async function facilitatorService(
  account = privateKeyToAccount(chain.accounts.facilitator.privateKey),
) {
  const wallet = createWalletClient({
    account,
    chain: baseChain,
    transport: http(chain.rpcUrl),
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: (args) => wallet.getCode(args),
    readContract: (args) => wallet.readContract(args as Parameters<typeof wallet.readContract>[0]),
    verifyTypedData: (args) =>
      wallet.verifyTypedData(args as Parameters<typeof wallet.verifyTypedData>[0]),
    writeContract: (args) =>
      wallet.writeContract(args as unknown as Parameters<typeof wallet.writeContract>[0]),
    sendTransaction: (args) => wallet.sendTransaction(args),
    waitForTransactionReceipt: ({ hash }) => minedReceipt(wallet, hash),
  })
  const facilitator = registerExactEvmScheme(new x402Facilitator(), {
    signer,
    networks: 'eip155:8453',
  })
  type Call = { paymentPayload: never; paymentRequirements: never }
  const faults = { settle: 'none' as 'none' | 'cut before' | 'cut after' | 'status 500' }
  const app = Fastify({ forceCloseConnections: true })
  app.post<{ Body: Call }>('/verify', ({ body }) =>
    facilitator.verify(body.paymentPayload, body.paymentRequirements),
  )
  app.post<{ Body: Call }>('/settle', async ({ body }, reply) => {
    const fault = faults.settle
    if (fault === 'status 500') return reply.code(500).send('upstream trouble')
    if (fault === 'cut before') return reply.hijack().raw.destroy()
    const answer = await facilitator.settle(body.paymentPayload, body.paymentRequirements)
    if (fault === 'cut after') return reply.hijack().raw.destroy()
    return answer
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  opened.push(app)
  return { url, faults }
}

/** A proxy to the chain's node that fails after a number of answers. */
async function dyingNode() {
  let left = 0
  let hasDied = false
  const app = Fastify({ forceCloseConnections: true })
  app.post('/', async ({ body }, reply) => {
    if (left === 0) {
      hasDied = true
      return reply.hijack().raw.destroy()
    }
    left -= 1
    const headers = { 'content-type': 'application/json' }
    return (
      await fetch(chain.rpcUrl, { method: 'POST', headers, body: JSON.stringify(body) })
    ).json()
  })
  opened.push(app)
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    dieAfter: (answers: number) => {
      left = answers
      hasDied = false
    },
    get hasDied() {
      return hasDied
    },
  }
}

/** A false reply of a node. */
type Lie = {
  readonly method: string | readonly string[]
  /** Whether the request still reaches the node. */
  readonly forwarded: boolean
  /** Awaited in place of the node's own reply, which can need a block. */
  readonly arrived?: () => Promise<unknown>
  /** null: the connection is cut. */
  readonly error: { readonly code: number; readonly message: string } | null
  /** Sent as a regular result. */
  readonly result?: string
  readonly status?: number
  /** Number of false replies; unlimited if absent. */
  readonly times?: number
}

const PROVIDER_KEY = 'f00dfeed'

/** Methods that submit a transaction, with and without waiting for its block. */
const broadcasts = ['eth_sendRawTransactionSync', 'eth_sendRawTransaction'] as const

/** The chain's node behind a provider that sends one kind of false reply at a time. */
async function lyingNode(offered: readonly string[] = broadcasts) {
  let lie: Lie | null = null
  let sentLies = 0
  const app = Fastify({ forceCloseConnections: true })
  type Body = { readonly id: number; readonly method: string; readonly params?: readonly unknown[] }
  app.post<{ Body: Body }>(`/${PROVIDER_KEY}`, async (request, reply) => {
    const { body } = request
    if (broadcasts.some((method) => method === body.method) && !offered.includes(body.method)) {
      const error = { code: -32_601, message: 'the method does not exist' }
      return reply.send({ jsonrpc: '2.0', id: body.id, error })
    }
    // Support of the method is probed with an empty transaction.
    const isProbe = body.params?.[0] === '0x'
    const forward = async () => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      return (await fetch(chain.rpcUrl, init)).json()
    }
    if (lie === null || isProbe || sentLies === lie.times) return forward()
    if (![lie.method].flat().includes(body.method)) return forward()
    sentLies += 1
    const { forwarded, arrived, error, result, status = 200 } = lie
    if (forwarded) {
      const reply = forward()
      if (arrived === undefined) await reply
      else {
        reply.catch(() => undefined)
        await arrived()
      }
    }
    if (result !== undefined) return reply.send({ jsonrpc: '2.0', id: body.id, result })
    if (error === null) return reply.hijack().raw.destroy()
    return reply.code(status).send({ jsonrpc: '2.0', id: body.id, error })
  })
  opened.push(app)
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/${PROVIDER_KEY}`
  const { privateKey } = chain.accounts.facilitator
  return {
    url,
    /** A new one each time, as after a restart, without memory of a settlement. */
    facilitator: () =>
      localFacilitator({ network: base, rpcUrl: url, privateKey, clock: promptClock }),
    inject: (next: Lie | null) => {
      lie = next
      sentLies = 0
    },
  }
}

/** Mines blocks only on request until the test ends. */
async function withoutBlocks() {
  const client = createTestClient({
    mode: 'anvil',
    chain: baseChain,
    transport: http(chain.rpcUrl),
  })
  const resume = async () => {
    await client.setAutomine(true)
    await client.mine({ blocks: 1 })
  }
  await client.setAutomine(false)
  onTestFinished(resume)
  const pending = async () => (await client.getTxpoolStatus()).pending
  return { resume, pending }
}

describe('a facilitator over HTTP', () => {
  test('receives our authorization', async () => {
    const seen: unknown[] = []
    const service = Fastify({ forceCloseConnections: true })
    service.post('/:operation', ({ headers, url }) => {
      seen.push([url, headers.authorization])
      return { isValid: false, invalidReason: 'x', success: false, errorReason: 'x' }
    })
    opened.push(service)
    const url = await service.listen({ host: '127.0.0.1', port: 0 })
    const facilitator = httpFacilitator({ url, clock: systemClock, authorization: 'Bearer us' })
    const payment = signedPaymentOf(await paymentOf(newBuyer()))
    await facilitator.verify(payment)
    await facilitator.settle(payment)
    expect(seen).toEqual([
      ['/verify', 'Bearer us'],
      ['/settle', 'Bearer us'],
    ])
  })

  test('verifies and settles', async () => {
    const { url } = await facilitatorService()
    const host = await hosted({ facilitator: httpFacilitator({ url, clock: systemClock }) })
    const buyer = await fundedBuyer()
    expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('refuses a poor wallet with its reason', async () => {
    const { url } = await facilitatorService()
    const host = await hosted({ facilitator: httpFacilitator({ url, clock: systemClock }) })
    const { status, problem } = await buy(host, await paymentOf(newBuyer()))
    expect(status).toBe(402)
    expect(problem().diagnostics.reason).toMatch(/insufficient_balance/)
  })

  test('that is down costs nothing, and the same payment is accepted once it is back', async () => {
    const { url } = await facilitatorService()
    const lost = httpFacilitator({ url: nowhere, clock: systemClock })
    const found = httpFacilitator({ url, clock: systemClock })
    let down = true
    const host = await hosted({
      facilitator: {
        verify: (payment) => (down ? lost : found).verify(payment),
        settle: (payment) => found.settle(payment),
        outcome: (payment) => found.outcome(payment),
      },
    })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const refused = await buy(host, payment)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).not.toBeNull()
    expect(refused.problem()).toMatchObject({
      code: 'facilitator_unavailable',
      charged: false,
      payment_reusable: true,
    })
    down = false
    expect((await buy(host, payment)).status).toBe(200)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('that is unreachable at settlement charges nothing either', async () => {
    const { url } = await facilitatorService()
    const found = httpFacilitator({ url, clock: systemClock })
    const host = await hosted({
      facilitator: {
        ...found,
        settle: httpFacilitator({ url: nowhere, clock: systemClock }).settle,
      },
    })
    const buyer = await fundedBuyer()
    const { status, problem } = await buy(host, await paymentOf(buyer))
    expect(status).toBe(503)
    expect(problem()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
    expect(await host.ledger.counts()).toMatchObject({ settling: 0, unknown: 0, released: 1 })
    expect(await balanceOf(buyer)).toBe(FUNDS)
  })

  test.each(['cut before', 'cut after', 'status 500'] as const)(
    'whose settlement ends with "%s" leaves the outcome open until the payment comes back',
    async (fault) => {
      const { url, faults } = await facilitatorService()
      const host = await hosted({
        facilitator: httpFacilitator({ url, clock: systemClock, outcome: onChain }),
      })
      const buyer = await fundedBuyer()
      const payment = await paymentOf(buyer)
      faults.settle = fault
      const open = await buy(host, payment)
      expect(open.status, 'a 402 would make the buyer pay twice').toBe(503)
      expect(open.problem()).toMatchObject({
        code: 'settlement_unknown',
        charged: null,
        payment_reusable: true,
      })
      expect((await host.ledger.counts()).unknown).toBe(1)
      expect((await buy(host, payment, '/pulse/ETH')).status).toBe(409)
      faults.settle = 'none'
      const paid = await buy(host, payment)
      expect(paid.status).toBe(200)
      expect(paid.headers.get('payment-response')).not.toBeNull()
      expect(host.runs(), 'the answer is the stored one').toBe(1)
      expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
    },
  )

  test('without access to the chain never turns an unknown outcome into a 402', async () => {
    const { url, faults } = await facilitatorService()
    const host = await hosted({ facilitator: httpFacilitator({ url, clock: systemClock }) })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    faults.settle = 'cut after'
    expect((await buy(host, payment)).status).toBe(503)
    faults.settle = 'none'
    const again = await buy(host, payment)
    expect(again.status).toBe(503)
    expect(again.problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })
})

describe('a local facilitator', () => {
  test('whose node is down blames itself, not the payment', async () => {
    const { privateKey } = chain.accounts.facilitator
    const host = await hosted({
      facilitator: localFacilitator({
        network: base,
        rpcUrl: nowhere,
        privateKey,
        clock: promptClock,
      }),
    })
    const { status, problem } = await buy(host, await paymentOf(await fundedBuyer()))
    expect(status).toBe(503)
    expect(problem()).toMatchObject({ code: 'facilitator_unavailable', payment_reusable: true })
  })

  test('whose node dies at any moment never rejects a payment', async () => {
    const unhandled: unknown[] = []
    const listener = (cause: unknown) => unhandled.push(cause)
    process.on('unhandledRejection', listener)
    onTestFinished(() => void process.off('unhandledRejection', listener))
    const node = await dyingNode()
    const { privateKey } = chain.accounts.facilitator
    const facilitator = localFacilitator({
      network: base,
      rpcUrl: node.url,
      privateKey,
      clock: promptClock,
    })
    const payment = signedPaymentOf(await paymentOf(await fundedBuyer()))
    const kinds = { verify: new Set<string>(), settle: new Set<string>() }
    for (const operation of ['verify', 'settle'] as const) {
      for (let answers = 0; node.hasDied || answers === 0; answers += 1) {
        node.dieAfter(answers)
        kinds[operation].add((await facilitator[operation](payment)).kind)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    expect(unhandled).toEqual([])
    expect(kinds.verify).toEqual(new Set(['unreachable', 'valid']))
    expect(kinds.settle).not.toContain('rejected')
  })

  test('without gas money blames itself, not the payment', async () => {
    const { privateKey } = chain.accounts.facilitator
    const broke = localFacilitator({
      network: base,
      rpcUrl: chain.rpcUrl,
      privateKey: `0x${privateKey.slice(2).replace(/./g, '7')}`,
      clock: promptClock,
    })
    const host = await hosted({ facilitator: broke })
    const buyer = await fundedBuyer()
    const { status, problem } = await buy(host, await paymentOf(buyer))
    expect(status).toBe(503)
    expect(problem()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
    expect(await balanceOf(buyer)).toBe(FUNDS)
  })

  test('keeps its nonce sequence after a refused transaction', async () => {
    const host = await hosted()
    const [poor, rich] = [await fundedBuyer(PRICE), await fundedBuyer()]
    const drain = signedPaymentOf(await paymentOf(poor))
    expect(await local.settle(drain)).toMatchObject({ kind: 'settled' })
    expect(await local.settle(signedPaymentOf(await paymentOf(poor)))).toMatchObject({
      kind: 'rejected',
    })
    expect((await buy(host, await paymentOf(rich))).status).toBe(200)
  })
})

describe('a transaction that waits for its block', () => {
  const waiting = { code: 'settlement_unknown', charged: null, payment_reusable: true }

  test('keeps its payment pending, also after retries', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const host = await hosted({ clock })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const blocks = await withoutBlocks()
    const first = buy(host, payment)
    await expect.poll(blocks.pending).toBe(1)
    clock.advance(10_000)
    expect((await first).problem()).toMatchObject(waiting)
    const again = await buy(host, payment)
    expect(again.status, 'a 402 would make the buyer pay twice').toBe(503)
    expect(again.problem()).toMatchObject(waiting)
    expect(await blocks.pending()).toBe(1)
    await blocks.resume()
    expect((await buy(host, payment)).status).toBe(200)
    expect(host.runs()).toBe(1)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('keeps it open when the reply to its broadcast was lost', async () => {
    const node = await lyingNode()
    const host = await hosted({ facilitator: node.facilitator() })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const blocks = await withoutBlocks()
    const arrived = () => expect.poll(blocks.pending).toBe(1)
    node.inject({ method: broadcasts, forwarded: true, arrived, error: null })
    expect((await buy(host, payment)).problem()).toMatchObject(waiting)
    node.inject(null)
    expect((await buy(host, payment)).problem()).toMatchObject(waiting)
    await blocks.resume()
    expect((await buy(host, payment)).status).toBe(200)
    expect(host.runs()).toBe(1)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('keeps it open over a crash', async () => {
    const node = await lyingNode()
    const [before, after] = [folder(), folder()]
    const crashing = await hosted({
      ledgerPath: join(before, 'ledger.db'),
      facilitator: node.facilitator(),
    })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const blocks = await withoutBlocks()
    void buy(crashing, payment).catch(() => undefined)
    await expect.poll(blocks.pending).toBe(1)
    cpSync(before, after, { recursive: true })

    const restarted = await hosted({
      ledgerPath: join(after, 'ledger.db'),
      facilitator: node.facilitator(),
    })
    const again = await buy(restarted, payment)
    expect(again.status, 'a 402 would make the buyer pay twice').toBe(503)
    expect(again.problem()).toMatchObject(waiting)
    await blocks.resume()
    const paid = await buy(restarted, payment)
    expect(paid.status).toBe(200)
    expect(JSON.parse(paid.text), 'the stored answer').toEqual({ coin: { coin: 'BTC' }, run: 1 })
    expect(restarted.runs()).toBe(0)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('of a faster stranger does not require a new signature', async () => {
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const blocks = await withoutBlocks()
    void local.settle(signedPaymentOf(payment))
    await expect.poll(blocks.pending).toBe(1)
    const host = await hosted({ facilitator: (await lyingNode()).facilitator() })
    const refused = await buy(host, payment)
    expect(refused.status, 'a 402 would make the buyer pay twice').toBe(409)
    await blocks.resume()
    expect((await buy(host, payment)).status, 'nothing was begun here').toBe(409)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('and is already visible at verification does not require a new signature', async () => {
    const reason = 'invalid_exact_evm_nonce_already_used'
    const verify = async () => ({ kind: 'invalid', reason }) as const
    const host = await hosted({ facilitator: { ...local, verify } })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const used = { code: 'payment_replayed', charged: null }
    expect((await buy(host, payment)).problem()).toMatchObject(used)
    await local.settle(signedPaymentOf(payment))
    expect((await buy(host, payment)).problem(), 'nothing was begun here').toMatchObject(used)
    expect(host.runs()).toBe(0)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('and is dropped by the node does not delay later ones, and is sent again', async () => {
    const sender = localFacilitator({
      network: base,
      rpcUrl: chain.rpcUrl,
      privateKey: chain.accounts.facilitator.privateKey,
      clock: promptClock,
    })
    const [dropped, later] = await Promise.all(
      [1, 2].map(async () => signedPaymentOf(await paymentOf(await fundedBuyer()))),
    )
    if (dropped === undefined || later === undefined) throw new Error('there are two')
    const client = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(chain.rpcUrl),
    })
    const blocks = await withoutBlocks()
    const sent = await sender.settle(dropped, 'broadcast')
    if (sent.kind !== 'broadcast') throw new Error(`it was ${sent.kind}`)
    await client.dropTransaction({ hash: sent.transaction as Hex })
    await blocks.resume()
    expect(await sender.settle(dropped), 'as the follow-up does').toMatchObject({ kind: 'settled' })
    expect(await sender.settle(later)).toMatchObject({ kind: 'settled' })
  })
})

describe.each(broadcasts)('a node that answers %s with an error', (broadcast) => {
  const lying = () => lyingNode([broadcast])
  const errors = [
    { code: -32_603, message: 'Internal error', status: 200 },
    { code: -32_000, message: 'request timed out', status: 200 },
    { code: -32_005, message: 'rate limit exceeded', status: 200 },
    { code: -32_005, message: 'rate limit exceeded', status: 429 },
    { code: -32_000, message: 'unknown transaction state', status: 200 },
  ]
  const nonceTooLow = { code: -32_000, message: 'nonce too low', status: 200 }

  test.each(errors)(
    '$status $code "$message" may have passed it on',
    async ({ status, ...error }) => {
      const node = await lying()
      const host = await hosted({ facilitator: node.facilitator() })
      const buyer = await fundedBuyer()
      const payment = await paymentOf(buyer)
      node.inject({ method: broadcast, forwarded: true, error, status })
      const open = await buy(host, payment)
      expect(open.status).toBe(503)
      expect(open.problem()).toMatchObject({
        code: 'settlement_unknown',
        charged: null,
        payment_reusable: true,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      })
      // On a busy machine the answer arrives before the forwarded transaction is in a block.
      await minedReceipt(chainNode(), open.problem().transaction)
      expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
      node.inject(null)
      expect((await buy(host, payment)).status).toBe(200)
      expect(host.runs()).toBe(1)
      expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
    },
  )

  test.each([...errors, nonceTooLow])(
    '$status $code "$message" may not have',
    async ({ status, ...error }) => {
      const node = await lying()
      const host = await hosted({ facilitator: node.facilitator() })
      const buyer = await fundedBuyer()
      const payment = await paymentOf(buyer)
      node.inject({ method: broadcast, forwarded: false, error, status })
      expect((await buy(host, payment)).problem()).toMatchObject({ code: 'settlement_unknown' })
      expect((await buy(host, payment)).problem()).toMatchObject({ code: 'settlement_unknown' })
      node.inject(null)
      expect((await buy(host, payment)).status).toBe(200)
      expect(host.runs()).toBe(1)
      expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
    },
  )

  test.each(['already known', 'Known transaction', 'AlreadyKnown', 'transaction already imported'])(
    '"%s" has it',
    async (message) => {
      const node = await lying()
      const host = await hosted({ facilitator: node.facilitator() })
      const buyer = await fundedBuyer()
      node.inject({ method: broadcast, forwarded: true, error: { code: -32_000, message } })
      expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
      expect((await buy(host, await paymentOf(buyer))).status, 'the next one').toBe(200)
      expect(await balanceOf(buyer)).toBe(FUNDS - 2n * PRICE)
    },
  )

  // As by a provider that resends a transaction that is already in a block.
  test('of a nonce that its own transaction has used charges once', async () => {
    const node = await lying()
    const host = await hosted({ facilitator: node.facilitator() })
    const buyer = await fundedBuyer()
    node.inject({ method: broadcast, forwarded: true, error: nonceTooLow, times: 1 })
    expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('that is unambiguous has charged nothing', async () => {
    const node = await lying()
    const host = await hosted({ facilitator: node.facilitator() })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const error = { code: -32_000, message: 'insufficient funds for gas * price + value' }
    node.inject({ method: broadcast, forwarded: false, error })
    expect((await buy(host, payment)).problem()).toMatchObject({
      code: 'facilitator_unavailable',
      charged: false,
    })
    expect((await host.ledger.counts()).released).toBe(1)
    node.inject(null)
    expect((await buy(host, payment)).status).toBe(200)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })
})

test('a lagging node that returns a used nonce does not make a sale fail', async () => {
  const node = await lyingNode()
  const host = await hosted({ facilitator: node.facilitator() })
  const buyer = await fundedBuyer()
  const method = 'eth_getTransactionCount'
  node.inject({ method, forwarded: false, error: null, result: '0x0', times: 1 })
  expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
  expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
})

describe('a node that fails before a broadcast', () => {
  test.each([
    { method: 'eth_call', code: -32_603, message: 'Internal error' },
    { method: 'eth_call', code: -32_000, message: 'header not found' },
    { method: 'eth_call', code: -32_005, message: 'rate limit exceeded' },
    { method: 'eth_getBlockByNumber', code: -32_603, message: 'Internal error' },
    { method: 'eth_getTransactionCount', code: -32_603, message: 'Internal error' },
  ])('$method $code "$message" is not held against the buyer', async ({ method, ...error }) => {
    const node = await lyingNode()
    const limits = { paidCallsPerWalletPerMinute: 100, failedPaymentsPerAddressPerMinute: 1 }
    const host = await hosted({ facilitator: node.facilitator(), limits })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    node.inject({ method, forwarded: true, error })
    for (const _ of [1, 2, 3]) {
      const refused = await buy(host, payment)
      expect(refused.status).toBe(503)
      expect(refused.problem()).toMatchObject({
        code: 'facilitator_unavailable',
        charged: false,
        payment_reusable: true,
      })
    }
    node.inject(null)
    expect((await buy(host, payment)).status, 'none counted as a failed payment').toBe(200)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test.each([3, -32_000, -32_603])('but reports a revert with %i is trusted', async (code) => {
    const node = await lyingNode()
    const host = await hosted({ facilitator: node.facilitator() })
    const error = { code, message: 'execution reverted: FiatTokenV2: invalid signature' }
    node.inject({ method: 'eth_call', forwarded: true, error })
    expect((await buy(host, await paymentOf(await fundedBuyer()))).status).toBe(402)
  })
})

test('no reason contains the URL of the node, which may include a key', async () => {
  const node = await lyingNode()
  const { privateKey } = chain.accounts.facilitator
  const lost = localFacilitator({
    network: base,
    rpcUrl: `${nowhere}/${PROVIDER_KEY}`,
    privateKey,
    clock: promptClock,
  })
  const payment = signedPaymentOf(await paymentOf(await fundedBuyer()))
  const results: unknown[] = [
    await lost.verify(payment),
    await lost.settle(payment),
    await lost.outcome(payment),
  ]
  const found = node.facilitator()
  for (const method of ['eth_call', 'eth_getBlockByNumber', ...broadcasts]) {
    for (const error of [null, { code: -32_005, message: `out of quota: ${node.url}` }]) {
      node.inject({ method, forwarded: false, error })
      results.push(await found.verify(payment), await found.settle(payment))
      results.push(await found.outcome(payment))
    }
  }
  expect(results).toContainEqual(expect.objectContaining({ kind: 'unreachable' }))
  expect(results).toContainEqual(expect.objectContaining({ kind: 'unknown' }))
  expect(JSON.stringify(results)).not.toContain(PROVIDER_KEY)
})

describe('a facilitator that hangs', () => {
  test('at verification times out after ten seconds', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const asked = signal()
    const host = await hosted({
      clock,
      facilitator: {
        ...local,
        verify: () => {
          asked.give()
          return never
        },
      },
    })
    const answer = buy(host, await paymentOf(await fundedBuyer()))
    await asked.given
    clock.advance(10_000)
    expect((await answer).problem()).toMatchObject({ code: 'facilitator_unavailable' })
    expect(host.runs()).toBe(0)
  })

  test('at settlement leaves it pending, and its late verdict is accepted', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const [asked, released, late] = [signal(), signal(), signal()]
    const host = await hosted({
      clock,
      facilitator: {
        ...local,
        settle: async (payment) => {
          asked.give()
          await released.given
          const settlement = await local.settle(payment)
          late.give()
          return settlement
        },
      },
    })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const answer = buy(host, payment)
    await asked.given
    clock.advance(10_000)
    expect((await answer).problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    released.give()
    await late.given
    expect((await buy(host, payment)).status).toBe(200)
    expect(await host.ledger.counts()).toMatchObject({ settled: 1, unknown: 0 })
    expect(host.runs()).toBe(1)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })
})

describe('a handler that hangs', () => {
  test('lets copies wait for thirty seconds and no longer', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const atWork = signal()
    const host = await hosted({
      clock,
      atWork: () => {
        atWork.give()
        return never
      },
    })
    const payment = await paymentOf(await fundedBuyer())
    void buy(host, payment, '/slow/BTC').catch(() => undefined)
    await atWork.given
    const waits = vi.spyOn(clock, 'after')
    const copy = buy(host, payment, '/slow/BTC')
    await expect.poll(() => waits.mock.calls.map(([delayMs]) => delayMs)).toContain(30_000)
    clock.advance(30_000)
    expect((await copy).problem()).toMatchObject({ code: 'payment_in_flight', charged: null })
    clock.advance(60_000)
    expect((await buy(host, payment, '/pulse/BTC')).status, 'its sale has lapsed').toBe(200)
  })

  test('and answers after its sale has lapsed is not paid', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const [atWork, finish] = [signal(), signal()]
    const host = await hosted({
      clock,
      atWork: () => {
        atWork.give()
        return finish.given
      },
    })
    const buyer = await fundedBuyer()
    const answer = buy(host, await paymentOf(buyer), '/slow/BTC')
    await atWork.given
    clock.advance(60_000)
    finish.give()
    expect((await answer).problem()).toMatchObject({ code: 'engine_timeout', charged: false })
    expect(await balanceOf(buyer)).toBe(FUNDS)
  })
})

describe('between verification and settlement', () => {
  test('a drained wallet ends in 402 and gets no answer', async () => {
    const buyer = await fundedBuyer(PRICE)
    const drain = signedPaymentOf(await paymentOf(buyer))
    const host = await hosted({
      atWork: async () => {
        await local.settle(drain)
      },
    })
    const { status, text, headers } = await buy(host, await paymentOf(buyer), '/slow/BTC')
    expect(status).toBe(402)
    expect(JSON.parse(text)).toMatchObject({ error: 'payment_invalid' })
    expect(text).not.toContain('run')
    expect(headers.get('etag'), 'nothing of the answer is left').toBeNull()
    expect((await host.ledger.counts()).released).toBe(1)
  })

  test('a stranger who submits the authorization first does not cost the buyer the answer', async () => {
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    const host = await hosted({
      atWork: async () => {
        await local.settle(signedPaymentOf(payment))
      },
    })
    const answer = await buy(host, payment, '/slow/BTC')
    expect(answer.status, eventText(host.events)).toBe(200)
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })

  test('a nonce that is used for another payee is no payment', async () => {
    const buyer = await fundedBuyer()
    const nonce = `0x${'a7'.repeat(32)}` as const
    const elsewhere = signedPaymentOf(await paymentOf(buyer, { nonce, payTo: STRANGER }), STRANGER)
    const host = await hosted({
      atWork: async () => {
        await local.settle(elsewhere)
      },
    })
    const payment = await paymentOf(buyer, { nonce })
    expect((await buy(host, payment, '/slow/BTC')).status).toBe(402)
    expect((await buy(host, payment)).status).toBe(402)
  })

  test('a ledger that cannot be written stops the sale before any money moves', async () => {
    const buyer = await fundedBuyer()
    let host: PaidHost | undefined
    host = await hosted({ atWork: async () => host?.ledger.close() })
    const { status, problem } = await buy(host, await paymentOf(buyer), '/slow/BTC')
    expect(status).toBe(500)
    expect(problem()).toMatchObject({ code: 'internal_error', charged: false })
    expect(await balanceOf(buyer)).toBe(FUNDS)
  })
})

describe('a crash during settlement', () => {
  test.each([
    { what: 'before the transfer', transferred: false },
    { what: 'after the transfer', transferred: true },
  ])('$what loses no answer and charges once', async ({ transferred }) => {
    const [before, after] = [folder(), folder()]
    const stuck = signal()
    const crashing = await hosted({
      ledgerPath: join(before, 'ledger.db'),
      facilitator: {
        ...local,
        settle: async (payment) => {
          if (transferred) await local.settle(payment)
          stuck.give()
          return never
        },
      },
    })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    void buy(crashing, payment).catch(() => undefined)
    await stuck.given
    // Copies the current files, as a killed process leaves them.
    cpSync(before, after, { recursive: true })

    const restarted = await hosted({ ledgerPath: join(after, 'ledger.db') })
    expect((await restarted.ledger.counts()).unknown).toBe(1)
    const copies = await Promise.all([1, 2, 3].map(() => buy(restarted, payment)))
    for (const { status, text } of copies) {
      expect(status).toBe(200)
      expect(JSON.parse(text)).toEqual({ coin: { coin: 'BTC' }, run: 1 })
    }
    expect(restarted.runs(), 'the stored answer was sent').toBe(0)
    expect(await restarted.ledger.counts()).toMatchObject({ settled: 1, settling: 0 })
    expect(await balanceOf(buyer)).toBe(FUNDS - PRICE)
  })
})

test('a payment whose buyer never returns is reconciled in the ledger after a crash', async () => {
  const [before, after] = [folder(), folder()]
  const stuck = signal()
  const crashing = await hosted({
    ledgerPath: join(before, 'ledger.db'),
    facilitator: {
      ...local,
      settle: async (payment) => {
        await local.settle(payment)
        stuck.give()
        return never
      },
    },
  })
  void buy(crashing, await paymentOf(await fundedBuyer())).catch(() => undefined)
  await stuck.given
  cpSync(before, after, { recursive: true })
  const clock = new ManualClock(systemClock.nowMs() + 10_000)
  const { ledger } = await hosted({ ledgerPath: join(after, 'ledger.db'), clock })
  await expect.poll(() => ledger.counts()).toMatchObject({ settled: 1, unknown: 0 })
})

/** The payment of a header as the facilitator receives it. */
function signedPaymentOf(
  header: string,
  payTo = chain.accounts.merchant.address,
): ExactEvmPayment & Payment {
  const method = exactEvm({ network: base, payTo, facilitator: local })
  const route = { priceUsdcAtomic: PRICE, description: 'pulse' }
  const [requirement] = termsOf(route, [method]).requirements
  if (requirement === undefined) throw new TypeError('there is one method')
  const { payload } = decodeEnvelope(header)
  return method.read(payload, { requirement, resourceUrl: 'https://api.example.com/' })
}

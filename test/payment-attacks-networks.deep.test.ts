import Fastify from 'fastify'
import type { Address } from 'viem'
import { createTestClient, http, publicActions } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ChannelDigests } from '../src/payment/channels/channel.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { base } from '../src/payment/evm/networks.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { ChannelDesk } from '../src/payment/testing/channel-rig.ts'
import {
  channelConfig,
  channelPayment,
  openChannelDesk,
  signedDeposit,
  signedVoucher,
} from '../src/payment/testing/channel-rig.ts'
import type { PaidHost, PaidHostOptions } from '../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../src/simulator/solana/solana-chain.ts'
import type { Ground } from './support/attacked.ts'
import { FUNDS, startGround } from './support/attacked.ts'
import { promptClock } from './support/prompt-clock.ts'
import type { RpcWire } from './support/rpc-wire.ts'
import { rpcWire } from './support/rpc-wire.ts'
import { solanaRig } from './support/solana-rig.ts'

/** One service with all payment methods, the largest attack surface. */

const DEPOSIT = 1_000_000n

let ground: Ground
let solana: SolanaChain
let rig: ReturnType<typeof solanaRig>
/** Proxy between the channels and their node. */
let wire: RpcWire
let desk: ChannelDesk
let host: PaidHost

beforeAll(async () => {
  ;[ground, solana] = await Promise.all([startGround(), startSolanaChain({ clock: systemClock })])
  rig = solanaRig(solana, promptClock)
})

afterEach(async () => {
  await host?.close()
  desk?.store.close()
  await wire?.close()
})

afterAll(async () => {
  await ground?.close()
  await solana?.close()
})

/** Opened by each test, so that tests are independent. */
async function open(
  paidCallsPerWalletPerMinute = 1_000,
  rpcUrl = ground.chain.rpcUrl,
  limits: PaidHostOptions['limits'] = {},
): Promise<void> {
  const { facilitator, merchant } = ground.chain.accounts
  wire = await rpcWire(rpcUrl)
  desk = openChannelDesk({
    rpcUrl: wire.url,
    key: facilitator.privateKey,
    payTo: merchant.address,
    clock: systemClock,
  })
  host = await startPaidHost({
    payTo: merchant.address,
    facilitator: ground.facilitator,
    methods: [
      exactEvm({ network: base, payTo: merchant.address, facilitator: ground.facilitator }),
      rig.method(rig.facilitator()),
      desk.method,
    ],
    clock: systemClock,
    limits: { paidCallsPerWalletPerMinute, ...limits },
  })
}

async function call(payment: string, path = '/pulse/BTC', header = 'payment-signature') {
  const response = await fetch(host.url + path, { headers: { [header]: payment } })
  return { status: response.status, text: await response.text() }
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

async function exactPayload(buyer: PrivateKeyAccount) {
  const payTo = ground.chain.accounts.merchant.address
  return signedPayload(buyer, { amount: PRICE, payTo, nowMs: systemClock.nowMs() })
}

const channelTerms = () => ({
  payTo: ground.chain.accounts.merchant.address as Address,
  authorizer: ground.chain.accounts.facilitator.address,
})

/** A wallet with a channel of one dollar, of which one price is spent. */
async function channelBuyer() {
  const key = await ground.fundedBuyer(2n * FUNDS)
  const config = channelConfig(key.address, channelTerms())
  const validBefore = BigInt(Math.floor(systemClock.nowMs() / 1_000) + 120)
  const payment = channelPayment(PRICE, channelTerms(), {
    type: 'deposit',
    channelConfig: config,
    voucher: await signedVoucher(key, config, PRICE),
    deposit: await signedDeposit(key, config, DEPOSIT, validBefore),
  })
  expect((await call(payment, '/pulse/FIRST')).status).toBe(200)
  return { key, config }
}

describe('a payment on Solana', () => {
  test('sent 100 times at once is one render and one transfer', async () => {
    await open()
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    const answers = await Promise.all([
      ...times(50, () => call(payment)),
      ...times(50, () => call(payment, '/pulse/BTC', 'x-payment')),
    ])
    expect(answers.map(({ status }) => status)).toEqual(times(100, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(host.runs()).toBe(1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('sent to 50 URLs at once buys one of them', async () => {
    await open()
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    const answers = await Promise.all(times(50, (index) => call(payment, `/pulse/COIN${index}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...times(49, () => 409)])
    expect(host.runs()).toBe(1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })
})

describe('a payment of one kind under the name of another', () => {
  test('is read as what it says that it is, and refused', async () => {
    await open()
    const buyer = await ground.fundedBuyer()
    const onSolana = rig.fundedBuyer()
    const evm = await exactPayload(buyer)
    const sol = JSON.parse(Buffer.from(await rig.paymentOf(onSolana), 'base64').toString())
    const config = channelConfig(buyer.address, channelTerms())
    const voucher = {
      type: 'voucher',
      channelConfig: config,
      voucher: await signedVoucher(buyer, config, PRICE),
    }
    const accepted = (scheme: string, network: string) => ({ ...evm.accepted, scheme, network })
    const labels = [
      evm.accepted,
      accepted('exact', sol.accepted.network),
      accepted('batch-settlement', base.network),
      accepted('batch-settlement', sol.accepted.network),
      sol.accepted,
      { ...sol.accepted, network: base.network },
    ]
    const payloads = [evm.payload, sol.payload, voucher, { ...evm.payload, ...sol.payload }]
    let right = 0
    for (const label of labels) {
      for (const payload of payloads) {
        const isRight =
          (label === evm.accepted && 'authorization' in payload) ||
          (label === sol.accepted && 'transaction' in payload)
        if (isRight) {
          right += 1
          continue
        }
        const { status, text } = await call(
          encodedPayment({ x402Version: 2, accepted: label, payload }),
        )
        expect([400, 402]).toContain(status)
        expect(text).not.toContain('"run"')
      }
    }
    expect(right, 'the rest would be bought').toBe(4)
    expect(host.runs()).toBe(0)
    expect(await ground.spent(buyer)).toBe(0n)
    expect(rig.spent(onSolana)).toBe(0n)
  })

  test('of both kinds at once pays for what its label says, and for nothing else', async () => {
    await open()
    const buyer = await ground.fundedBuyer()
    const onSolana = rig.fundedBuyer()
    const evm = await exactPayload(buyer)
    const sol = JSON.parse(Buffer.from(await rig.paymentOf(onSolana), 'base64').toString())
    const payload = { ...evm.payload, ...sol.payload }
    const { status } = await call(encodedPayment({ ...evm, payload }))
    expect(status).toBe(200)
    expect(await ground.spent(buyer)).toBe(PRICE)
    expect(rig.spent(onSolana)).toBe(0n)
  })
})

describe('a payment channel', () => {
  test('that names a stranger as its payer does not use up the limit of that wallet while the node is silent', async () => {
    await open(2)
    const victim = await ground.fundedBuyer()
    wire.cut()
    for (let tries = 0; tries < 6; tries += 1) {
      const attacker = newBuyer()
      const config = channelConfig(victim.address, channelTerms(), {
        payerAuthorizer: attacker.address,
      })
      const forged = channelPayment(PRICE, channelTerms(), {
        type: 'voucher',
        channelConfig: config,
        voucher: await signedVoucher(attacker, config, PRICE),
      })
      const { text } = await call(forged)
      expect(text).not.toContain('"run"')
    }
    for (const path of ['/pulse/BTC', '/pulse/ETH']) {
      const { status } = await call(encodedPayment(await exactPayload(victim)), path)
      expect(status, 'its own payments, by another scheme').toBe(200)
    }
  })

  test('that anyone funds in the name of a stranger uses none of the limits of that wallet', async () => {
    await open(2, ground.chain.rpcUrl, { identicalFailuresPerMinute: 5 })
    const victim = await ground.fundedBuyer()
    const attacker = newBuyer()
    const config = channelConfig(victim.address, channelTerms(), {
      payerAuthorizer: attacker.address,
    })
    const funded = { balance: 1n, claimed: 0n, withdrawRequestedAtSeconds: 0, refundNonce: 0n }
    const id = new ChannelDigests(base.chainId).channelId(config)
    await desk.store.mirror(id, config, funded, systemClock.nowMs())
    for (let tries = 1n; tries <= 6n; tries += 1n) {
      const uncovered = channelPayment(PRICE, channelTerms(), {
        type: 'voucher',
        channelConfig: config,
        voucher: await signedVoucher(attacker, config, tries * PRICE),
      })
      expect((await call(uncovered)).status).toBeGreaterThanOrEqual(402)
    }
    expect((await call(encodedPayment(await exactPayload(victim)))).status).toBe(200)
  })

  test('does not make us pay gas for refunds that are worth less', async () => {
    await open()
    const { key, config } = await channelBuyer()
    const node = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(ground.chain.rpcUrl),
    }).extend(publicActions)
    const { address } = ground.chain.accounts.facilitator
    const sent = () => node.getTransactionCount({ address, blockTag: 'pending' })
    const before = await sent()
    const voucher = await signedVoucher(key, config, PRICE)
    for (let tries = 0; tries < 20; tries += 1) {
      await call(
        channelPayment(PRICE, channelTerms(), {
          type: 'refund',
          channelConfig: config,
          voucher,
          amount: '1',
        }),
      )
    }
    const transactions = (await sent()) - before
    expect(transactions, 'each costs us more than it moves').toBeLessThanOrEqual(3)
  })

  test('of which the money may be on its way back sells nothing, whatever is asked for again', async () => {
    const node = await fickleNode(ground.chain.rpcUrl)
    await open(1_000, node.url)
    const { key, config } = await channelBuyer()
    const chainControl = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(ground.chain.rpcUrl),
    })
    onTestFinished(() => chainControl.setAutomine(true))
    await chainControl.setAutomine(false)
    const refund = channelPayment(PRICE, channelTerms(), {
      type: 'refund',
      channelConfig: config,
      voucher: await signedVoucher(key, config, PRICE),
    })
    node.isFickle = true
    expect((await call(refund)).status, 'it is with the chain, and no more is known').toBe(503)
    await call(refund)
    node.isFickle = false
    const next = channelPayment(PRICE, channelTerms(), {
      type: 'voucher',
      channelConfig: config,
      voucher: await signedVoucher(key, config, 2n * PRICE),
    })
    const { text } = await call(next, '/pulse/ETH')
    await chainControl.setAutomine(true)
    await chainControl.mine({ blocks: 1 })
    await desk.registry.syncAll()
    const [channel] = await desk.store.channels()
    expect(channel?.charged, 'sold and not covered').toBeLessThanOrEqual(channel?.balance ?? 0n)
    expect(text).not.toContain('"run"')
  })

  test('that sells and gives back at the same time never promises more than it holds', async () => {
    await open()
    const { key, config } = await channelBuyer()
    const voucher = await signedVoucher(key, config, PRICE)
    const refund = (amount: string) =>
      channelPayment(PRICE, channelTerms(), {
        type: 'refund',
        channelConfig: config,
        voucher,
        amount,
      })
    const next = async (cumulative: bigint) =>
      channelPayment(PRICE, channelTerms(), {
        type: 'voucher',
        channelConfig: config,
        voucher: await signedVoucher(key, config, cumulative),
      })
    const sales = await Promise.all(times(10, (index) => next(PRICE * BigInt(index + 2))))
    await Promise.all([
      ...times(10, (index) => call(refund(String(900_000 + index)))),
      ...sales.map((payment, index) => call(payment, `/pulse/COIN${index}`)),
    ])
    const runs = host.runs()
    expect(await desk.collector.flush()).toBe(true)
    await desk.registry.syncAll()
    const [channel] = await desk.store.channels()
    if (channel === undefined) throw new TypeError('there is a channel')
    expect(channel.charged).toBeLessThanOrEqual(channel.balance)
    expect(channel.claimed, 'all that was sold is ours').toBe(channel.charged)
    expect(channel.charged).toBeLessThanOrEqual(BigInt(runs) * PRICE)
    const got = await ground.chain.balanceOf(key.address)
    expect(2n * FUNDS - got, 'what it is without is in the channel').toBe(channel.balance)
  })
})

/** While `isFickle`, a node that accepts one transaction, refuses the next ones and returns no receipt. */
async function fickleNode(rpcUrl: string) {
  const node = { url: '', isFickle: false }
  let taken = 0
  const app = Fastify({ forceCloseConnections: true })
  app.post<{ Body: { id: number; method: string } }>('/', async ({ body }, reply) => {
    const { id, method } = body
    if (node.isFickle && method === 'eth_getTransactionReceipt') return reply.hijack().raw.destroy()
    if (node.isFickle && method === 'eth_sendRawTransaction') {
      taken += 1
      const error = { code: -32_000, message: 'replacement transaction underpriced' }
      if (taken > 1) return { jsonrpc: '2.0', id, error }
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(rpcUrl, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.json()
  })
  onTestFinished(() => app.close())
  node.url = await app.listen({ host: '127.0.0.1', port: 0 })
  return node
}

import Fastify from 'fastify'
import type { Hex } from 'viem'
import { createTestClient, createWalletClient, http, pad, publicActions } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../src/domain/clock.ts'
import { examineChain } from '../src/payment/evm/chain-checks.ts'
import { ContractWallets } from '../src/payment/evm/contract-wallets.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { GasFees } from '../src/payment/evm/gas-fees.ts'
import { CONTRACT_GAS_MAX } from '../src/payment/evm/gas-limits.ts'
import type { LocalFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { nodeClient } from '../src/payment/evm/node-client.ts'
import type { TransactionCost } from '../src/payment/ledger/transaction-costs.ts'
import type { Payment, Settlement } from '../src/payment/payment.ts'
import { termsOf } from '../src/payment/terms.ts'
import type { PaymentChoices } from '../src/payment/testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import artefact from '../src/simulator/evm/token/usd-coin.json' with { type: 'json' }
import { ManualClock } from './support/manual-clock.ts'
import { promptClock } from './support/prompt-clock.ts'
import { putUsdc } from './support/usdc-balance.ts'

const FUNDS = 100_000n
/** How long a settlement after another one waits for more. */
const GATHER_MS = 100
const SYNC = 'eth_sendRawTransactionSync'
const PLAIN = 'eth_sendRawTransaction'

let chain: EvmChain
let facilitator: LocalFacilitator
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
  facilitator = facilitatorAt(chain.rpcUrl)
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
})

afterAll(() => chain?.close())

function facilitatorAt(rpcUrl: string, clock: Clock = promptClock): LocalFacilitator {
  const { privateKey } = chain.accounts.facilitator
  return localFacilitator({ network: base, rpcUrl, privateKey, clock })
}

/** With another gas account: equal nonces and fees of one account would make its transaction the same one. */
function otherSender(): LocalFacilitator {
  const { privateKey } = chain.accounts.buyer
  return localFacilitator({ network: base, rpcUrl: chain.rpcUrl, privateKey, clock: promptClock })
}

/** A facilitator that gathers payments for a transaction until the test advances the clock. */
function gathering(url = chain.rpcUrl) {
  const clock = new ManualClock(systemClock.nowMs())
  return {
    by: facilitatorAt(url, clock),
    /**
     * Ends the wait for further payments, once those that came are in it. From then on time passes, because a node that
     * does not show a transaction yet is asked again.
     */
    dispatch: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(GATHER_MS)
      onTestFinished(systemClock.every(GATHER_MS, () => clock.advance(GATHER_MS)))
    },
  }
}

function anvil() {
  const transport = http(chain.rpcUrl)
  return createTestClient({ mode: 'anvil', chain: baseChain, transport }).extend(publicActions)
}

/** A request to a node, and a false reply to it. */
type Question = { readonly id: number; readonly method: string; readonly params?: unknown[] }
type Answer = { readonly result?: unknown; readonly error?: { code: number; message: string } }

/** A proxy to the chain's node that records requests and may answer in its place. */
async function watchedNode(
  answer: (question: Question) => Answer | undefined = () => undefined,
  clock: Clock = promptClock,
) {
  const asked: string[] = []
  const app = Fastify({ forceCloseConnections: true })
  app.post<{ Body: Question }>('/', async ({ body }) => {
    asked.push(body.method)
    const instead = answer(body)
    if (instead !== undefined) return { jsonrpc: '2.0', id: body.id, ...instead }
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(chain.rpcUrl, init)).json()
  })
  opened.push(app)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, asked, facilitator: facilitatorAt(url, clock) }
}

async function fundedBuyer(funds = FUNDS): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, funds)
  return buyer
}

/** A contract wallet that pays with signatures of its owner. */
async function wallet(owner = newBuyer(), funds = FUNDS): Promise<PrivateKeyAccount> {
  const { address } = newBuyer()
  await anvil().setCode({ address, bytecode: artefact.wallet as Hex })
  await anvil().setStorageAt({ address, index: 0, value: pad(owner.address) })
  await putUsdc(chain, address, funds)
  return { ...owner, address }
}

async function signed(buyer: PrivateKeyAccount, choices: Partial<PaymentChoices> = {}) {
  const payTo = chain.accounts.merchant.address
  return signedPayload(buyer, { amount: PRICE, payTo, nowMs: systemClock.nowMs(), ...choices })
}

/** A payment as a facilitator receives it. */
async function paymentOf(
  buyer: PrivateKeyAccount,
  by: LocalFacilitator = facilitator,
): Promise<ExactEvmPayment & Payment> {
  const payTo = chain.accounts.merchant.address
  const method = exactEvm({ network: base, payTo, facilitator: by })
  const { requirements } = termsOf({ priceUsdcAtomic: PRICE, description: 'pulse' }, [method])
  const [requirement] = requirements
  if (requirement === undefined) throw new TypeError('there is one method')
  const { payload } = await signed(buyer)
  return method.read(payload, { requirement, resourceUrl: 'https://api.example.com/' })
}

/** Mines blocks only on request until the test ends. */
async function withoutBlocks() {
  const client = anvil()
  await client.setAutomine(false)
  onTestFinished(async () => {
    await client.setAutomine(true)
    await client.mine({ blocks: 1 })
  })
  return {
    mine: () => client.mine({ blocks: 1 }),
    pending: async () => (await client.getTxpoolStatus()).pending,
  }
}

/** Number of transactions that the facilitator has sent. */
const sentSoFar = () => anvil().getTransactionCount({ address: facilitator.gasAccount })

const transactionOf = (settlement: Settlement) =>
  settlement.kind === 'settled' ? settlement.transaction : settlement

describe('in the good case', () => {
  async function counted() {
    // Also so that what gas costs is not asked again.
    const clock = new ManualClock(systemClock.nowMs())
    const node = await watchedNode(undefined, clock)
    const warm = await paymentOf(await fundedBuyer(), node.facilitator)
    expect(await warm.verify()).toEqual({ kind: 'valid' })
    expect(await warm.settle('confirmed')).toMatchObject({ kind: 'settled' })
    // Until then the next settlement would wait for a batch.
    clock.advance(GATHER_MS)
    const payment = await paymentOf(await fundedBuyer(), node.facilitator)
    node.asked.length = 0
    return { node, payment }
  }

  test('a verification is one simulation and one read of the payer’s code', async () => {
    const { node, payment } = await counted()
    await payment.verify()
    expect(node.asked).toEqual(['eth_call', 'eth_getCode'])
  })

  test('a payment that the chain would refuse costs one request', async () => {
    const { node } = await counted()
    const payment = await paymentOf(newBuyer(), node.facilitator)
    node.asked.length = 0
    expect(await payment.verify()).toMatchObject({ kind: 'invalid' })
    expect(node.asked).toEqual(['eth_call'])
  })

  test.each([
    { finality: 'preconfirmed', asked: [SYNC], kind: 'settled' },
    {
      finality: 'confirmed',
      asked: [SYNC, 'eth_blockNumber', 'eth_getTransactionReceipt'],
      kind: 'settled',
    },
    { finality: 'broadcast', asked: [PLAIN], kind: 'broadcast' },
  ] as const)('a settlement that is $finality asks $asked', async ({ finality, asked, kind }) => {
    const { node, payment } = await counted()
    await payment.verify()
    node.asked.length = 0
    expect(await payment.settle(finality)).toMatchObject({ kind })
    expect(node.asked).toEqual(asked)
  })

  test('a node that cannot wait for a block is asked for the receipt', async () => {
    const node = await watchedNode(({ method }) =>
      method === SYNC ? { error: { code: -32_601, message: 'not found' } } : undefined,
    )
    for (const _ of [1, 2]) {
      const payment = await paymentOf(await fundedBuyer(), node.facilitator)
      await payment.verify()
      expect(await payment.settle('confirmed')).toMatchObject({ kind: 'settled' })
    }
    expect(node.asked.filter((method) => method === SYNC)).toHaveLength(1)
    expect(node.asked.filter((method) => method === PLAIN)).toHaveLength(2)
  })
})

describe('many settlements at once', () => {
  test('all succeed in few transactions, with exact amounts', async () => {
    const { by, dispatch } = gathering()
    const buyers = await Promise.all(Array.from({ length: 60 }, () => fundedBuyer()))
    const payments = await Promise.all(buyers.map((buyer) => paymentOf(buyer, by)))
    for (const verification of await Promise.all(payments.map((payment) => payment.verify())))
      expect(verification).toEqual({ kind: 'valid' })
    const [income, before] = [
      await chain.balanceOf(payments[0]?.authorization.to ?? '0x'),
      await sentSoFar(),
    ]
    const settling = Promise.all(payments.map((payment) => payment.settle('confirmed')))
    await dispatch()
    const settled = await settling
    expect(settled.filter(({ kind }) => kind !== 'settled')).toEqual([])
    expect(await chain.balanceOf(payments[0]?.authorization.to ?? '0x')).toBe(income + 60n * PRICE)
    expect((await sentSoFar()) - before, 'one at once, fifty together, and the rest').toBe(3)
    for (const [index, payment] of payments.entries()) {
      const outcome = await payment.outcome()
      expect(outcome).toEqual({
        kind: 'settled',
        transaction: transactionOf(settled[index] as Settlement),
      })
    }
  })

  test('succeed also if the node shows a transaction late', async () => {
    let isLate = true
    const { url } = await watchedNode(({ method }) => {
      if (method === SYNC) return { error: { code: -32_601, message: 'not found' } }
      if (method !== 'eth_getTransactionReceipt' || !isLate) return undefined
      isLate = false
      return { result: null }
    })
    const { by, dispatch } = gathering(url)
    const payment = await paymentOf(await fundedBuyer(), by)
    expect(await payment.verify()).toEqual({ kind: 'valid' })
    const settling = payment.settle('confirmed')
    await dispatch()
    expect(await settling).toMatchObject({ kind: 'settled' })
    expect(isLate).toBe(false)
  })

  test('one that fails, fails alone', async () => {
    const [first, ...others] = await Promise.all([1, 2, 3, 4, 5].map(() => fundedBuyer(PRICE)))
    if (first === undefined) throw new TypeError('there are five')
    const { by, dispatch } = gathering()
    const payments = await Promise.all(others.map((buyer) => paymentOf(buyer, by)))
    const lead = await paymentOf(first, by)
    for (const payment of [lead, ...payments])
      expect(await payment.verify()).toEqual({ kind: 'valid' })
    const drained = await paymentOf(others[1] as PrivateKeyAccount, by)
    expect(await drained.settle('confirmed')).toMatchObject({ kind: 'settled' })
    await dispatch()
    const settling = Promise.all([lead, ...payments].map((payment) => payment.settle('confirmed')))
    await dispatch()
    const [, good, bad, ...rest] = await settling
    expect(bad).toEqual({ kind: 'rejected', reason: 'insufficient_funds' })
    expect(good).toMatchObject({ kind: 'settled' })
    expect(new Set(rest.map(transactionOf))).toEqual(new Set([transactionOf(good as Settlement)]))
  })

  test('a wallet that burns gas burns only its own', async () => {
    const burner = await wallet()
    const buyers = [await fundedBuyer(), burner, await fundedBuyer(), await fundedBuyer()]
    const payments = await Promise.all(buyers.map((buyer) => paymentOf(buyer)))
    for (const payment of payments) expect(await payment.verify()).toEqual({ kind: 'valid' })
    await anvil().setStorageAt({ address: burner.address, index: 1, value: pad('0x1') })
    const [one, burnt, two, three] = await Promise.all(
      payments.map((payment) => payment.settle('confirmed')),
    )
    expect([one, two, three].map((settlement) => settlement?.kind)).toEqual(
      Array(3).fill('settled'),
    )
    expect(burnt?.kind).not.toBe('settled')
    expect(await chain.balanceOf(burner.address)).toBe(FUNDS)
  })

  test('continue while one waits for its block', async () => {
    const payments = await Promise.all([1, 2].map(async () => paymentOf(await fundedBuyer())))
    const blocks = await withoutBlocks()
    for (const payment of payments) expect(await payment.verify()).toEqual({ kind: 'valid' })
    const settled: Promise<Settlement>[] = []
    for (const [index, payment] of payments.entries()) {
      settled.push(payment.settle('confirmed'))
      await expect.poll(blocks.pending).toBe(index + 1)
    }
    await blocks.mine()
    expect(await Promise.all(settled)).toMatchObject([{ kind: 'settled' }, { kind: 'settled' }])
  })
})

test('another sender with the same key does not make a settlement fail', async () => {
  const [one, two] = [await paymentOf(await fundedBuyer()), await paymentOf(await fundedBuyer())]
  await two.verify()
  expect(await one.settle('confirmed')).toMatchObject({ kind: 'settled' })
  const blocks = await withoutBlocks()
  const { gasAccount: account } = facilitator
  await anvil().impersonateAccount({ address: account })
  const hash = await createWalletClient({
    account,
    chain: baseChain,
    transport: http(chain.rpcUrl),
  }).sendTransaction({ to: account, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n })
  const settled = two.settle('confirmed')
  await expect.poll(blocks.pending).toBe(2)
  await blocks.mine()
  expect(await settled).toMatchObject({ kind: 'settled' })
  expect((await anvil().getTransactionReceipt({ hash })).status).toBe('success')
})

describe('finality', () => {
  test('of a broadcast needs no block, and the same payment is never sent twice', async () => {
    const buyer = await fundedBuyer()
    const blocks = await withoutBlocks()
    const first = await paymentOf(buyer)
    await first.verify()
    const broadcast = await first.settle('broadcast')
    expect(broadcast).toMatchObject({ kind: 'broadcast' })
    expect(await first.settle('confirmed')).toMatchObject({ kind: 'unknown' })
    expect(await first.outcome(), 'nothing is over yet').toMatchObject({ kind: 'unknown' })
    expect(await blocks.pending()).toBe(1)
    await blocks.mine()
    expect(await first.settle('confirmed')).toEqual({ ...broadcast, kind: 'settled' })
  })

  test('of a promised block is enough for preconfirmed, and not for confirmed', async () => {
    let isSealed = false
    const node = await watchedNode(({ method }) =>
      method === 'eth_blockNumber' && !isSealed ? { result: '0x1' } : undefined,
    )
    const [quick, sure] = [
      await paymentOf(await fundedBuyer(), node.facilitator),
      await paymentOf(await fundedBuyer(), node.facilitator),
    ]
    await Promise.all([quick.verify(), sure.verify()])
    expect(await quick.settle('preconfirmed')).toMatchObject({ kind: 'settled' })
    const settled = sure.settle('confirmed')
    await expect
      .poll(() => node.asked.filter((method) => method === 'eth_blockNumber').length)
      .toBeGreaterThanOrEqual(2)
    isSealed = true
    expect(await settled).toMatchObject({ kind: 'settled' })
  })
})

describe('a node', () => {
  const silent = { error: { code: 3, message: 'execution reverted' } }

  test.each([
    { what: 'an empty wallet', reason: 'insufficient_funds' },
    { what: 'a used nonce', reason: 'invalid_exact_evm_nonce_already_used' },
  ])('that does not repeat the reason is asked for $what', async ({ what, reason }) => {
    // The call to the token, not the read of the payer's code.
    const node = await watchedNode(({ method, params = [] }) => {
      const { to } = (params[0] ?? {}) as { to?: string }
      return method === 'eth_call' && to === chain.usdc ? silent : undefined
    })
    const buyer = what === 'an empty wallet' ? newBuyer() : await fundedBuyer(PRICE)
    const payment = await paymentOf(buyer, node.facilitator)
    if (what === 'a used nonce') await facilitator.settle(payment)
    expect(await payment.verify()).toEqual({ kind: 'invalid', reason })
  })

  test('that gives no reason and answers no request does not refuse the payment', async () => {
    const node = await watchedNode(({ method }) => (method === 'eth_call' ? silent : undefined))
    const payment = await paymentOf(await fundedBuyer(), node.facilitator)
    expect(await payment.verify()).toMatchObject({ kind: 'unreachable' })
  })

  test('without a pending state is asked for the latest', async () => {
    const node = await watchedNode(({ params = [] }) =>
      params[1] === 'pending' && typeof params[0] === 'object'
        ? { error: { code: -32_000, message: 'pending block is not available' } }
        : undefined,
    )
    const payment = await paymentOf(await fundedBuyer(), node.facilitator)
    expect(await payment.verify()).toEqual({ kind: 'valid' })
    node.asked.length = 0
    expect(await payment.verify()).toEqual({ kind: 'valid' })
    expect(node.asked).toEqual(['eth_call', 'eth_getCode'])
  })
})

describe('what gas costs', () => {
  const asked = 'eth_getBlockByNumber'

  async function watchedFees(baseFeePerGas?: string) {
    const node = await watchedNode(({ method }) =>
      method === asked && baseFeePerGas !== undefined
        ? { result: { number: '0x1', timestamp: '0x1', transactions: [], baseFeePerGas } }
        : undefined,
    )
    const clock = new ManualClock()
    const questions = () => node.asked.filter((method) => method === asked).length
    return { clock, questions, fees: new GasFees(nodeClient(base, node.url), clock) }
  }

  test('is cached, refreshed during a payment, and too old after 30 seconds', async () => {
    const { clock, questions, fees } = await watchedFees()
    const [first, again] = [await fees.current(), await fees.current()]
    expect(again).toBe(first)
    expect(questions()).toBe(1)
    clock.advance(6_000)
    expect(await fees.current(), 'without waiting').toBe(first)
    await expect.poll(questions).toBe(2)
    clock.advance(31_000)
    expect(await fees.current()).not.toBe(first)
  })

  test('leaves room for a base fee that rises', async () => {
    const { fees } = await watchedFees('0x5f5e100')
    const { maxFeePerGas, maxPriorityFeePerGas } = await fees.current()
    expect(maxFeePerGas).toBe(200_000_000n + maxPriorityFeePerGas)
  })

  test('is not paid above the limit', async () => {
    const { fees } = await watchedFees('0x2540be401')
    await expect(fees.current()).rejects.toMatchObject({ code: 'gas_too_dear' })
  })
})

describe('a contract wallet', () => {
  async function hosted(
    paidCallsPerWalletPerMinute = 100,
    contractWallets = new ContractWallets(nodeClient(base, chain.rpcUrl)),
  ) {
    const payTo = chain.accounts.merchant.address
    const host = await startPaidHost({
      payTo,
      facilitator,
      clock: systemClock,
      methods: [exactEvm({ network: base, payTo, facilitator, contractWallets })],
      limits: { paidCallsPerWalletPerMinute },
    })
    opened.push(host)
    return async (payment: unknown) => {
      const headers = { 'x-payment': encodedPayment(payment) }
      return fetch(`${host.url}/pulse/BTC`, { headers })
    }
  }

  test.each([
    { what: 'of 65 bytes', suffix: '' },
    { what: 'of many bytes', suffix: 'ab'.repeat(500) },
  ])('pays with a signature $what', async ({ suffix }) => {
    const buy = await hosted()
    const payer = await wallet()
    const payment = await signed(payer)
    payment.payload.signature += suffix as ''
    expect((await buy(payment)).status).toBe(200)
    expect(await chain.balanceOf(payer.address)).toBe(FUNDS - PRICE)
  })

  test('does not pay with a signature of another key, which does not count against its limit', async () => {
    const buy = await hosted(1)
    const [owner, thief] = [newBuyer(), newBuyer()]
    const payer = await wallet(owner)
    for (const suffix of ['', 'ab', '']) {
      const forged = await signed({ ...thief, address: payer.address })
      forged.payload.signature += suffix as ''
      const refused = await buy(forged)
      expect(refused.status).toBe(402)
      const { diagnostics } = (await refused.json()) as { diagnostics: { reason: string } }
      expect(diagnostics.reason).toBe('invalid_exact_evm_payload_signature')
    }
    expect((await buy(await signed(payer))).status).toBe(200)
  })

  test('that has used up its sales costs the node no more questions', async () => {
    let asked = 0
    class CountedWallets extends ContractWallets {
      override accepts(...question: Parameters<ContractWallets['accepts']>) {
        asked += 1
        return super.accepts(...question)
      }
    }
    const buy = await hosted(1, new CountedWallets(nodeClient(base, chain.rpcUrl)))
    const payer = await wallet()
    expect((await buy(await signed(payer))).status).toBe(200)
    for (const _ of [1, 2, 3]) expect((await buy(await signed(payer))).status).toBe(429)
    expect(asked).toBe(1)
  })

  test('whose check never ends is refused', async () => {
    const buy = await hosted()
    const payer = await wallet()
    await anvil().setStorageAt({ address: payer.address, index: 1, value: pad('0x1') })
    expect((await buy(await signed(payer))).status).toBe(402)
  })

  test('is not refused while the node is down', async () => {
    const payTo = chain.accounts.merchant.address
    const contractWallets = new ContractWallets(nodeClient(base, 'http://127.0.0.1:1'))
    const methods = [exactEvm({ network: base, payTo, facilitator, contractWallets })]
    const host = await startPaidHost({ payTo, facilitator, clock: systemClock, methods })
    opened.push(host)
    const headers = { 'x-payment': encodedPayment(await signed(await wallet())) }
    const answer = await fetch(`${host.url}/pulse/BTC`, { headers })
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
  })
})

test('a payment that another sender submitted is open while the node does not answer', async () => {
  let isBusy = false
  const node = await watchedNode(({ method }) =>
    isBusy && method === 'eth_call' ? { error: { code: -32_000, message: 'busy' } } : undefined,
  )
  const other = otherSender()
  const payment = await paymentOf(await fundedBuyer(), node.facilitator)
  expect(await payment.verify()).toEqual({ kind: 'valid' })
  expect(await other.settle(payment)).toMatchObject({ kind: 'settled' })
  isBusy = true
  expect(await payment.settle('confirmed'), 'it has paid').toMatchObject({
    kind: 'unknown',
    transaction: expect.stringMatching(/^0x/),
  })
  isBusy = false
  expect(await payment.outcome()).toMatchObject({ kind: 'settled' })
})

test('a node that lags behind bars no payer whose payments another sender submitted', async () => {
  let isBehind = false
  const block = { number: '0x1', timestamp: '0x1', transactions: [], baseFeePerGas: '0x3b9aca00' }
  const node = await watchedNode(({ method }) => {
    if (!isBehind) return undefined
    if (method === 'eth_call') return { result: '0x' }
    return method === 'eth_getBlockByNumber' ? { result: block } : undefined
  })
  const [other, buyer] = [otherSender(), await fundedBuyer()]
  for (const _ of [1, 2, 3]) {
    const payment = await paymentOf(buyer, node.facilitator)
    expect(await payment.verify()).toEqual({ kind: 'valid' })
    expect(await other.settle(payment)).toMatchObject({ kind: 'settled' })
    isBehind = true
    expect(await payment.settle('confirmed')).not.toMatchObject({ kind: 'settled' })
    isBehind = false
    expect(await node.facilitator.payers.barred(payment.payer)).toBeNull()
  }
})

test('a contract wallet whose receipt came late reserves no gas for the next one', async () => {
  const { url } = await watchedNode(({ method }) =>
    method === SYNC ? { error: { code: -32_601, message: 'not found' } } : undefined,
  )
  const { privateKey } = chain.accounts.facilitator
  const by = localFacilitator({
    ...{ network: base, rpcUrl: url, privateKey, clock: promptClock },
    contractGasPerHour: CONTRACT_GAS_MAX,
  })
  const [late, next] = [await paymentOf(await wallet(), by), await paymentOf(await wallet(), by)]
  for (const payment of [late, next]) expect(await payment.verify()).toEqual({ kind: 'valid' })
  const client = anvil()
  await client.setAutomine(false)
  try {
    expect(await late.settle('confirmed')).toMatchObject({ kind: 'unknown' })
    expect(await next.settle('confirmed')).toMatchObject({ kind: 'unreachable' })
  } finally {
    await client.setAutomine(true)
    await client.mine({ blocks: 1 })
  }
  expect(await late.outcome()).toMatchObject({ kind: 'settled' })
  expect(await next.settle('confirmed')).toMatchObject({ kind: 'settled' })
})

test('the recorded costs of settlements are what the gas account has paid', async () => {
  const { facilitator: account } = chain.accounts
  const costs: TransactionCost[] = []
  const by = localFacilitator({
    ...{ network: base, rpcUrl: chain.rpcUrl, privateKey: account.privateKey, clock: promptClock },
    recordCost: (cost) => costs.push(cost),
  })
  const balance = () => anvil().getBalance({ address: account.address })
  const before = await balance()
  const payments = await Promise.all([1, 2, 3].map(async () => paymentOf(await fundedBuyer(), by)))
  await Promise.all(payments.map((payment) => by.settle(payment, 'confirmed')))
  const alone = await paymentOf(await fundedBuyer(), by)
  await by.settle(alone, 'broadcast')
  // It was handed to the chain, and its block comes later.
  await expect.poll(() => by.outcome(alone)).toMatchObject({ kind: 'settled' })
  const distinct = [...new Map(costs.map((cost) => [cost.transaction, cost])).values()]
  expect(distinct.reduce((sum, { payments: count }) => sum + count, 0)).toBe(4)
  expect(distinct.reduce((sum, { fee }) => sum + fee, 0n)).toBe(before - (await balance()))
})

describe('at the start', () => {
  const node = () => nodeClient(base, chain.rpcUrl)
  const nobody = '0x00000000000000000000000000000000000000b1'

  test('a correct chain, token and gas account are accepted', async () => {
    const { gasAccount } = facilitator
    expect(await examineChain(node(), base, gasAccount)).toEqual({ faults: [], warnings: [] })
    expect(await facilitator.gasBalance()).toBeGreaterThan(0n)
  })

  test.each([
    { what: 'another chain', network: { ...base, chainId: 1 }, says: /serves chain 8453/ },
    { what: 'no token', network: { ...base, asset: nobody }, says: /no USDC contract at/ },
    {
      what: 'a contract that is no token',
      network: { ...base, asset: '0xcA11bde05977b3631167028862bE2a173976CA11' },
      says: /is not USDC/,
    },
    {
      what: 'the name of the token on the test network',
      network: { ...base, domain: { name: 'USDC', version: '2' } },
      says: /is not "USDC" version 2/,
    },
  ] as const)('$what is found out', async ({ network, says }) => {
    const { faults } = await examineChain(node(), network, null)
    expect(faults).toEqual([expect.stringMatching(says)])
  })

  test('decimals other than six are found out', async () => {
    const decimals = '0x313ce567'
    const { url } = await watchedNode(({ method, params = [] }) => {
      const { data } = (params[0] ?? {}) as { data?: string }
      const isAsked = method === 'eth_call' && data === decimals
      return isAsked ? { result: pad('0x12') } : undefined
    })
    const { faults } = await examineChain(nodeClient(base, url), base, null)
    expect(faults).toEqual([expect.stringMatching(/has 18 decimals/)])
  })

  test('an empty gas account is an error, a low one a warning', async () => {
    const { address } = newBuyer()
    const { faults } = await examineChain(node(), base, address)
    expect(faults).toEqual([expect.stringMatching(/has no ether on base\. Send ether to it/)])
    await anvil().setBalance({ address, value: 1_000_000n })
    expect(await examineChain(node(), base, address)).toEqual({
      faults: [],
      warnings: [expect.stringMatching(/left for gas/)],
    })
  })

  test('a node that does not answer is distinguished from a wrong one', async () => {
    const away = nodeClient(base, 'http://127.0.0.1:1/key')
    const examined = examineChain(away, base, null)
    await expect(examined).rejects.toMatchObject({ code: 'node_unanswered' })
    await expect(examined).rejects.not.toThrow(/127\.0\.0\.1/)
  })
})

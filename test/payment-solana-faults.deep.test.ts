import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme } from '@x402/svm/exact/facilitator'
import Fastify from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../src/domain/clock.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { base } from '../src/payment/evm/networks.ts'
import { httpFacilitator } from '../src/payment/facilitators/http-facilitator.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import { outcomeByMessage } from '../src/payment/solana/chain-outcome.ts'
import type { ExactSolanaPayment } from '../src/payment/solana/exact-solana.ts'
import { hostedSolanaFacilitator } from '../src/payment/solana/hosted-solana-facilitator.ts'
import { SolanaNode } from '../src/payment/solana/solana-node.ts'
import type { PaidHost, PaidHostOptions } from '../src/payment/testing/paid-host.ts'
import { PRICE } from '../src/payment/testing/paid-host.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { promptClock } from './support/prompt-clock.ts'
import { buy, FUNDS, receiptIn, solanaRig } from './support/solana-rig.ts'

/** Replaces the eight seconds of the product; the local chain confirms in milliseconds or not at all. */
const confirmationMsMax = 300
const LIFETIME_MS = 90_000
const MERCHANT_ON_BASE = '0x000000000000000000000000000000000000dEaD'
const waiting = { code: 'settlement_unknown' }

let chain: SolanaChain
let rig: ReturnType<typeof solanaRig>
/** URL without a listener. */
let nowhere: string
const opened: { close(): Promise<unknown> }[] = []
const folders: string[] = []

beforeAll(async () => {
  nowhere = `http://127.0.0.1:${await freePort()}`
  chain = await startSolanaChain({ clock: systemClock })
  rig = solanaRig(chain, promptClock)
})

afterEach(async () => {
  chain.drop()
  chain.release()
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

afterAll(() => chain?.close())

async function hosted(
  settler: Facilitator<ExactSolanaPayment> = rig.facilitator({ confirmationMsMax }),
  options: Partial<PaidHostOptions> & { readonly clock?: Clock } = {},
): Promise<PaidHost> {
  const methods = [rig.method(settler, options.clock && { clock: options.clock })]
  const host = await rig.hosted({ methods, ...options })
  opened.push(host)
  return host
}

/** The system clock, which the test may step forward. */
function shiftedClock() {
  let shiftMs = 0
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + shiftMs }
  return {
    clock,
    forward: (byMs: number) => {
      shiftMs += byMs
    },
  }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'perpscope-ledger-'))
  folders.push(path)
  return path
}

function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

const never = new Promise<never>(() => undefined)

/** The chain's node behind a provider that can send false replies or fail after a number of answers. */
async function provider() {
  let left = Number.POSITIVE_INFINITY
  let lie: { readonly method: string; readonly forwarded: boolean; readonly error: object } | null =
    null
  let invented: { readonly result: unknown } | null = null
  const app = Fastify({ forceCloseConnections: true })
  app.post<{ Body: { id: number; method: string } }>('/', async ({ body }, reply) => {
    if (left === 0) return reply.hijack().raw.destroy()
    left -= 1
    const forward = async () => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      return (await fetch(chain.rpcUrl, init)).json()
    }
    if (invented !== null) return { jsonrpc: '2.0', id: body.id, result: invented.result }
    if (lie?.method !== body.method) return forward()
    if (lie.forwarded) await forward()
    return { jsonrpc: '2.0', id: body.id, error: lie.error }
  })
  opened.push(app)
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    dieAfter: (answers: number) => {
      left = answers
    },
    revive: () => {
      left = Number.POSITIVE_INFINITY
    },
    inject: (next: typeof lie) => {
      lie = next
    },
    /** Sets the reply to all further requests. */
    invent: (result: unknown) => {
      invented = { result }
    },
  }
}

describe('a transaction whose blockhash has expired', () => {
  test('is refused before it is sent, without a charge', async () => {
    const host = await hosted()
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    chain.expireBlockhashes()
    const { status, problem } = await buy(host, payment)
    expect(status).toBe(402)
    expect(problem().diagnostics).toMatchObject({
      reason: 'invalid_exact_svm_payment_expired',
      hint: expect.stringContaining('Sign a new one'),
    })
    expect(host.runs()).toBe(0)
    expect(rig.spent(buyer)).toBe(0n)
  })
})

describe('a transaction that no block includes', () => {
  test('has no verdict: 503 with its signature, and the same payment gets the answer later', async () => {
    const host = await hosted()
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    chain.hold()
    const first = await buy(host, payment)
    expect(first.status, 'a 402 would make the buyer pay twice').toBe(503)
    expect(first.problem()).toMatchObject(waiting)
    expect(first.headers.get('retry-after')).not.toBeNull()
    const second = await buy(host, payment)
    expect(second.problem()).toMatchObject(waiting)
    chain.release()
    const paid = await buy(host, payment)
    expect(paid.status).toBe(200)
    expect(first.text).toContain(receiptIn(paid.headers).transaction)
    expect(host.runs()).toBe(1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('and that the network forgets is sent again with the same payment', async () => {
    const host = await hosted()
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    chain.hold()
    expect((await buy(host, payment)).status).toBe(503)
    chain.drop()
    chain.release()
    expect(rig.spent(buyer)).toBe(0n)
    expect((await buy(host, payment)).status).toBe(200)
    expect(host.runs()).toBe(1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('and that can no longer be included is refused as expired, once that is certain', async () => {
    const { clock, forward } = shiftedClock()
    const host = await hosted(rig.facilitator({ clock, confirmationMsMax }), { clock })
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    chain.hold()
    expect((await buy(host, payment)).status).toBe(503)
    chain.drop()
    chain.expireBlockhashes()
    chain.release()
    const early = await buy(host, payment)
    expect(early.status, 'a node may not know the blockhash yet').toBe(503)
    forward(LIFETIME_MS)
    const dropped = await buy(host, payment)
    expect(dropped.status).toBe(402)
    expect(dropped.problem().diagnostics, 'the nonce was never used').toMatchObject({
      reason: 'payment_expired',
    })
    expect(rig.spent(buyer)).toBe(0n)
    expect((await buy(host, await rig.paymentOf(buyer))).status, 'a new payment').toBe(200)
  })

  test('stays pending as long as a block may still include it, however late', async () => {
    const { clock, forward } = shiftedClock()
    const facilitator = rig.facilitator({ clock })
    const payment = await rig.read(rig.fundedBuyer(), facilitator)
    forward(LIFETIME_MS * 2)
    expect(await facilitator.outcome(payment)).toMatchObject({ kind: 'unknown' })
  })
})

describe('a node that goes down', () => {
  test.each([
    [0, 'before it has verified', 503, 'facilitator_unavailable'],
    [1, 'when it is handed the transaction', 503, 'settlement_unknown'],
    [2, 'after it was handed the transaction', 503, 'settlement_unknown'],
  ])('after %i answers, %s, costs the price once at most', async (answers, _when, status, code) => {
    const node = await provider()
    const host = await hosted(rig.facilitator({ rpcUrl: node.url, confirmationMsMax }))
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    node.dieAfter(answers)
    const lost = await buy(host, payment)
    expect(lost.status).toBe(status)
    expect(lost.problem().code).toBe(code)
    expect(lost.text).not.toContain(node.url)
    node.revive()
    expect((await buy(host, payment)).status).toBe(200)
    expect(rig.spent(buyer)).toBe(PRICE)
    expect(await host.ledger.counts()).toMatchObject({ settled: 1, unknown: 0, settling: 0 })
  })

  test('and was never reached for the settlement leaves the payment unchanged', async () => {
    const reached = rig.facilitator()
    const settle = rig.facilitator({ rpcUrl: nowhere }).settle
    const host = await hosted({ ...reached, settle })
    const buyer = rig.fundedBuyer()
    const { problem } = await buy(host, await rig.paymentOf(buyer))
    expect(problem()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
    expect(await host.ledger.counts()).toMatchObject({ released: 1, unknown: 0 })
    expect(rig.spent(buyer)).toBe(0n)
  })

  test.each([true, false])(
    'and says that it did not send what it did (forwarded: %s) is not believed',
    async (forwarded) => {
      const node = await provider()
      const host = await hosted(rig.facilitator({ rpcUrl: node.url, confirmationMsMax }))
      const buyer = rig.fundedBuyer()
      const payment = await rig.paymentOf(buyer)
      node.inject({
        method: 'sendTransaction',
        forwarded,
        error: { code: -32005, message: 'behind' },
      })
      const answer = await buy(host, payment)
      expect(answer.status).toBe(forwarded ? 200 : 503)
      node.inject(null)
      expect((await buy(host, payment)).status).toBe(200)
      expect(rig.spent(buyer)).toBe(PRICE)
    },
  )
})

describe('a node that sends invalid replies', () => {
  const nothing = { context: { slot: 1 }, value: null }
  const silent = { context: { slot: 1 }, value: [{ confirmationStatus: 'confirmed' }] }

  test.each([
    ['no result', undefined],
    ['null', null],
    ['a number', 7],
    ['no value', { context: { slot: 1 } }],
    ['nothing of an error', { context: { slot: 1 }, value: {} }],
    ['no slot', { context: {}, value: [{ err: null, confirmationStatus: 'finalized' }] }],
    ['null as value', nothing],
    ['a status that says nothing of an error', silent],
  ])('such as %s is believed in nothing', async (_what, result) => {
    const node = await provider()
    node.invent(result)
    const facilitator = rig.facilitator({ rpcUrl: node.url, confirmationMsMax })
    const payment = await rig.read(rig.fundedBuyer(), facilitator)
    expect(await facilitator.verify(payment)).toMatchObject({ kind: 'unreachable' })
    expect(await facilitator.settle(payment)).toMatchObject({ kind: 'unknown' })
    expect(await facilitator.outcome(payment)).toMatchObject({ kind: 'unknown' })
  })
})

describe('a payment that was settled elsewhere before', () => {
  test('and is in no ledger buys nothing, and is not asked for again', async () => {
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    expect((await buy(await hosted(), payment)).status).toBe(200)
    const emptied = await hosted()
    expect((await buy(emptied, payment)).status).toBe(409)
    expect(emptied.runs()).toBe(0)
    expect(rig.spent(buyer)).toBe(PRICE)
  })
})

describe('a transfer that fails on the chain', () => {
  test('because the money is gone by then is refused without an answer', async () => {
    const buyer = rig.fundedBuyer()
    const host = await hosted(undefined, {
      atWork: async () => chain.fundUsdc(buyer.address, -FUNDS),
    })
    const before = rig.received()
    const { status, problem } = await buy(host, await rig.paymentOf(buyer), '/slow/BTC')
    expect(status).toBe(402)
    expect(problem().diagnostics.reason).toBe('invalid_exact_svm_insufficient_funds')
    expect(rig.received()).toBe(before)
  })

  test('because we cannot pay the fee does not reject the payment', async () => {
    const { address } = chain.accounts.facilitator
    const lamports = chain.lamportsOf(address)
    onTestFinished(() => chain.setLamports(address, lamports))
    chain.setLamports(address, 0n)
    const host = await hosted()
    const { status, problem } = await buy(host, await rig.paymentOf(rig.fundedBuyer()))
    expect(status).toBe(503)
    expect(problem()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
  })
})

describe('a crash during settlement', () => {
  test.each([
    ['before', false],
    ['after', true],
  ])('%s the transaction was sent still ends in one charge and one answer', async (_when, sent) => {
    const [before, after] = [folder(), folder()]
    const stuck = signal()
    const local = rig.facilitator({ confirmationMsMax })
    const crashing = await hosted(
      {
        ...local,
        settle: async (payment) => {
          if (sent) await local.settle(payment)
          stuck.give()
          return never
        },
      },
      { ledgerPath: join(before, 'ledger.db') },
    )
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    void buy(crashing, payment).catch(() => undefined)
    await stuck.given
    // Copies the current files, as a killed process leaves them.
    cpSync(before, after, { recursive: true })

    const restarted = await hosted(local, { ledgerPath: join(after, 'ledger.db') })
    const copies = await Promise.all([1, 2, 3].map(() => buy(restarted, payment)))
    for (const { status, text } of copies) {
      expect(status).toBe(200)
      expect(JSON.parse(text)).toEqual({ coin: { coin: 'BTC' }, run: 1 })
    }
    expect(restarted.runs(), 'the stored answer was sent').toBe(0)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('between sending and confirmation keeps the payment pending until the chain has it', async () => {
    const [before, after] = [folder(), folder()]
    const crashing = await hosted(rig.facilitator({ confirmationMsMax: 60_000 }), {
      ledgerPath: join(before, 'ledger.db'),
    })
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    chain.hold()
    void buy(crashing, payment).catch(() => undefined)
    await expect.poll(() => chain.held()).toBe(1)
    cpSync(before, after, { recursive: true })

    const restarted = await hosted(undefined, { ledgerPath: join(after, 'ledger.db') })
    expect((await buy(restarted, payment)).problem()).toMatchObject(waiting)
    chain.release()
    expect((await buy(restarted, payment)).status).toBe(200)
    expect(restarted.runs()).toBe(0)
    expect(rig.spent(buyer)).toBe(PRICE)
  })
})

describe('finality of a settlement', () => {
  test('broadcast: once the node has the transaction, independent of its outcome', async () => {
    const facilitator = rig.facilitator()
    const payment = await rig.read(rig.fundedBuyer(), facilitator)
    chain.hold()
    const settlement = await facilitator.settle(payment, 'broadcast')
    expect(settlement.kind).toBe('broadcast')
    expect(await facilitator.outcome(payment)).toMatchObject({ kind: 'unused' })
    chain.release()
    expect(await facilitator.outcome(payment)).toEqual({ ...settlement, kind: 'settled' })
  })

  test('broadcast sells immediately, and the ledger waits for the chain', async () => {
    const host = await hosted(rig.facilitator(), {
      finality: () => 'broadcast',
      exposure: { payerMax: PRICE, totalMax: PRICE },
    })
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    chain.hold()
    expect((await buy(host, payment)).status).toBe(200)
    expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 1, settled: 0 })
    expect(rig.spent(buyer)).toBe(0n)
    chain.release()
    expect((await buy(host, payment)).status).toBe(200)
    expect(host.runs()).toBe(1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('preconfirmed: once it is in a block; confirmed: once that block is voted for', async () => {
    const slow = await startSolanaChain({ clock: systemClock, confirmationMs: 3_600_000 })
    opened.push(slow)
    const there = solanaRig(slow)
    const facilitator = there.facilitator({ confirmationMsMax })
    const payment = await there.read(there.fundedBuyer(), facilitator)
    expect(await facilitator.settle(payment, 'preconfirmed')).toMatchObject({ kind: 'settled' })
    expect(await facilitator.settle(payment, 'confirmed')).toMatchObject({ kind: 'unknown' })
    expect(await facilitator.outcome(payment)).toMatchObject({ kind: 'unknown' })
  })
})

describe('an external facilitator', () => {
  /** The SDK's own behind its HTTP interface, which may lose its reply. */
  async function service() {
    const signer = toFacilitatorSvmSigner(
      await createKeyPairSignerFromPrivateKeyBytes(chain.accounts.facilitator.seed),
      { defaultRpcUrl: chain.rpcUrl },
    )
    const facilitator = new x402Facilitator().register(
      'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      new ExactSvmScheme(signer),
    )
    const faults = { settle: 'none' as 'none' | 'cut before' | 'cut after' }
    type Call = { paymentPayload: never; paymentRequirements: never }
    const app = Fastify({ forceCloseConnections: true })
    app.post<{ Body: Call }>('/verify', ({ body }) =>
      facilitator.verify(body.paymentPayload, body.paymentRequirements),
    )
    app.post<{ Body: Call }>('/settle', async ({ body }, reply) => {
      if (faults.settle === 'cut before') return reply.hijack().raw.destroy()
      const answer = await facilitator.settle(body.paymentPayload, body.paymentRequirements)
      return faults.settle === 'cut after' ? reply.hijack().raw.destroy() : answer
    })
    opened.push(app)
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }), faults }
  }

  const node = () => new SolanaNode({ rpcUrl: chain.rpcUrl, clock: systemClock })
  const outcome = (payment: ExactSolanaPayment) =>
    outcomeByMessage(node(), payment, systemClock.nowMs())

  test('verifies and settles our payments', async () => {
    const { url } = await service()
    const host = await hosted(httpFacilitator({ url, clock: systemClock, outcome }))
    const buyer = rig.fundedBuyer()
    expect((await buy(host, await rig.paymentOf(buyer))).status).toBe(200)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test.each(['cut after', 'cut before'] as const)(
    'that loses its reply (%s it settled) ends in one charge: the chain knows the message',
    async (fault) => {
      const { url, faults } = await service()
      const host = await hosted(httpFacilitator({ url, clock: systemClock, outcome }))
      const buyer = rig.fundedBuyer()
      const payment = await rig.paymentOf(buyer)
      faults.settle = fault
      expect((await buy(host, payment)).problem()).toMatchObject(waiting)
      faults.settle = 'none'
      expect((await buy(host, payment)).status).toBe(200)
      expect(host.runs()).toBe(1)
      expect(rig.spent(buyer)).toBe(PRICE)
    },
  )

  test('that somebody sent the payment to before us is no reason to charge it again', async () => {
    const { url } = await service()
    const facilitator = hostedSolanaFacilitator(
      httpFacilitator({ url, clock: systemClock, outcome }),
    )
    const host = await hosted(facilitator)
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString())
    const method = rig.method(facilitator)
    const wire = {
      ...{ scheme: 'exact', network: method.network, amount: PRICE.toString() },
      ...{ asset: method.asset, payTo: method.payTo, maxTimeoutSeconds: 60, extra: method.extra },
    }
    const purchase = { requirement: { method, amount: PRICE, wire }, resourceUrl: '' }
    const settlement = await facilitator.settle(method.read(payload, purchase))
    expect(settlement.kind).toBe('settled')
    const { status, problem } = await buy(host, payment)
    expect(status, 'and no answer either: that settlement was not ours').toBe(409)
    expect(problem()).toMatchObject({ code: 'payment_replayed', charged: null })
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('that is down at the start does not block answers that were bought before', async () => {
    const { url, faults } = await service()
    const path = join(folder(), 'ledger.db')
    const facilitator = httpFacilitator({ url, clock: systemClock, outcome })
    const before = await hosted(facilitator, { ledgerPath: path })
    const [buyer, doubtful] = [rig.fundedBuyer(), rig.fundedBuyer()]
    const bought = await rig.paymentOf(buyer)
    const paid = await buy(before, bought)
    faults.settle = 'cut after'
    const open = await rig.paymentOf(doubtful)
    expect((await buy(before, open)).status).toBe(503)
    await before.close()

    const after = await hosted(undefined, {
      ledgerPath: path,
      methods: [
        exactEvm({ network: base, payTo: MERCHANT_ON_BASE, facilitator: {} as never }),
        rig.method(facilitator, { feePayer: null }),
      ],
    })
    expect((await buy(after, bought)).text).toBe(paid.text)
    expect((await buy(after, open)).status).toBe(200)
    expect(after.runs(), 'both answers are stored ones').toBe(0)
    const fresh = await buy(after, await rig.paymentOf(rig.fundedBuyer()))
    expect(fresh.status, 'and nothing is sold').toBe(402)
    expect(JSON.stringify(fresh.problem().accepts)).not.toContain('solana')
  })

  test('is distinguished from other payments of the same wallet by the message alone', async () => {
    const buyer = rig.fundedBuyer()
    const local = rig.facilitator()
    const [paid, unpaid] = [
      await rig.read(buyer, local),
      await rig.read(buyer, local, { memo: 'b' }),
    ]
    const settlement = await local.settle(paid)
    expect(await outcome(paid)).toEqual(settlement)
    expect(await outcome(unpaid)).toMatchObject({ kind: 'unused' })
  })
})

import { x402Client } from '@x402/core/client'
import type { PaymentPayload } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import Fastify from 'fastify'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ClientOptions, Payer } from '../src/client/client.ts'
import { PerpscopeClient } from '../src/client/client.ts'
import {
  IntermediaryError,
  PaymentRefusedError,
  RefusedError,
  UnansweredError,
  UnpayableError,
} from '../src/client/errors.ts'
import { problem } from '../src/domain/problem.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { base } from '../src/payment/evm/networks.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import type { PaidHost } from '../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { Ground } from './support/attacked.ts'
import { PULSE_PRICE, startGround } from './support/attacked.ts'
import { ManualClock } from './support/manual-clock.ts'

const FUNDS = 1_000_000n
const PRICE_USD = Number(PRICE) / 1e6
/** Validity of a payment, and how much longer it counts against the budget. */
const QUOTED_MS = 120_000
const MARGIN_MS = 60_000
/** Largest difference between the clock readings of wallet and test. */
const CLOCKS_APART_MS = 60_000
const LIE = { instance: '/pulse/BTC', requestId: 'test' }

let ground: Ground
let chain: EvmChain
let local: Facilitator<ExactEvmPayment>
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  ground = await startGround()
  chain = ground.chain
  local = ground.facilitator
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
})

afterAll(() => ground?.close())

async function hosted(facilitator = local): Promise<PaidHost> {
  const host = await startPaidHost({
    payTo: chain.accounts.merchant.address,
    facilitator,
    clock: new ManualClock(systemClock.nowMs()),
  })
  opened.push(host)
  return host
}

/** A wallet of the SDK that counts its signatures. */
async function wallet(funds = FUNDS) {
  const account = privateKeyToAccount(generatePrivateKey())
  if (funds > 0n) await chain.fundUsdc(account.address, funds)
  const sdk = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
  let signed = 0
  const pay: Payer = (quote) => {
    signed += 1
    return sdk.createPaymentPayload(quote)
  }
  return {
    pay,
    signatures: () => signed,
    spent: async () => funds - (await chain.balanceOf(account.address)),
  }
}

/** A quote of 0.02 USDC, with changes. */
function quoting(change: Readonly<Record<string, unknown>>): Response {
  const accepted = {
    scheme: 'exact',
    network: base.network,
    asset: base.asset,
    amount: PRICE.toString(),
    payTo: chain.accounts.merchant.address,
    maxTimeoutSeconds: 120,
    extra: base.domain,
    ...change,
  }
  const quote = { x402Version: 2, resource: { url: 'x' }, accepts: [accepted] }
  return new Response('{}', {
    status: 402,
    headers: { 'payment-required': btoa(JSON.stringify(quote)) },
  })
}

function clientOf(host: { url: string }, options: Partial<ClientOptions> = {}) {
  return new PerpscopeClient({ url: host.url, wait: () => Promise.resolve(), ...options })
}

/** `fetch` that fails as scripted and records its payments. */
function meddled(meddle: (call: number, go: () => Promise<Response>) => Promise<Response>) {
  const payments: string[] = []
  const speak: ClientOptions['fetch'] = (url, init) => {
    const payment = init.headers['payment-signature']
    if (payment === undefined) return fetch(url, init)
    payments.push(payment)
    return meddle(payments.length, () => fetch(url, init))
  }
  return { fetch: speak, payments }
}

describe('the client', () => {
  test('buys an answer at the quoted price', async () => {
    const { pay, spent } = await wallet()
    const client = clientOf(await hosted(), { pay })
    const { answer, receipt } = await client.about('pulse', 'BTC')
    expect(answer).toMatchObject({ coin: { coin: 'BTC' } })
    expect(receipt).toMatchObject({ success: true, network: 'eip155:8453' })
    expect(await spent()).toBe(PRICE)
    expect(client.spentUsd).toBe(PRICE_USD)
  })

  test('fetches a lost answer with the payment that bought it', async () => {
    const { pay, signatures, spent } = await wallet()
    const host = await hosted()
    const { fetch, payments } = meddled(async (call, go) => {
      const response = await go()
      if (call === 1) throw new TypeError('the connection broke')
      return response
    })
    const { answer } = await clientOf(host, { pay, fetch }).about('pulse', 'BTC')
    expect(answer).toMatchObject({ run: 1 })
    expect(new Set(payments).size).toBe(1)
    expect(signatures()).toBe(1)
    expect(await spent()).toBe(PRICE)
  })

  test('sends the same payment again while it cannot be settled', async () => {
    let down = 3
    const { pay, signatures, spent } = await wallet()
    const host = await hosted({
      ...local,
      verify: async (payment) => {
        down -= 1
        return down > 0 ? { kind: 'unreachable', reason: 'down' } : local.verify(payment)
      },
    })
    const waits: number[] = []
    const wait = async (ms: number) => void waits.push(ms)
    await clientOf(host, { pay, wait }).about('pulse', 'BTC')
    expect(waits, 'as long as retry_after').toEqual([2_000, 2_000])
    expect(signatures()).toBe(1)
    expect(await spent()).toBe(PRICE)
  })

  test('hands over a payment whose answer never came, and resumes it', async () => {
    const { pay, spent } = await wallet()
    const host = await hosted()
    let isDown = true
    const { fetch } = meddled(async (_call, go) => {
      const response = await go()
      if (isDown) throw new TypeError('the connection broke')
      return response
    })
    const client = clientOf(host, { pay, fetch })
    const failure = await client.about('pulse', 'BTC').catch((cause: unknown) => cause)
    expect(failure).toBeInstanceOf(UnansweredError)
    expect(client.spentUsd, 'it may have been charged').toBe(PRICE_USD)
    isDown = false
    const { answer } = await client.resume((failure as UnansweredError).payment)
    expect(answer).toMatchObject({ run: 1 })
    expect(await spent()).toBe(PRICE)
    expect((await client.about('pulse', 'BTC')).answer, 'is a new one').toMatchObject({ run: 2 })
  })

  test.each([
    ['a problem', { message: 'Endpoint request timed out' }, 504],
    ['no quote', { message: 'Payment Required' }, 402],
  ])('takes what a proxy says, %s, for no word of the service', async (_what, body, status) => {
    const { pay, signatures, spent } = await wallet()
    const host = await hosted()
    const { fetch } = meddled(async (call, go) => {
      const response = await go()
      return call === 1 ? Response.json(body, { status }) : response
    })
    const client = clientOf(host, { pay, fetch })
    const { answer } = await client.about('pulse', 'BTC')
    expect(answer).toMatchObject({ run: 1 })
    expect(signatures()).toBe(1)
    expect(await spent()).toBe(PRICE)
    expect(client.spentUsd).toBe(PRICE_USD)
  })

  test('hands over a payment that a proxy kept from its answer, and resumes it', async () => {
    const { pay, spent } = await wallet()
    let isDown = true
    const { fetch } = meddled(async (_call, go) => {
      const response = await go()
      return isDown ? Response.json({ message: 'timeout' }, { status: 504 }) : response
    })
    const client = clientOf(await hosted(), { pay, fetch })
    const failure = await client.about('pulse', 'BTC').catch((cause: unknown) => cause)
    expect(failure).toBeInstanceOf(UnansweredError)
    expect((failure as UnansweredError).cause).toBeInstanceOf(IntermediaryError)
    expect(client.spentUsd, 'it was charged').toBe(PRICE_USD)
    isDown = false
    const { answer } = await client.resume((failure as UnansweredError).payment)
    expect(answer).toMatchObject({ run: 1 })
    expect(await spent()).toBe(PRICE)
  })

  test('hands over a payment that is still in flight', async () => {
    const { pay } = await wallet()
    const { body, status } = problem(
      'payment_in_flight',
      { detail: 'Send it again.', retryAfterSeconds: 2, paymentReusable: true, charged: null },
      { instance: '/pulse/BTC', requestId: 'test' },
    )
    const { fetch } = meddled(async () => new Response(body, { status }))
    const client = clientOf(await hosted(), { pay, fetch })
    await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(UnansweredError)
    expect(client.spentUsd, 'it may be charged yet').toBe(PRICE_USD)
  })

  test('counts a payment whose answer is no longer stored, and does not send it again', async () => {
    const { pay } = await wallet()
    const { body, status } = problem(
      'payment_replayed',
      { detail: 'The answer is gone.', charged: true },
      { instance: '/pulse/BTC', requestId: 'test' },
    )
    let calls = 0
    const { fetch } = meddled(async () => {
      calls += 1
      return new Response(body, { status })
    })
    const client = clientOf(await hosted(), { pay, fetch })
    await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(RefusedError)
    expect(client.spentUsd).toBe(PRICE_USD)
    expect(calls).toBe(1)
  })

  test('keeps a payment open when a limit hides what became of it', async () => {
    const { pay, signatures, spent } = await wallet()
    const limit = problem(
      'rate_limited',
      { detail: 'Too many payments.', retryAfterSeconds: 60, paymentReusable: true },
      { instance: '/pulse/BTC', requestId: 'test' },
    )
    let isLimited = true
    const { fetch } = meddled(async (call, go) => {
      if (call > 1) return isLimited ? new Response(limit.body, { status: limit.status }) : go()
      await go()
      throw new TypeError('the connection broke')
    })
    const client = clientOf(await hosted(), { pay, fetch })
    const failure = await client.about('pulse', 'BTC').catch((cause: unknown) => cause)
    expect(failure).toBeInstanceOf(UnansweredError)
    const { payment } = failure as UnansweredError
    await expect(client.resume(payment)).rejects.toBeInstanceOf(UnansweredError)
    await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(UnansweredError)
    isLimited = false
    expect((await client.about('pulse', 'BTC')).answer).toMatchObject({ run: 1 })
    expect([signatures(), client.spentUsd]).toEqual([1, PRICE_USD])
    expect(await spent()).toBe(PRICE)
  })

  test('waits for a proxy that cannot reach the service before it signs', async () => {
    const { pay, signatures } = await wallet()
    let down = 2
    const speak: ClientOptions['fetch'] = async (url, init) => {
      down -= 1
      return down >= 0 ? new Response('<h1>Bad gateway</h1>', { status: 502 }) : fetch(url, init)
    }
    await clientOf(await hosted(), { pay, fetch: speak }).about('pulse', 'BTC')
    expect(signatures()).toBe(1)
  })

  test('reports why a payment was refused, and counts it until it cannot be settled', async () => {
    const { pay, signatures } = await wallet(0n)
    let nowMs = systemClock.nowMs()
    const client = clientOf(await hosted(), { pay, nowMs: () => nowMs })
    const refusal = await client.about('pulse', 'BTC').catch((cause: unknown) => cause)
    expect(refusal).toBeInstanceOf(PaymentRefusedError)
    expect((refusal as PaymentRefusedError).diagnostics.reason).toMatch(/insufficient/)
    expect(signatures()).toBe(1)
    expect([client.spentUsd, client.heldUsd]).toEqual([PRICE_USD, PRICE_USD])
    nowMs += QUOTED_MS + MARGIN_MS + CLOCKS_APART_MS
    expect([client.spentUsd, client.heldUsd]).toEqual([0, 0])
  })

  test('sends a payment that was not charged again before it signs another', async () => {
    const { pay, signatures, spent } = await wallet()
    const { body, status } = problem(
      'data_stale',
      { detail: 'Later.', paymentReusable: true },
      { instance: '/pulse/BTC', requestId: 'test' },
    )
    let isStale = true
    const { fetch, payments } = meddled(async (_call, go) =>
      isStale ? new Response(body, { status }) : go(),
    )
    const client = clientOf(await hosted(), { pay, fetch })
    for (let call = 0; call < 3; call += 1)
      await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(RefusedError)
    isStale = false
    await client.about('pulse', 'BTC')
    expect(new Set(payments).size).toBe(1)
    expect(signatures()).toBe(1)
    expect([client.spentUsd, client.heldUsd]).toEqual([PRICE_USD, 0])
    expect(await spent()).toBe(PRICE)
  })

  test('signs again when the service refuses the earlier payment', async () => {
    const { pay, signatures } = await wallet()
    const { body, status } = problem(
      'data_stale',
      { detail: 'Later.', paymentReusable: true },
      { instance: '/pulse/BTC', requestId: 'test' },
    )
    const refused = { diagnostics: { reason: 'expired', hint: 'Sign again.' } }
    let isStale = true
    const { fetch, payments } = meddled(async (_call, go) => {
      if (isStale) return new Response(body, { status })
      const isFirst = new Set(payments).size === 1
      return isFirst ? Response.json(refused, { status: 402 }) : go()
    })
    const client = clientOf(await hosted(), { pay, fetch })
    await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(RefusedError)
    isStale = false
    await client.about('pulse', 'BTC')
    expect(signatures()).toBe(2)
    expect([client.spentUsd, client.heldUsd]).toEqual([2 * PRICE_USD, PRICE_USD])
  })
})

describe('a service that lies', () => {
  test('and says that nothing was charged cannot cash more than the budget', async () => {
    const funds = 5_000_000n
    const { pay, signatures, spent } = await wallet(funds)
    const price = 100_000n
    const lie = problem('data_stale', { detail: 'Nothing was charged.' }, LIE)
    const cashable: string[] = []
    const fetch: ClientOptions['fetch'] = async (_url, { headers }) => {
      const payment = headers['payment-signature']
      if (payment === undefined) return quoting({ amount: price.toString() })
      cashable.push(payment)
      return new Response(lie.body, { status: lie.status })
    }
    const client = clientOf({ url: 'http://liar.example' }, { pay, fetch, budget: { totalUsd: 1 } })
    const failures: unknown[] = []
    for (let call = 0; call < 50; call += 1)
      await client.about('pulse', 'BTC').catch((cause: unknown) => failures.push(cause))
    const refused = failures.filter((cause) => cause instanceof UnpayableError)
    expect(failures).toHaveLength(50)
    expect(refused).toHaveLength(40)
    expect(String(refused[0])).toMatch(/another 1 are reserved for payments .* retry in \d+ s/)
    expect(signatures()).toBe(10)
    const method = exactEvm({
      network: base,
      payTo: chain.accounts.merchant.address,
      facilitator: local,
    })
    for (const header of new Set(cashable)) {
      const { accepted, payload } = JSON.parse(atob(header)) as PaymentPayload
      const requirement = { method, amount: price, wire: accepted }
      const settled = await method
        .read(payload, { requirement, resourceUrl: '' })
        .settle('confirmed')
      expect(settled.kind).toBe('settled')
    }
    expect(await spent()).toBe(1_000_000n)
    expect(client.spentUsd).toBe(1)
  })

  test.each([
    ['a payment whose validity is a text', { maxTimeoutSeconds: '60' }, /valid for 60 s/],
    ['a payment that lasts for an hour', { maxTimeoutSeconds: 3_600 }, /valid for 3600 s/],
    [
      'another payee',
      { payTo: '0x000000000000000000000000000000000000bEEF' },
      /0x0*bEEF on eip155/,
    ],
    [
      'another network',
      { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' },
      /on eip155:84532, which is not a payee of the first quote/,
    ],
    ['another token', { asset: '0x000000000000000000000000000000000000dEaD' }, /offers no USDC/],
    ['an approval', { extra: { assetTransferMethod: 'permit2' } }, /offers no USDC/],
    ['a scheme without bounds', { scheme: 'upto' }, /offers no USDC/],
  ])('and quotes %s after its first quote gets no signature', async (_what, change, message) => {
    const { pay, signatures } = await wallet(0n)
    const lie = problem('data_stale', { detail: 'Nothing was charged.' }, LIE)
    let quotes = 0
    const fetch: ClientOptions['fetch'] = async (_url, { headers }) => {
      if (headers['payment-signature'] !== undefined)
        return new Response(lie.body, { status: lie.status })
      quotes += 1
      return quoting(quotes === 1 ? {} : change)
    }
    const client = clientOf({ url: 'http://liar.example' }, { pay, fetch })
    await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(RefusedError)
    const failure = await client.about('pulse', 'ETH').catch((cause: unknown) => cause)
    expect(failure).toBeInstanceOf(UnpayableError)
    expect((failure as Error).message).toMatch(message)
    expect((failure as Error).message).toContain('nothing was signed')
    expect(signatures()).toBe(1)
  })

  test('whose payee is not accepted gets no signature', async () => {
    const { pay, signatures } = await wallet(0n)
    const payTo = ['0x000000000000000000000000000000000000bEEF']
    const client = clientOf({ url: 'x' }, { pay, payTo, fetch: async () => quoting({}) })
    await expect(client.about('pulse', 'BTC')).rejects.toThrow('not an accepted payee')
    expect(signatures()).toBe(0)
  })

  test('and asks for deposits beyond the budget gets none', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const scheme = new BatchSettlementEvmScheme(account)
    const sdk = new x402Client().register('eip155:8453', scheme)
    const lie = problem('data_stale', { detail: 'Nothing was charged.' }, LIE)
    const deposits: unknown[] = []
    let minDeposit = 2_000_000
    const fetch: ClientOptions['fetch'] = async (_url, { headers }) => {
      const payment = headers['payment-signature']
      if (payment !== undefined) {
        deposits.push((JSON.parse(atob(payment)) as PaymentPayload).payload['deposit'])
        return new Response(lie.body, { status: lie.status })
      }
      // Of another channel each time.
      const { address: receiverAuthorizer } = privateKeyToAccount(generatePrivateKey())
      const terms = { receiverAuthorizer, withdrawDelay: 900, minDeposit: String(minDeposit) }
      return quoting({ scheme: 'batch-settlement', extra: { ...base.domain, ...terms } })
    }
    const pay: Payer = (quote) => sdk.createPaymentPayload(quote)
    const client = clientOf({ url: 'x' }, { pay, fetch, budget: { totalUsd: 1 } })
    const refusal = 'the wallet signed a deposit of'
    await expect(client.about('pulse', 'BTC')).rejects.toThrow(`${refusal} 2 USDC`)
    expect(deposits).toEqual([])
    minDeposit = 600_000
    await expect(client.about('pulse', 'BTC')).rejects.toBeInstanceOf(RefusedError)
    await expect(client.about('pulse', 'ETH')).rejects.toThrow(`${refusal} 0.6 USDC`)
    expect(deposits).toMatchObject([{ amount: '600000' }])
  })

  test('a longer payment can be allowed', async () => {
    const { pay, signatures } = await wallet(0n)
    const fetch = async () => quoting({ maxTimeoutSeconds: 900 })
    const client = clientOf({ url: 'x' }, { pay, maxTimeoutSeconds: 900, fetch })
    await client.about('pulse', 'BTC').catch(() => undefined)
    expect(signatures()).toBe(1)
  })

  test.each([
    ['a larger amount', { value: '20001' }],
    ['another payee', { to: '0x000000000000000000000000000000000000bEEF' }],
    ['a longer life', { validBefore: String(Math.ceil(systemClock.nowMs() / 1_000) + 3_600) }],
    ['nothing that can be read', { value: '0x01' }],
  ])('with a wallet that signs %s gets nothing', async (_what, change) => {
    const { pay } = await wallet(0n)
    const sent: string[] = []
    const client = clientOf(
      { url: 'x' },
      {
        pay: async (quote) => {
          const signed = await pay(quote)
          const authorization = { ...(signed.payload['authorization'] as object), ...change }
          return { ...signed, payload: { ...signed.payload, authorization } }
        },
        fetch: async (_url, { headers }) => {
          if (headers['payment-signature'] !== undefined) sent.push(headers['payment-signature'])
          return quoting({})
        },
      },
    )
    const failure = await client.about('pulse', 'BTC').catch((cause: unknown) => cause)
    expect(failure).toBeInstanceOf(UnpayableError)
    expect((failure as Error).message).toMatch(/^the wallet signed .*; nothing was sent$/)
    expect(sent).toEqual([])
    expect(client.spentUsd).toBe(0)
  })
})

describe('an answer that is asked for again', () => {
  test('is given from memory while the service has nothing newer, and is not paid for', async () => {
    const gateway = await ground.gateway()
    const { pay, signatures, spent } = await wallet()
    const client = clientOf(gateway, { pay })
    const first = await client.about('pulse', 'BTC', {}, { reuse: true })
    const again = await client.about('pulse', 'BTC', {}, { reuse: true })
    expect(first.isReused).toBe(false)
    expect(again).toEqual({ ...first, isReused: true })
    expect(signatures()).toBe(1)
    expect(await spent()).toBe(PULSE_PRICE)
    expect(client.spentUsd).toBe(Number(PULSE_PRICE) / 1e6)
  })

  test('is bought again without a confirmation of the old one', async () => {
    const { pay, spent } = await wallet()
    const client = clientOf(await hosted(), { pay })
    const first = await client.about('pulse', 'BTC')
    const again = await client.about('pulse', 'BTC')
    expect(again.isReused).toBe(false)
    expect(again.answer).not.toEqual(first.answer)
    expect(await spent()).toBe(2n * PRICE)
  })

  test('is bought again once the service has a newer one', async () => {
    const { pay, spent } = await wallet()
    const { fetch } = meddled(async (call, go) => {
      const response = await go()
      // What it says where the snapshot is not the one that was bought any more.
      return call === 2 ? new Response('{}', { status: 200 }) : response
    })
    const client = clientOf(await hosted(), { pay, fetch })
    await client.about('pulse', 'BTC', {}, { reuse: true })
    const again = await client.about('pulse', 'BTC', {}, { reuse: true })
    expect(again).toMatchObject({ isReused: false, answer: { run: 2 } })
    expect(await spent()).toBe(2n * PRICE)
  })
})

describe('nothing is signed', () => {
  test.each([
    ['a call above the maximum of one call', { maxUsdPerCall: 0.01 }, 0],
    ['a call beyond the whole budget', { maxUsdPerCall: 1, totalUsd: PRICE_USD * 1.5 }, 1],
  ])('for %s', async (_what, budget, callsBefore) => {
    const { pay, signatures } = await wallet()
    const client = clientOf(await hosted(), { pay, budget })
    for (let call = 0; call < callsBefore; call += 1) await client.about('pulse', 'BTC')
    await expect(client.about('pulse', 'ETH')).rejects.toBeInstanceOf(UnpayableError)
    expect(signatures()).toBe(callsBefore)
  })

  test.each([
    ['a token that is not USDC', { asset: '0x000000000000000000000000000000000000dEaD' }],
    ['a network that the client does not know', { network: 'eip155:1' }],
    ['an amount that is no number of atoms', { amount: '0.01' }],
  ])('for %s', async (_what, change) => {
    const accepted = {
      scheme: 'exact',
      network: base.network,
      asset: base.asset,
      amount: '10000',
      payTo: chain.accounts.merchant.address,
      maxTimeoutSeconds: 60,
      extra: base.domain,
      ...change,
    }
    const quote = { x402Version: 2, resource: { url: 'x' }, accepts: [accepted] }
    const app = Fastify({ forceCloseConnections: true })
    app.get('/*', (_request, reply) =>
      reply
        .code(402)
        .header('payment-required', Buffer.from(JSON.stringify(quote)).toString('base64'))
        .send({}),
    )
    opened.push(app)
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const { pay, signatures } = await wallet(0n)
    await expect(clientOf({ url }, { pay }).market('screener')).rejects.toBeInstanceOf(
      UnpayableError,
    )
    expect(signatures()).toBe(0)
  })

  test('where a proxy refuses the call', async () => {
    const { pay, signatures } = await wallet(0n)
    let calls = 0
    const fetch: ClientOptions['fetch'] = async () => {
      calls += 1
      return Response.json({ message: 'Forbidden' }, { status: 403 })
    }
    await expect(
      clientOf({ url: 'http://127.0.0.1' }, { pay, fetch }).about('pulse', 'BTC'),
    ).rejects.toThrow('status 403 from an intermediary, not from the service')
    expect(calls).toBe(1)
    expect(signatures()).toBe(0)
  })

  test('where the service refuses the call itself', async () => {
    const { body, status } = problem(
      'invalid_coin',
      { detail: 'No such coin.' },
      { instance: '/pulse/NOPE', requestId: 'test' },
    )
    const { pay, signatures } = await wallet(0n)
    const fetch: ClientOptions['fetch'] = async () => new Response(body, { status })
    const refusal = await clientOf({ url: 'http://127.0.0.1' }, { pay, fetch })
      .about('pulse', 'NOPE')
      .catch((cause: unknown) => cause)
    expect(refusal).toBeInstanceOf(RefusedError)
    expect((refusal as RefusedError).problem.code).toBe('invalid_coin')
    expect(signatures()).toBe(0)
  })
})

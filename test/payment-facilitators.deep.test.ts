import { extractDiscoveryInfo } from '@x402/extensions/bazaar'
import { Command } from 'commander'
import { Registry } from 'prom-client'
import { createPublicClient, http } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { checkServeOptions } from '../src/config/check-serve.ts'
import { ConfigError } from '../src/config/config-error.ts'
import type { DoctorOptions } from '../src/config/doctor.ts'
import type { ServeOptions } from '../src/config/serve.ts'
import { serveOptions } from '../src/config/serve.ts'
import { chainOutcome, evmTransactionPays } from '../src/payment/evm/chain-outcome.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { base, baseSepolia } from '../src/payment/evm/networks.ts'
import type {
  ChainView,
  FacilitatorChange,
} from '../src/payment/facilitators/hosted-facilitators.ts'
import { HostedFacilitators } from '../src/payment/facilitators/hosted-facilitators.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { eventText } from '../src/payment/testing/event-text.ts'
import type { PaidHost, PaidHostOptions } from '../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { checkPayment } from '../src/roles/doctor/payment.ts'
import { examineFacilitators, measureFacilitators } from '../src/roles/hosted-facilitators.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { exactEvmMechanism } from './facilitator/exact-evm-mechanism.ts'
import type { FacilitatorFault, FacilitatorFaultName } from './facilitator/facilitator-fault.ts'
import { facilitatorFaults } from './facilitator/facilitator-fault.ts'
import type {
  FacilitatorOperation,
  FacilitatorRequest,
  SimulatedFacilitator,
} from './facilitator/simulated-facilitator.ts'
import { startSimulatedFacilitator } from './facilitator/simulated-facilitator.ts'
import { ManualClock } from './support/manual-clock.ts'
import { putUsdc } from './support/usdc-balance.ts'

const FUNDS = 1_000_000n
const KEY = 'Bearer sk_live_f00dfeed'
/** By a clock that a test advances where a facilitator hangs, and that stands still where one replies. */
const bounds = { verifyMsMax: 5_000, settleMsMax: 5_000 }
const exactOnBase = { scheme: 'exact', network: base.network, asset: base.asset }

let chain: EvmChain
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
})

afterAll(() => chain?.close())

type Stage = SimulatedFacilitator & {
  /** Received requests, in order. */
  readonly asked: readonly FacilitatorRequest[]
  /** Sets the fault of all further requests of that kind; null ends it. */
  inject(operation: FacilitatorOperation, fault: FacilitatorFault | null): void
}

async function facilitator(authorization?: string): Promise<Stage> {
  const faults = new Map<FacilitatorOperation, FacilitatorFault | null>()
  const asked: FacilitatorRequest[] = []
  const { privateKey } = chain.accounts.facilitator
  const simulated = await startSimulatedFacilitator({
    mechanism: exactEvmMechanism(chain.rpcUrl, privateKey),
    clock: systemClock,
    faultOf: (request) => {
      asked.push(request)
      return faults.get(request.operation) ?? null
    },
    ...(authorization === undefined ? {} : { authorization }),
  })
  opened.push(simulated)
  return Object.assign(simulated, {
    asked,
    inject: (operation: FacilitatorOperation, fault: FacilitatorFault | null) =>
      void faults.set(operation, fault),
  })
}

function hosted(
  facilitators: readonly Pick<SimulatedFacilitator, 'url'>[],
  {
    clock = new ManualClock(),
    authorization,
  }: { clock?: ManualClock; authorization?: string } = {},
) {
  const notices: FacilitatorChange[] = []
  const callClock = new ManualClock()
  const group = new HostedFacilitators({
    addresses: facilitators.map(({ url }) => ({
      url,
      ...(authorization === undefined ? {} : { authorization }),
    })),
    clock,
    callClock,
    chance: () => 0,
    bounds,
    onNotice: (notice) => notices.push(notice),
  })
  opened.push({ close: async () => group.stop() })
  return { group, clock, callClock, notices }
}

/** Client of the chain's node. */
const node = () => createPublicClient({ transport: http(chain.rpcUrl) })
const onChain: ChainView<ExactEvmPayment> = {
  outcome: (payment) => chainOutcome(node(), payment),
  isPaidBy: (payment, transaction) => evmTransactionPays(node(), payment, transaction),
}

async function selling(
  group: HostedFacilitators,
  options: Partial<PaidHostOptions> = {},
): Promise<PaidHost> {
  const host = await startPaidHost({
    payTo: chain.accounts.merchant.address,
    facilitator: group.of<ExactEvmPayment>(exactOnBase, onChain),
    clock: new ManualClock(systemClock.nowMs()),
    ...options,
  })
  opened.push(host)
  return host
}

async function fundedBuyer(): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, FUNDS)
  return buyer
}

async function paymentOf(buyer: PrivateKeyAccount): Promise<string> {
  const payTo = chain.accounts.merchant.address
  const nowMs = systemClock.nowMs()
  return encodedPayment(await signedPayload(buyer, { amount: PRICE, payTo, nowMs }))
}

async function buy(host: PaidHost, payment: string, path = '/pulse/BTC') {
  const response = await fetch(host.url + path, { headers: { 'payment-signature': payment } })
  const text = await response.text()
  return { status: response.status, headers: response.headers, problem: () => JSON.parse(text) }
}

const spent = async (buyer: PrivateKeyAccount) => FUNDS - (await chain.balanceOf(buyer.address))

const never: readonly FacilitatorFaultName[] = ['cut', 'hangs', 'garbage', 'nonsense', 'status 500']
const rejected: readonly FacilitatorFaultName[] = ['status 401', 'status 429']
const perhaps: readonly FacilitatorFaultName[] = [
  ...never,
  ...(['drops its answer', 'acts and hangs', 'acts and fails', 'acts and talks garbage'] as const),
  ...(['pending', 'confirms late', 'fails and acts later', 'reverts'] as const),
  'acts and says that it failed',
]

describe('several facilitators', () => {
  test('are asked in order of preference', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const buyer = await fundedBuyer()
    expect((await buy(await selling(group), await paymentOf(buyer))).status).toBe(200)
    expect(first.calls).toMatchObject({ verify: 1, settle: 1 })
    expect(second.calls).toMatchObject({ verify: 0, settle: 0 })
    expect(await spent(buyer)).toBe(PRICE)
  })

  test.each([...never, ...rejected])(
    'stand in for one whose verification ends with "%s", and for the next payment at once',
    async (fault) => {
      const [first, second] = [await facilitator(), await facilitator()]
      const { group, callClock } = hosted([first, second])
      const host = await selling(group)
      const buyer = await fundedBuyer()
      first.inject('verify', facilitatorFaults[fault])
      const sold = buy(host, await paymentOf(buyer))
      if (fault === 'hangs') {
        await expect.poll(() => first.calls.verify).toBe(1)
        callClock.advance(bounds.verifyMsMax)
      }
      expect((await sold).status).toBe(200)
      expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
      expect(first.calls, 'who verifies, settles').toMatchObject({ verify: 1, settle: 0 })
      expect(second.calls).toMatchObject({ verify: 2, settle: 2 })
      expect(await spent(buyer)).toBe(2n * PRICE)
    },
  )

  test.each(rejected)(
    'settle in place of one that said "%s", and surely never began',
    async (fault) => {
      const [first, second] = [await facilitator(), await facilitator()]
      const { group } = hosted([first, second])
      const buyer = await fundedBuyer()
      first.inject('settle', facilitatorFaults[fault])
      expect((await buy(await selling(group), await paymentOf(buyer))).status).toBe(200)
      expect([first.calls.settle, second.calls.settle]).toEqual([1, 1])
      expect(await spent(buyer)).toBe(PRICE)
    },
  )

  test('settle in place of one that went away after it had verified', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const host = await selling(group, { atWork: () => first.goDown() })
    const buyer = await fundedBuyer()
    expect((await buy(host, await paymentOf(buyer), '/slow/BTC')).status).toBe(200)
    expect([first.calls.settle, second.calls.settle]).toEqual([0, 1])
    expect(await spent(buyer)).toBe(PRICE)
  })

  test.each(perhaps)('never settle what may be under way elsewhere, after "%s"', async (fault) => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group, callClock } = hosted([first, second])
    const host = await selling(group)
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    first.inject('settle', facilitatorFaults[fault])
    const answer = buy(host, payment)
    if (fault === 'hangs' || fault === 'acts and hangs') {
      await expect.poll(() => first.calls.settle).toBe(1)
      if (fault === 'acts and hangs') await expect.poll(() => spent(buyer)).toBe(PRICE)
      callClock.advance(bounds.settleMsMax)
    }
    const open = await answer
    expect(open.status, 'a 402 would make the buyer pay twice').toBe(503)
    expect(open.problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    first.inject('settle', null)
    await expect.poll(async () => (await buy(host, payment)).status).toBe(200)
    expect(host.runs(), 'the answer is the stored one').toBe(1)
    expect(second.calls.settle).toBe(0)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('wait for the one that holds a pending payment, also while it is down', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const host = await selling(group)
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    first.inject('settle', facilitatorFaults.cut)
    expect((await buy(host, payment)).problem()).toMatchObject({ code: 'settlement_unknown' })
    first.inject('settle', null)
    await first.goDown()
    expect((await buy(host, payment)).problem()).toMatchObject({ code: 'settlement_unknown' })
    expect(second.calls.settle).toBe(0)
    await first.comeBack()
    expect((await buy(host, payment)).status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('keep a pending payment with its holder, also after a refusal', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const host = await selling(group)
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    for (const fault of ['cut', 'refuses', 'status 429'] as const) {
      first.inject('settle', facilitatorFaults[fault])
      const { problem } = await buy(host, payment)
      expect(problem(), fault).toMatchObject({ code: 'settlement_unknown', charged: null })
    }
    expect([first.calls.settle, second.calls.settle]).toEqual([3, 0])
    first.inject('settle', null)
    expect((await buy(host, payment)).status).toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('without access to the chain leave an unknown outcome unknown', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const facilitatorOfNone = group.of<ExactEvmPayment>(exactOnBase)
    const host = await selling(group, { facilitator: facilitatorOfNone })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    first.inject('settle', facilitatorFaults['drops its answer'])
    for (const _ of [1, 2])
      expect((await buy(host, payment)).problem()).toMatchObject({ code: 'settlement_unknown' })
    expect(second.calls.settle).toBe(0)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('trust a refusal without asking another facilitator', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const host = await selling(group)
    const poor = await buy(host, await paymentOf(newBuyer()))
    expect(poor.status).toBe(402)
    const buyer = await fundedBuyer()
    first.inject('settle', facilitatorFaults.refuses)
    expect((await buy(host, await paymentOf(buyer))).status).toBe(402)
    expect(second.calls).toMatchObject({ verify: 0, settle: 0 })
    expect(await spent(buyer)).toBe(0n)
  })

  test.each(['invalid_payload', 'invalid_exact_evm_transaction_simulation_failed'])(
    'that say "%s" of a payment that has paid us already do not make its buyer pay again',
    async (reason) => {
      const first = await facilitator()
      const { group } = hosted([first])
      const buyer = await fundedBuyer()
      const payment = await paymentOf(buyer)
      expect((await buy(await selling(group), payment)).status).toBe(200)
      const another = await selling(group)
      first.inject('verify', { acts: 'never', answer: { reason } })
      expect((await buy(another, payment)).status, 'nothing was begun there').toBe(409)
      expect((await buy(another, await paymentOf(buyer))).status, 'this one has not').toBe(402)
      expect(await spent(buyer)).toBe(PRICE)
    },
  )

  test('that screen out a wallet still serve all others, and no other facilitator serves that wallet', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const host = await selling(group)
    first.inject('verify', { acts: 'never', answer: { screens: 'kyt_risk_detected' } })
    const refused = await buy(host, await paymentOf(await fundedBuyer()))
    expect(refused.status).toBe(402)
    expect(refused.problem()).toMatchObject({ diagnostics: { reason: 'payer_declined' } })
    expect(second.calls.verify).toBe(0)
    first.inject('verify', null)
    expect((await buy(host, await paymentOf(await fundedBuyer()))).status).toBe(200)
    expect(first.calls, 'it is in service still').toMatchObject({ verify: 2, settle: 1 })
  })

  test('that are all down charge nothing, and the same payment is accepted after a recovery', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const host = await selling(group)
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    await Promise.all([first.goDown(), second.goDown()])
    const refused = await buy(host, payment)
    expect(refused.status).toBe(503)
    expect(refused.problem()).toMatchObject({
      code: 'facilitator_unavailable',
      charged: false,
      payment_reusable: true,
    })
    await second.comeBack()
    expect((await buy(host, payment)).status, 'who is down is tried when all are').toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('a success without a transaction does not count', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group)
    const payment = await paymentOf(await fundedBuyer())
    first.inject('settle', { acts: 'never', answer: { success: '' } })
    expect((await buy(host, payment)).problem()).toMatchObject({ code: 'settlement_unknown' })
  })
})

describe('what a facilitator says of a settlement', () => {
  const MADE_UP = `0x${'ab'.repeat(32)}`

  test.each([
    ['on another network', { network: 'eip155:84532' }],
    ['of another payer', { payer: `0x${'12'.repeat(20)}` }],
    ['of another amount', { amount: '1' }],
    ['in what is no transaction', { transaction: 'yes' }],
  ])('%s is not believed; the chain decides', async (_what, says) => {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group)
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    first.inject('settle', { acts: 'first', answer: { says } })
    const open = await buy(host, payment)
    expect(open.problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    expect(host.events.at(-1)).toMatchObject({
      kind: 'open',
      reason: expect.stringContaining('in the answer'),
    })
    expect((await buy(host, payment)).status, 'it is paid, as the chain has it').toBe(200)
    expect(first.calls.settle).toBe(1)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('in a transaction that the chain does not know gets no answer, and is cleared up', async () => {
    const first = await facilitator()
    const { group, clock } = hosted([first])
    let [asked, answered] = [0, 0]
    const isPaidBy: typeof onChain.isPaidBy = async (...question) => {
      asked += 1
      return onChain.isPaidBy(...question).finally(() => {
        answered += 1
      })
    }
    const host = await selling(group, {
      facilitator: group.of(exactOnBase, { ...onChain, isPaidBy }),
    })
    const buyer = await fundedBuyer()
    const payment = await paymentOf(buyer)
    first.inject('settle', { acts: 'never', answer: { success: MADE_UP } })
    const answer = buy(host, payment)
    // Time passes between the questions only: a node that does not answer in time would be no contradiction.
    await expect
      .poll(() => {
        if (asked > 0 && asked === answered) clock.advance(1_000)
        return group.reports()[0]?.state
      })
      .toBe('down')
    expect((await answer).problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    expect(host.events.at(-1)).toMatchObject({
      kind: 'open',
      reason: expect.stringContaining(MADE_UP),
    })
    expect(await spent(buyer)).toBe(0n)
    first.inject('settle', null)
    expect((await buy(host, payment)).status, 'the same payment, settled in truth').toBe(200)
    expect(await spent(buyer)).toBe(PRICE)
  })

  test('in the transaction of another payment gets no answer', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group)
    expect((await buy(host, await paymentOf(await fundedBuyer()))).status).toBe(200)
    const transaction = host.events.find(({ kind }) => kind === 'settled')?.transaction ?? ''
    const buyer = await fundedBuyer()
    first.inject('settle', { acts: 'never', answer: { success: transaction } })
    const { problem } = await buy(host, await paymentOf(buyer))
    expect(problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    expect(await spent(buyer)).toBe(0n)
  })

  test('is believed while the node does not answer', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    const away = createPublicClient({ transport: http('http://127.0.0.1:1', { retryCount: 0 }) })
    const view: ChainView<ExactEvmPayment> = {
      ...onChain,
      isPaidBy: (payment, transaction) => evmTransactionPays(away, payment, transaction),
    }
    const host = await selling(group, { facilitator: group.of(exactOnBase, view) })
    expect((await buy(host, await paymentOf(await fundedBuyer()))).status).toBe(200)
  })

  test.each([
    ['fails', () => Promise.reject(new Error('503'))],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('is not believed when a node that did not know the transaction %s', async (_how, later) => {
    const first = await facilitator()
    const { group, clock } = hosted([first])
    let questions = 0
    const isPaidBy = () => (questions++ === 0 ? Promise.resolve(null) : later())
    const host = await selling(group, {
      facilitator: group.of(exactOnBase, { ...onChain, isPaidBy }),
    })
    const buyer = await fundedBuyer()
    first.inject('settle', { acts: 'never', answer: { success: MADE_UP } })
    const answer = buy(host, await paymentOf(buyer))
    await expect.poll(() => questions).toBeGreaterThan(0)
    await expect.poll(() => advanced(clock, () => group.reports()[0]?.state)).toBe('down')
    expect((await answer).problem()).toMatchObject({ code: 'settlement_unknown', charged: null })
    expect(await spent(buyer)).toBe(0n)
  })

  test('of a payment that was verified for another payer is not sought elsewhere than with the next', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group } = hosted([first, second])
    const buyer = await fundedBuyer()
    first.inject('verify', { answer: { says: { payer: `0x${'12'.repeat(20)}` } } })
    expect((await buy(await selling(group), await paymentOf(buyer))).status).toBe(200)
    expect([first.calls.settle, second.calls.settle]).toEqual([0, 1])
  })

  test('in 50 KB leaves headers that clients can read', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group)
    const reason = `invalid_${'nonsense '.repeat(6_000)}`
    for (const operation of ['verify', 'settle'] as const) {
      first.inject(operation, { acts: 'never', answer: { reason } })
      const payment = await paymentOf(await fundedBuyer())
      const response = await fetch(`${host.url}/pulse/BTC`, {
        headers: { 'payment-signature': payment },
      })
      expect([402, 503], operation).toContain(response.status)
      const bytes = [...response.headers].flat().join('').length + (await response.text()).length
      expect(bytes).toBeLessThan(8_000)
      first.inject(operation, null)
    }
    expect(eventText(host.events).length).toBeLessThan(4_000)
  })
})

describe('a buyer is informed of a facilitator', () => {
  test.each(['verify', 'settle'] as const)(
    'that asks for patience how long to wait: %s',
    async (operation) => {
      const [first, second] = [await facilitator(), await facilitator()]
      const { group } = hosted([first, second])
      const host = await selling(group)
      for (const [one, seconds] of [
        [first, '90'],
        [second, '45'],
      ] as const)
        one.inject(operation, {
          acts: 'never',
          answer: { status: 429 },
          headers: { 'retry-after': seconds },
        })
      const refused = await buy(host, await paymentOf(await fundedBuyer()))
      expect(refused.headers.get('retry-after'), 'of the one that is ready first').toBe('45')
      expect(refused.problem()).toMatchObject({
        code: 'facilitator_unavailable',
        charged: false,
        payment_reusable: true,
        retry_after: 45,
      })
    },
  )

  test.each(['verify', 'settle'] as const)(
    'that will never take this payment so: %s',
    async (operation) => {
      const [first, second] = [await facilitator(), await facilitator()]
      const { group } = hosted([first, second])
      const host = await selling(group)
      const buyer = await fundedBuyer()
      for (const one of [first, second])
        one.inject(operation, { acts: 'never', answer: { status: 400 } })
      const refused = await buy(host, await paymentOf(buyer))
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBeNull()
      expect(refused.problem()).toMatchObject({
        code: 'facilitator_refused',
        retryable: false,
        charged: false,
        payment_reusable: false,
      })
      second.inject(operation, null)
      expect((await buy(host, await paymentOf(buyer))).status, 'another one may').toBe(200)
    },
  )

  test('that rejects our authorization, with a longer retry time', async () => {
    const first = await facilitator('Bearer another')
    const { group } = hosted([first], { authorization: KEY })
    const host = await selling(group)
    for (const _ of [1, 2]) {
      const { problem } = await buy(host, await paymentOf(await fundedBuyer()))
      expect(problem()).toMatchObject({ code: 'facilitator_unavailable', retry_after: 60 })
    }
  })
})

describe('a catalogue', () => {
  const bazaar = {
    info: {
      input: { type: 'http', method: 'GET', pathParams: { coin: 'BTC' } },
      output: { type: 'json', example: { coin: 'BTC' } },
    },
    schema: {
      type: 'object',
      properties: { input: { type: 'object' }, output: { type: 'object' } },
      required: ['input'],
    },
    routeTemplate: '/pulse/:coin',
  }
  const route = {
    catalogued: { bazaar },
    extensionsOf: () => ({
      bazaar,
      'answer-preview': { info: { etag: '"1"' } },
      'answer-access': { info: { secret: 'f00dfeed' } },
    }),
  }
  const resource = {
    url: 'https://api.example.com/pulse/BTC',
    description: 'Sells /pulse/:coin',
    mimeType: 'application/json',
  }

  async function asked(payment: string, name = 'payment-signature') {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group, { route })
    const response = await fetch(`${host.url}/pulse/BTC`, { headers: { [name]: payment } })
    expect(response.status).toBe(200)
    return first.asked.map(({ payload }) => payload)
  }

  test('receives what we publish of the resource, and nothing else that was quoted or echoed', async () => {
    const buyer = await fundedBuyer()
    const payTo = chain.accounts.merchant.address
    const signed = await signedPayload(buyer, { amount: PRICE, payTo, nowMs: systemClock.nowMs() })
    const echoed = {
      ...signed,
      resource: { url: 'https://evil.example', description: 'not ours' },
      extensions: { ...route.extensionsOf(), 'of-the-buyer': { info: {} } },
    }
    const payloads = await asked(encodedPayment(echoed))
    expect(payloads).toHaveLength(2)
    for (const payload of payloads) {
      expect(payload).toMatchObject({ x402Version: 2, resource, extensions: { bazaar } })
      expect(Object.keys(payload?.extensions ?? {})).toEqual(['bazaar'])
      expect(JSON.stringify(payload)).not.toMatch(/f00dfeed|evil|of-the-buyer|not ours/)
    }
  })

  test('lists what buyers of version 1 pay for, too', async () => {
    const buyer = await fundedBuyer()
    const payTo = chain.accounts.merchant.address
    const nowMs = systemClock.nowMs()
    const signed = await signedPayload(buyer, { amount: PRICE, payTo, nowMs, version: 1 })
    const payloads = await asked(encodedPayment(signed), 'x-payment')
    for (const payload of payloads) {
      if (payload === null) throw new Error('both have a body')
      expect(extractDiscoveryInfo(payload, payload.accepted)).toMatchObject({
        resourceUrl: expect.stringContaining('https://api.example.com/pulse/'),
        method: 'GET',
        x402Version: 2,
        description: resource.description,
        mimeType: resource.mimeType,
      })
    }
  })

  test('is not stored in the ledger', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group, { route })
    first.inject('settle', facilitatorFaults['drops its answer'])
    await buy(host, await paymentOf(await fundedBuyer()))
    expect(JSON.stringify(first.asked)).toContain('bazaar')
    const kept = await host.ledger.nextOpen(Number.MAX_SAFE_INTEGER, systemClock.nowMs())
    expect(kept).not.toBeNull()
    expect(JSON.stringify(kept?.wire)).not.toContain('bazaar')
  })

  test('sends its result to the buyer', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    const host = await selling(group, { route })
    const header = Buffer.from('{"bazaar":{"status":"processing"}}').toString('base64')
    first.inject('settle', { headers: { 'extension-responses': header } })
    const sold = await buy(host, await paymentOf(await fundedBuyer()))
    expect(sold.headers.get('extension-responses')).toBe(header)
  })
})

describe('a facilitator that does not take our authorization', () => {
  test('is not used until a probe succeeds, is reported once, and its key stays secret', async () => {
    const [first, second] = [await facilitator('Bearer another'), await facilitator()]
    const { group, notices } = hosted([first, second], { authorization: KEY })
    const host = await selling(group)
    const buyer = await fundedBuyer()
    expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
    expect((await buy(host, await paymentOf(buyer))).status).toBe(200)
    expect(first.calls.verify).toBe(1)
    expect(notices.filter(({ state }) => state === 'refusing')).toHaveLength(1)
    expect(group.reports()[0]).toMatchObject({ state: 'refusing', isInUse: false })
    expect(group.reports()[0]?.lastError?.reason).toContain('401')
    const words = JSON.stringify([notices, group.reports(), eventText(host.events)])
    expect(words).toContain('unknown key')
    expect(words).not.toContain('f00dfeed')
  })

  test('is not asked even without another facilitator', async () => {
    const first = await facilitator('Bearer another')
    const { group } = hosted([first], { authorization: KEY })
    const host = await selling(group)
    const buyer = await fundedBuyer()
    for (const _ of [1, 2, 3]) {
      const { problem } = await buy(host, await paymentOf(buyer))
      expect(problem()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
    }
    expect(first.calls.verify).toBe(1)
  })

  test('receives the configured key', async () => {
    const first = await facilitator(KEY)
    const { group } = hosted([first], { authorization: KEY })
    expect((await group.examine())[0]?.can).toEqual([])
    expect((await buy(await selling(group), await paymentOf(await fundedBuyer()))).status).toBe(200)
  })
})

describe('a facilitator that is out of service', () => {
  test('is probed with growing pauses and used again after its recovery', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group, clock, notices } = hosted([first, second])
    const host = await selling(group)
    group.start()
    first.inject('verify', facilitatorFaults.cut)
    first.inject('supported', facilitatorFaults['status 500'])
    const buyer = await fundedBuyer()
    await buy(host, await paymentOf(buyer))
    expect(group.reports().map(({ state, isInUse }) => [state, isInUse])).toEqual([
      ['down', false],
      ['up', true],
    ])
    clock.advance(999)
    expect(first.calls.supported).toBe(0)
    clock.advance(1)
    await expect.poll(() => group.reports()[0]?.lastError?.reason).toContain('500')
    first.inject('supported', null)
    first.inject('verify', null)
    clock.advance(1_000)
    await expect.poll(() => group.reports()[0]?.state).toBe('up')
    expect(group.reports()[0]?.isInUse).toBe(true)
    expect(notices.filter(({ name }) => name === first.url).map(({ state }) => state)).toEqual([
      'down',
      'up',
    ])
    await buy(host, await paymentOf(buyer))
    expect(first.calls).toMatchObject({ verify: 2, settle: 1 })
  })

  test('because it no longer supports our terms is not asked for payments', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    const { group, clock } = hosted([first, second])
    const host = await selling(group)
    group.start()
    first.inject('supported', { acts: 'never', answer: { supports: [] } })
    clock.advance(60_000)
    await expect.poll(() => group.reports()[0]?.state).toBe('unfit')
    expect((await buy(host, await paymentOf(await fundedBuyer()))).status).toBe(200)
    expect(first.calls.verify).toBe(0)
  })

  test('is no longer asked after the end', async () => {
    const first = await facilitator()
    const { group, clock } = hosted([first])
    await selling(group)
    group.start()
    group.stop()
    clock.advance(600_000)
    expect(first.calls.supported).toBe(0)
  })
})

describe('before anything is sold', () => {
  test('a facilitator that answers without supporting our terms is a configuration error', async () => {
    const first = await facilitator()
    const { group } = hosted([first])
    group.of({ scheme: 'exact', network: baseSepolia.network, asset: baseSepolia.asset })
    await expect(examineFacilitators(group)).rejects.toThrow(
      `${first.url} (--facilitator-url) answers and does not support exact on eip155:84532`,
    )
    await expect(examineFacilitators(group)).rejects.toBeInstanceOf(ConfigError)
  })

  test('one that is down, or supports them, is no error', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    await first.goDown()
    const { group } = hosted([first, second])
    group.of(exactOnBase)
    await expect(examineFacilitators(group)).resolves.toBeUndefined()
    expect(group.reports().map(({ state }) => state)).toEqual(['down', 'up'])
  })

  test('metrics show which are up, and which one is in use', async () => {
    const [first, second] = [await facilitator(), await facilitator()]
    await first.goDown()
    const { group } = hosted([first, second])
    group.of(exactOnBase)
    await group.examine()
    const metrics = new Registry()
    measureFacilitators(group, metrics)
    const text = await metrics.metrics()
    for (const [name, { url }, value] of [
      ['up', first, 0],
      ['up', second, 1],
      ['in_use', first, 0],
      ['in_use', second, 1],
    ] as const)
      expect(text).toContain(`perpscope_facilitator_${name}{facilitator="${url}"} ${value}\n`)
  })

  test('the doctor prints a line for each, without secrets', async () => {
    const [well, gone, other] = [await facilitator(), await facilitator(), await facilitator(KEY)]
    await gone.goDown()
    const options = {
      role: 'all',
      payment: 'x402',
      network: 'base',
      host: '127.0.0.1',
      adminHost: '127.0.0.1',
      port: 8402,
      payTo: chain.accounts.merchant.address,
      rpcUrl: chain.rpcUrl,
      facilitatorUrl: [well.url, `${gone.url}/?key=f00dfeed`, other.url],
      facilitatorAuth: ['', '', 'Bearer sk_live_f00dfeed_old'],
    } as unknown as DoctorOptions
    const findings = await checkPayment(options)
    expect(findings.map(({ check, status }) => [check, status])).toEqual([
      ['ways to pay', 'ok'],
      [`facilitator ${well.url}`, 'ok'],
      [`facilitator ${gone.url}`, 'warn'],
      [`facilitator ${other.url}`, 'fail'],
    ])
    expect(findings[1]?.found).toBe('supports exact on eip155:8453')
    expect(findings[2]?.found).toContain('ECONNREFUSED')
    expect(findings[3]?.advice).toContain('--facilitator-auth')
    expect(JSON.stringify(findings)).not.toContain('f00dfeed')
  })
})

describe('--facilitator-url', () => {
  const [A, B] = ['https://a.example', 'https://b.example/x402']

  test('may be repeated, or be a list in the variable', () => {
    expect(parsed(['--facilitator-url', `${A}/`, '--facilitator-url', B]).facilitatorUrl).toEqual([
      A,
      B,
    ])
    expect(parsed([], { PERPSCOPE_FACILITATOR_URL: `${A} | ${B}` }).facilitatorUrl).toEqual([A, B])
    const env = { PERPSCOPE_FACILITATOR_URL: A }
    expect(parsed(['--facilitator-url', B], env).facilitatorUrl, 'a flag wins').toEqual([B])
  })

  test('takes an authorization for all, or one each, of which some may be none', () => {
    const urls = ['--facilitator-url', `${A}|${B}`, '--pay-to', `0x${'a'.repeat(40)}`]
    const env = { PERPSCOPE_FACILITATOR_AUTH: 'Bearer a|' }
    expect(parsed(urls, env).facilitatorAuth).toEqual(['Bearer a', ''])
    expect(() => checkServeOptions(parsed(urls, env))).not.toThrow()
    const one = { PERPSCOPE_FACILITATOR_AUTH: 'Bearer a' }
    expect(() => checkServeOptions(parsed(urls, one))).not.toThrow()
    const three = { PERPSCOPE_FACILITATOR_AUTH: 'Bearer a|Bearer b|Bearer c' }
    expect(() => checkServeOptions(parsed(urls, three))).toThrow(
      '--facilitator-auth has 3 values for 2 facilitators',
    )
  })
})

/** Options as parsed by `serve`. */
function parsed(args: readonly string[], env: Readonly<Record<string, string>> = {}): ServeOptions {
  const command = new Command().exitOverride()
  for (const option of serveOptions) command.addOption(option)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    return command.parse(args, { from: 'user' }).opts()
  } finally {
    vi.unstubAllEnvs()
  }
}

function advanced<T>(clock: ManualClock, read: () => T): T {
  clock.advance(1_000)
  return read()
}

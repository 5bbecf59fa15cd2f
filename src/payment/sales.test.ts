import { fc, test as property } from '@fast-check/vitest'
import Fastify from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { ContractPayers } from './evm/contract-payers.ts'
import { exactEvm } from './evm/exact-evm.ts'
import { base, baseSepolia } from './evm/networks.ts'
import { LedgerBusyError } from './ledger/ledger.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import type { Facilitator, Outcome, Settlement, Verification } from './payment.ts'
import type { PaymentLimits } from './payment-limits.ts'
import { payments } from './plugin.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'
import { newSecret } from './testing/new-secret.ts'
import { PRICE, startPaidHost } from './testing/paid-host.ts'

const payTo = '0x00000000000000000000000000000000000000A1'
const NOW_MS = Date.UTC(2026, 0, 1)
const TRANSACTION = `0x${'12'.repeat(32)}`
const NONCE_USED = 'invalid_exact_evm_nonce_already_used'

const header = encodedPayment(
  await signedPayload(newBuyer(), { amount: 20_000n, payTo, nowMs: NOW_MS }),
)

/**
 * What goes wrong around one request. `minedBefore`: a stranger submitted the authorization, or a
 * transaction that was thought lost is mined at last. Before a settlement was begun here it buys nothing. `settle` says whether the transfer happened and what was heard. */
type Trouble = {
  readonly minedBefore: boolean
  readonly verify: 'works' | 'unreachable' | 'throws'
  readonly settle:
    | 'works'
    | 'unreachable'
    | 'rejects'
    | 'done, reply lost'
    | 'not done, reply lost'
    | 'done, throws'
    | 'done, called rejected'
    | 'done, called failed'
  readonly outcome: 'works' | 'unknown' | 'throws'
  readonly handler: 200 | 404 | 500 | 503
  readonly copies: 1 | 2
  readonly crashAfter: boolean
}

const trouble: fc.Arbitrary<Trouble> = fc.record({
  minedBefore: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  verify: fc.constantFrom('works', 'works', 'works', 'unreachable', 'throws'),
  settle: fc.constantFrom(
    'works',
    'unreachable',
    'rejects',
    'done, reply lost',
    'not done, reply lost',
    'done, throws',
    'done, called rejected',
    'done, called failed',
  ),
  outcome: fc.constantFrom('works', 'works', 'unknown', 'throws'),
  handler: fc.constantFrom(200, 200, 200, 404, 500, 503),
  copies: fc.constantFrom(1, 2),
  crashAfter: fc.boolean(),
})

/** One payment's nonce on a chain, and a facilitator that tells the truth about it when it works. */
class NonceOnChain implements Facilitator {
  transfers = 0
  /** Whether the service ever began to settle here: before it has, the money of a used nonce was not for it. */
  wasAsked = false
  trouble: Trouble | null = null
  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  async verify(): Promise<Verification> {
    if (this.trouble?.verify === 'throws') throw new Error('verify broke')
    if (this.trouble?.verify === 'unreachable') return { kind: 'unreachable', reason: 'down' }
    return this.transfers > 0 ? { kind: 'invalid', reason: NONCE_USED } : { kind: 'valid' }
  }

  async settle(): Promise<Settlement> {
    this.wasAsked = true
    const fault = this.trouble?.settle ?? 'works'
    if (fault === 'unreachable') return { kind: 'unreachable', reason: 'down' }
    if (fault === 'rejects') return { kind: 'rejected', reason: 'insufficient_funds' }
    const lost: Settlement = { kind: 'unknown', reason: 'reply lost', transaction: null }
    if (fault === 'not done, reply lost') return lost
    if (this.transfers > 0) return { kind: 'rejected', reason: 'nonce_already_used' }
    this.transfers += 1
    if (fault === 'done, reply lost') return lost
    if (fault === 'done, throws') throw new Error('settle broke')
    if (fault === 'done, called rejected') return { kind: 'rejected', reason: 'nonce_already_used' }
    if (fault === 'done, called failed') return { kind: 'rejected', reason: 'simulation_failed' }
    return { kind: 'settled', transaction: TRANSACTION }
  }

  async outcome(): Promise<Outcome> {
    if (this.trouble?.outcome === 'throws') throw new Error('outcome broke')
    if (this.trouble?.outcome === 'unknown') return { kind: 'unknown', reason: 'no view' }
    return this.transfers > 0
      ? { kind: 'settled', transaction: TRANSACTION }
      : { kind: 'unused', asOfSeconds: this.#clock.nowMs() / 1_000 }
  }
}

/** Settles everything. @param verification of the moment */
function verifiedAs(verification: () => Verification): Facilitator {
  const settled = async () => ({ kind: 'settled', transaction: TRANSACTION }) as const
  return { verify: async () => verification(), settle: settled, outcome: settled }
}

test('a known payer whose authorizations were used elsewhere is limited like a new one', async () => {
  const buyer = newBuyer()
  let verification: Verification = { kind: 'valid' }
  const facilitator = verifiedAs(() => verification)
  const host = await startPaidHost({
    ...{ payTo, facilitator, clock: new ManualClock(NOW_MS) },
    limits: { unverifiedPaymentsPerAddressPerMinute: 1 },
  })
  onTestFinished(() => host.close())
  const statuses: number[] = []
  for (const _ of [1, 2, 3]) {
    const payload = await signedPayload(buyer, { amount: PRICE, payTo, nowMs: NOW_MS })
    const headers = { 'payment-signature': encodedPayment(payload) }
    statuses.push((await host.app.inject({ url: '/pulse/BTC', headers })).statusCode)
    verification = { kind: 'invalid', reason: NONCE_USED }
  }
  expect(statuses, 'the third takes a place of its address').toEqual([200, 409, 429])
})

test('an authorization that was used elsewhere uses none of the sales of its wallet, from any address', async () => {
  const buyer = newBuyer()
  let verification: Verification = { kind: 'invalid', reason: NONCE_USED }
  const facilitator = verifiedAs(() => verification)
  const host = await startPaidHost({
    ...{ payTo, facilitator, clock: new ManualClock(NOW_MS) },
    limits: { paidCallsPerWalletPerMinute: 2 },
  })
  onTestFinished(() => host.close())
  const signed = async () =>
    encodedPayment(await signedPayload(buyer, { amount: PRICE, payTo, nowMs: NOW_MS }))
  const present = async (payment: string, remoteAddress: string) => {
    const headers = { 'payment-signature': payment }
    return (await host.app.inject({ url: '/pulse/BTC', headers, remoteAddress })).statusCode
  }
  const onChain = await signed()
  const strangers = ['203.0.113.1', '203.0.113.2', '203.0.113.3']
  for (const stranger of strangers) expect(await present(onChain, stranger)).toBe(409)
  const atOnce = strangers.map((stranger) => present(onChain, stranger))
  expect(await Promise.all(atOnce)).toEqual([409, 409, 409])
  verification = { kind: 'valid' }
  expect(await present(await signed(), '198.51.100.1')).toBe(200)
  expect(await present(await signed(), '198.51.100.1')).toBe(200)
  expect(await present(await signed(), '198.51.100.1'), 'its own sales count').toBe(429)
})

test('a sale reads its payment from the ledger twice', async () => {
  const clock = new ManualClock(NOW_MS)
  const calls: (string | symbol)[] = []
  const ledger = new Proxy(new SqliteLedger(':memory:'), {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        calls.push(name)
        return member.apply(target, args)
      }
    },
  })
  const app = Fastify()
  await app.register(payments, {
    methods: [exactEvm({ network: base, payTo, facilitator: new NonceOnChain(clock) })],
    ...{ ledger, clock, newSecret, publicUrl: 'https://api.example.com' },
  })
  const config = { x402: { priceUsdcAtomic: 20_000n, description: 'pulse' } }
  app.get('/pulse', { config }, (_request, reply) => reply.send(Buffer.from('answer')))
  const { statusCode } = await app.inject({ url: '/pulse', headers: { 'x-payment': header } })
  expect(statusCode).toBe(200)
  const ofSale = calls.filter((name) => name !== 'interrupted' && name !== 'nextOpen')
  expect(ofSale).toEqual(['find', 'find', 'hasSettled', 'begin', 'move'])
  await app.close()
  await ledger.close()
})

describe('a payment whose settlement was begun', () => {
  /** What the facilitator and the chain report from then on. */
  type Reports = { verification: Verification; settlement: Settlement; outcome: Outcome }
  const used: Verification = { kind: 'invalid', reason: 'invalid_exact_evm_nonce_already_used' }
  const noChain: Outcome = { kind: 'unknown', reason: 'no RPC URL is configured', isLasting: true }

  async function begun(
    atWork = async () => {},
    limits: Partial<PaymentLimits> = {},
    barred: () => Promise<string | null> = async () => null,
  ) {
    const reports: Reports = {
      verification: { kind: 'valid' },
      settlement: { kind: 'unreachable', reason: 'down' },
      outcome: { kind: 'settled', transaction: TRANSACTION },
    }
    const screened = vi.fn(async (): Promise<Verification> => ({ kind: 'valid' }))
    const facilitator = {
      screen: screened,
      verify: async () => reports.verification,
      settle: async () => reports.settlement,
      outcome: async () => reports.outcome,
    }
    const clock = new ManualClock(NOW_MS)
    const ledger = new SqliteLedger(':memory:')
    const payers = { barred, objection: () => null } as unknown as ContractPayers
    const methods = [exactEvm({ network: base, payTo, facilitator, payers })]
    const host = await startPaidHost({ payTo, facilitator, methods, clock, ledger, atWork, limits })
    onTestFinished(() => host.close())
    const buyer = newBuyer()
    const signed = async (extensions = {}) => {
      const payload = await signedPayload(buyer, { amount: PRICE, payTo, nowMs: NOW_MS })
      const added = 'extensions' in payload ? { ...payload.extensions, ...extensions } : extensions
      const headers = { 'payment-signature': encodedPayment({ ...payload, extensions: added }) }
      return async (url = '/slow/BTC', { app } = host) =>
        (await app.inject({ url, headers })).json()
    }
    const { events } = host
    return { reports, screened, methods, clock, ledger, events, signed, ask: await signed() }
  }

  async function charged(atWork = async () => {}) {
    const rig = await begun(atWork)
    expect(await rig.ask()).toMatchObject({ code: 'facilitator_unavailable', charged: false })
    rig.reports.verification = used
    return rig
  }

  test('is never reported as not charged once the chain has its transfer', async () => {
    let work = async () => {}
    const { clock, ledger, events, ask } = await charged(() => work())
    work = () => Promise.reject(new Error('the engine is broken'))
    const charge = { charged: true, payment_reusable: true }
    const fault = { ...charge, code: 'internal_error' }
    expect(await ask(), 'the handler fails').toMatchObject(fault)
    const detail = 'Old. The payment was charged before. Retry in 212 s.'
    const stale = { ...charge, code: 'data_stale', detail, retry_after: 212 }
    expect(await ask('/stale'), 'the handler refuses').toMatchObject(stale)
    work = async () => clock.advance(60_000)
    expect(await ask(), 'the handler is late').toMatchObject({ ...charge, code: 'engine_timeout' })
    expect(events.filter(({ kind }) => kind === 'uncharged')).toEqual([])
    work = async () => {}
    const begin = vi.spyOn(ledger, 'begin')
    begin.mockRejectedValueOnce(new Error('damaged'))
    expect(await ask(), 'the ledger fails').toMatchObject(fault)
    begin.mockResolvedValueOnce({ kind: 'identifier_taken' })
    expect(await ask()).toMatchObject({ code: 'payment_replayed', charged: true })
    expect(await ask()).toMatchObject({ coin: { coin: 'BTC' } })
  })

  test('is not refused while the chain does not answer', async () => {
    const { reports, ask } = await begun()
    await ask()
    reports.verification = { kind: 'invalid', reason: 'simulation_failed' }
    reports.outcome = { kind: 'unknown', reason: 'no answer within 5000 ms' }
    expect(await ask()).toMatchObject({ code: 'settlement_unknown', charged: null })
    reports.outcome = noChain
    const refused = await ask()
    expect(refused.diagnostics, 'no chain can be asked').toMatchObject({ charged: null })
    const { hint } = refused.diagnostics
    expect(hint.split('may have charged this payment'), 'stated once').toHaveLength(2)
    expect(hint).toContain('Send the same payment again')
    expect(hint).not.toContain('ign a new payment')
  })

  test('is not denied a charge by checks before its verification', async () => {
    const limits = { paidCallsPerWalletPerMinute: 1 }
    const { reports, ask } = await begun(undefined, limits)
    await ask()
    reports.verification = { kind: 'invalid', reason: 'simulation_failed' }
    reports.outcome = noChain
    await ask()
    const limited = { code: 'rate_limited', charged: null, payment_reusable: true }
    expect(await ask(), 'the limit of its wallet').toMatchObject(limited)
  })

  const END_SECONDS = NOW_MS / 1_000 + 120
  const EXPIRED = 'invalid_exact_evm_payload_authorization_valid_before'
  const uncharged = (reason: string) => ({ diagnostics: { reason, charged: false } })
  const openStill = { code: 'settlement_unknown', charged: null, payment_reusable: true }
  const answered = { coin: { coin: 'BTC' } }

  test.each<[string, Outcome, object]>([
    ['unused at its end', { kind: 'unused', asOfSeconds: END_SECONDS }, uncharged(EXPIRED)],
    ['cancelled', { kind: 'forfeited' }, uncharged(EXPIRED)],
    ['expired', { kind: 'expired' }, uncharged(EXPIRED)],
    ['not at its end yet', { kind: 'unused', asOfSeconds: END_SECONDS - 1 }, openStill],
    ['unknown', { kind: 'unknown', reason: 'no answer within 5000 ms' }, openStill],
    [
      'what no node shows',
      noChain,
      {
        diagnostics: {
          ...{ reason: EXPIRED, charged: null },
          hint: expect.stringContaining('Send the same payment again'),
        },
      },
    ],
    ['paid', { kind: 'settled', transaction: TRANSACTION }, answered],
  ])(
    'has a definite end after its expiry where the chain has it as %s',
    async (_what, outcome, end) => {
      const { reports, clock, ask } = await begun()
      await ask()
      reports.verification = { kind: 'unreachable', reason: 'the facilitator is down' }
      reports.outcome = outcome
      clock.advance(600_000)
      expect(await ask()).toMatchObject(end)
    },
  )

  test('is looked up although its wallet was barred since, for the price at which it was begun', async () => {
    let barred: string | null = null
    const { reports, ask } = await begun(undefined, {}, async () => barred)
    await ask()
    barred = 'invalid_exact_evm_payer_barred'
    reports.outcome = { kind: 'unused', asOfSeconds: NOW_MS / 1_000 }
    const refused = await ask()
    expect(refused).toMatchObject(uncharged(barred))
    expect(refused.diagnostics.hint).not.toContain('Send the same payment again')
    reports.outcome = { kind: 'settled', transaction: TRANSACTION }
    expect(await ask('/bundle/BTC'), 'at another price').toMatchObject({
      diagnostics: { reason: 'invalid_payment_requirements', charged: null },
    })
    expect(await ask()).toMatchObject(answered)
  })

  test('is not refused for the balance that it may have used', async () => {
    const { screened, reports, ask } = await begun()
    await ask()
    screened.mockResolvedValue({ kind: 'invalid', reason: 'insufficient_funds' })
    reports.verification = { kind: 'invalid', reason: 'insufficient_funds' }
    expect(await ask()).toMatchObject(answered)
  })

  test('is not denied a charge while its method is not offered', async () => {
    const { methods, clock, ledger, ask } = await begun()
    await ask()
    const suspended = methods.map((method) => ({ ...method, isSuspended: true }))
    const facilitator = new NonceOnChain(clock)
    const other = exactEvm({ network: baseSepolia, payTo, facilitator })
    const methodsLater = [...suspended, other]
    const later = await startPaidHost({ payTo, facilitator, methods: methodsLater, clock, ledger })
    onTestFinished(() => later.close())
    expect(await ask('/slow/BTC', later)).toMatchObject({
      diagnostics: { reason: 'invalid_network', charged: null },
    })
  })

  test('is looked up although another payment has its identifier since', async () => {
    const { reports, ledger, signed } = await begun()
    const id = 'a-purpose-of-the-buyer'
    const info = { info: { id } }
    const first = await signed({ 'payment-identifier': info })
    await first()
    reports.settlement = { kind: 'settled', transaction: TRANSACTION }
    const second = await signed({ 'payment-identifier': info })
    expect(await second()).toMatchObject(answered)
    expect(await first()).toMatchObject({ code: 'payment_replayed', charged: false })
    reports.verification = used
    expect(await first()).toMatchObject({ code: 'payment_replayed', charged: true })
    reports.outcome = { kind: 'unknown', reason: 'no answer within 5000 ms' }
    expect(await first()).toMatchObject(openStill)
    expect((await ledger.counts()).settled).toBe(1)
  })

  test.each([
    { kind: 'unused', asOfSeconds: NOW_MS / 1_000 },
    { kind: 'forfeited' },
    { kind: 'expired' },
  ] as const)('is refused as not charged if the chain has it as $kind', async (outcome) => {
    const { reports, ask } = await begun()
    await ask()
    reports.outcome = outcome
    for (const reason of ['simulation_failed', 'insufficient_funds']) {
      reports.verification = { kind: 'invalid', reason }
      expect(await ask()).toMatchObject({ diagnostics: { reason, charged: false } })
    }
  })

  test('denies no charge, whatever the facilitator says, before the chain was asked', async () => {
    const { reports, ask } = await begun()
    await ask()
    reports.outcome = noChain
    // The money may be gone because it paid.
    reports.verification = { kind: 'invalid', reason: 'insufficient_funds' }
    expect(await ask()).toMatchObject({ diagnostics: { charged: null } })
    reports.verification = { kind: 'unreachable', reason: 'down' }
    const away = { code: 'facilitator_unavailable', charged: null, payment_reusable: true }
    expect(await ask()).toMatchObject(away)
    reports.verification = { kind: 'unreachable', reason: 'status 400', isLasting: true }
    const lasting = { code: 'facilitator_refused', charged: null, payment_reusable: true }
    const refused = await ask()
    expect(refused).toMatchObject(lasting)
    expect(refused.detail).toContain('Send the same payment again')
    expect(refused.detail).not.toContain('another wallet')
    reports.verification = { kind: 'invalid', reason: 'insufficient_funds' }
    reports.outcome = { kind: 'settled', transaction: TRANSACTION }
    expect(await ask()).toMatchObject({ coin: { coin: 'BTC' } })
  })

  test.each([
    ['busy', new LedgerBusyError('away', null), 'ledger_busy'],
    ['damaged', new Error('damaged'), 'settlement_unknown'],
  ])('is sent again, not signed again, while the ledger is %s', async (_what, fault, code) => {
    const { ledger, ask } = await charged()
    const find = ledger.find.bind(ledger)
    const reads = vi.spyOn(ledger, 'find')
    reads.mockImplementation(async (key) => {
      if (reads.mock.calls.length === 3) throw fault
      return find(key)
    })
    const refused = await ask()
    expect(refused).toMatchObject({ code, payment_reusable: true })
    expect(refused.detail).toContain('Do not sign another payment')
  })

  test('may be charged by another process whose row cannot be read', async () => {
    const { ledger, ask } = await begun()
    vi.spyOn(ledger, 'begin').mockImplementationOnce(async () => {
      vi.spyOn(ledger, 'find').mockRejectedValueOnce(new LedgerBusyError('away', null))
      return { kind: 'taken' }
    })
    expect(await ask()).toMatchObject({ code: 'settlement_unknown', charged: null })
  })
})

describe('a payment that was never presented here', () => {
  const noAnswer: Outcome = { kind: 'unknown', reason: 'no answer within 5000 ms' }

  async function refused(reason: string, outcome: Outcome) {
    const facilitator = {
      verify: async () => ({ kind: 'invalid', reason }) as const,
      settle: async () => ({ kind: 'unreachable', reason: 'down' }) as const,
      outcome: async () => outcome,
    }
    const host = await startPaidHost({ payTo, facilitator, clock: new ManualClock(NOW_MS) })
    onTestFinished(() => host.close())
    const headers = { 'payment-signature': header }
    return (await host.app.inject({ url: '/pulse/BTC', headers })).json()
  }

  test.each([
    'invalid_exact_evm_transaction_simulation_failed',
    'invalid_payload',
    'invalid_exact_svm_verification_failed',
    'invalid_transaction_state',
    'reverted',
  ])('may have been charged elsewhere if its facilitator only says %s', async (reason) => {
    expect(await refused(reason, noAnswer)).toMatchObject({
      diagnostics: { reason, charged: null },
    })
    const unused = { kind: 'unused', asOfSeconds: NOW_MS / 1_000 } as const
    expect(await refused(reason, unused)).toMatchObject({ diagnostics: { reason, charged: false } })
  })

  test.each([
    ['simulation_failed', null],
    ['insufficient_funds', false],
  ])('gets the same after too many failures of its address: %s, %s', async (reason, charged) => {
    let verification: Verification = { kind: 'valid' }
    const facilitator = {
      verify: async () => verification,
      settle: async () => ({ kind: 'settled', transaction: TRANSACTION }) as const,
      outcome: async () => noAnswer,
    }
    const host = await startPaidHost({
      ...{ payTo, facilitator, clock: new ManualClock(NOW_MS) },
      limits: { failedPaymentsPerAddressPerMinute: 2 },
    })
    onTestFinished(() => host.close())
    const buyer = newBuyer()
    const sent = async (header: string) =>
      host.app.inject({ url: '/pulse/BTC', headers: { 'payment-signature': header } })
    const paid = async () =>
      sent(encodedPayment(await signedPayload(buyer, { amount: PRICE, payTo, nowMs: NOW_MS })))
    expect((await paid()).statusCode, 'a known buyer').toBe(200)
    for (const junk of ['1', '2']) expect((await sent(junk)).statusCode).toBe(400)
    verification = { kind: 'invalid', reason }
    const limited = (await paid()).json()
    const payment_reusable = charged === null
    expect(limited).toMatchObject({ code: 'rate_limited', charged, payment_reusable })
    expect(limited.detail.includes('Nothing was charged. ')).toBe(charged === false)
  })

  test.each(['insufficient_funds', 'invalid_exact_evm_payload_signature', 'payer_declined'])(
    'was not charged if its facilitator says %s',
    async (reason) => {
      expect(await refused(reason, noAnswer)).toMatchObject({
        diagnostics: { reason, charged: false },
      })
    },
  )
})

property.prop([fc.array(trouble, { maxLength: 6 })], { numRuns: 150 })(
  'whatever breaks: no answer without money, no second charge, no 402 for money taken, and in the end the answer of what was begun here',
  async (troubles) => {
    const clock = new ManualClock(NOW_MS)
    const chain = new NonceOnChain(clock)
    const ledger = new SqliteLedger(':memory:')
    let handled = 0
    let handlerStatus = 200

    const start = async () => {
      const app = Fastify()
      await app.register(payments, {
        methods: [exactEvm({ network: base, payTo, facilitator: chain })],
        ledger,
        clock,
        publicUrl: 'https://api.example.com',
        newSecret,
        limits: {
          paidCallsPerWalletPerMinute: 1_000,
          failedPaymentsPerAddressPerMinute: 1_000,
          identicalFailuresPerMinute: 1_000,
          repeatedPaymentsPerAddressPerMinute: 1_000,
          unverifiedPaymentsPerAddressPerMinute: 1_000,
          unverifiedPaymentsPerSecond: 1_000,
        },
      })
      const config = { x402: { priceUsdcAtomic: 20_000n, description: 'pulse' } }
      app.get('/pulse/:coin', { config }, (_request, reply) => {
        handled += 1
        return reply.code(handlerStatus).send(Buffer.from(`answer ${handled}`))
      })
      return app
    }

    let app = await start()
    const bought = new Set<string>()
    const ask = async () => {
      const response = await app.inject({ url: '/pulse/BTC', headers: { 'x-payment': header } })
      if (response.statusCode === 200) {
        expect(chain.transfers, 'an answer was paid for').toBe(1)
        bought.add(response.body)
      }
      if (response.statusCode === 402) {
        expect(chain.transfers, 'a buyer who has paid is never asked to pay').toBe(0)
      }
      return response
    }
    for (const next of troubles) {
      chain.trouble = next
      if (next.minedBefore) chain.transfers = 1
      handlerStatus = next.handler
      await Promise.all(Array.from({ length: next.copies }, ask))
      if (next.crashAfter) {
        await app.close()
        app = await start()
      }
    }
    chain.trouble = null
    handlerStatus = 200
    const isStrangers = chain.transfers === 1 && !chain.wasAsked
    const end = isStrangers ? 409 : 200
    expect((await ask()).statusCode, 'once all works again, the payment buys its answer').toBe(end)
    expect((await ask()).statusCode).toBe(end)
    expect(chain.transfers).toBe(1)
    expect(bought.size, 'every copy of the answer is the same').toBe(isStrangers ? 0 : 1)
    await app.close()
    await ledger.close()
  },
)

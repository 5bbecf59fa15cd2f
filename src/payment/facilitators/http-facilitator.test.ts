import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../roles/system-clock.ts'
import type { DecodedPayment } from '../payment.ts'
import type { FacilitatorCall } from './http-facilitator.ts'
import { httpFacilitator } from './http-facilitator.ts'

const KEY = 'Bearer sk_live_f00dfeed'
const TX = `0x${'ab'.repeat(32)}`
const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const wire = { scheme: 'exact', network: 'eip155:8453', amount: '20000', extra: {} }
const payment = {
  payer: PAYER,
  wire: { x402Version: 2 },
  requirement: { wire, method: { legacyName: 'base' } },
} as unknown as DecodedPayment
const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A service that answers everything alike, and what was thought of it. */
async function answering(status: number, body: unknown, headers = {}) {
  const server = createServer((_request, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const calls: FacilitatorCall[] = []
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const onCall = (call: FacilitatorCall) => void calls.push(call)
  return {
    service: httpFacilitator({ url, authorization: KEY, clock: systemClock, onCall }),
    calls,
  }
}

const settled = { success: true, transaction: TX, network: 'eip155:8453' }
const failed = { success: false, transaction: '', network: 'eip155:8453' }

describe('a settlement that ends with', () => {
  test.each([400, 401, 402, 403, 404, 405, 413, 415, 422, 429])(
    'status %i and no verdict never began',
    async (status) => {
      const { service } = await answering(status, 'no')
      expect(await service.settle(payment)).toMatchObject({ kind: 'unreachable' })
    },
  )

  test.each([408, 409, 410, 425, 499, 500, 502, 503, 504])(
    'status %i and no verdict may be under way',
    async (status) => {
      const { service } = await answering(status, 'no')
      expect(await service.settle(payment)).toMatchObject({ kind: 'unknown', transaction: null })
    },
  )

  test.each([
    [200, { ...failed, errorReason: 'insufficient_funds' }, 'rejected'],
    [400, { ...failed, errorReason: 'insufficient_funds' }, 'rejected'],
    [402, { ...failed, errorReason: 'insufficient_funds' }, 'rejected'],
    [200, { ...failed, errorReason: 'invalid_exact_svm_payload_amount_mismatch' }, 'rejected'],
    [200, { ...failed, errorReason: 'invalid_exact_evm_authorization_value' }, 'rejected'],
    [200, { ...failed, errorReason: 'invalid_exact_evm_signature' }, 'rejected'],
    [200, { ...failed, errorReason: 'payment_expired' }, 'rejected'],
    // What failed, or was not seen to succeed, may still be mined.
    [200, { ...failed, errorReason: 'transaction_expired_blockheight_exceeded' }, 'unknown'],
    [200, { ...failed, errorReason: 'transaction_signature_not_found' }, 'unknown'],
    [200, { ...failed, errorReason: 'invalid_exact_evm_transaction_failed' }, 'unknown'],
    [400, { ...failed, errorReason: 'invalid_exact_svm_transaction_failed' }, 'unknown'],
    [200, { ...failed, errorReason: 'settle_exact_node_failure' }, 'unknown'],
    [200, { ...failed, errorReason: 'invalid_transaction_state' }, 'unknown'],
    [200, { ...failed, errorReason: 'invalid_exact_evm_transfer_event_mismatch' }, 'unknown'],
    [200, { ...failed, errorReason: 'insufficient_funds', transaction: TX }, 'unknown'],
    // The payer is refused, and shall not be served by somebody else.
    [403, { errorType: 'kyt_risk_detected', errorMessage: 'no' }, 'rejected'],
    // Not the payment is refused, but we are.
    [401, { ...failed, errorReason: 'unauthorized' }, 'unreachable'],
    [403, { ...failed, errorReason: 'forbidden' }, 'unreachable'],
    [429, { ...failed, errorReason: 'rate_limited' }, 'unreachable'],
    [401, { ...failed, errorReason: 'unauthorized', transaction: TX }, 'unknown'],
    [500, { ...failed, errorReason: 'insufficient_funds', transaction: TX }, 'unknown'],
    [200, failed, 'unknown'],
    [200, { ...failed, errorReason: 'settlement_pending', transaction: TX }, 'unknown'],
    [200, { ...settled, transaction: '' }, 'unknown'],
    [200, { transaction: TX }, 'unknown'],
    [200, '<html>', 'unknown'],
    [200, settled, 'settled'],
  ])('status %i and %j is %s', async (status, body, kind) => {
    const { service } = await answering(status, body)
    expect((await service.settle(payment)).kind).toBe(kind)
  })
})

const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const ofSolana = {
  payer: 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB',
  wire: { x402Version: 2 },
  requirement: {
    wire: { ...wire, network: SOLANA },
    method: { legacyName: 'solana' },
  },
} as unknown as DecodedPayment
/** 64 bytes in base58. */
const SIGNATURE = '1'.repeat(64)

describe('a settlement is believed only about the payment that was asked for', () => {
  test.each<{ what: string; says: object; kind: string; of?: DecodedPayment }>([
    { what: 'its network', says: settled, kind: 'settled' },
    {
      what: 'its network as version 1 writes it',
      says: { ...settled, network: 'base' },
      kind: 'settled',
    },
    {
      what: 'its payer in another case',
      says: { ...settled, payer: PAYER.toLowerCase() },
      kind: 'settled',
    },
    { what: 'its amount', says: { ...settled, amount: '20000' }, kind: 'settled' },
    { what: 'another network', says: { ...settled, network: 'eip155:84532' }, kind: 'unknown' },
    { what: 'no network', says: { success: true, transaction: TX }, kind: 'unknown' },
    { what: 'another payer', says: { ...settled, payer: `0x${'12'.repeat(20)}` }, kind: 'unknown' },
    { what: 'another amount', says: { ...settled, amount: '19999' }, kind: 'unknown' },
    {
      what: 'a hash that is too short',
      says: { ...settled, transaction: '0xab' },
      kind: 'unknown',
    },
    {
      what: 'a hash of another chain',
      says: { ...settled, transaction: SIGNATURE },
      kind: 'unknown',
    },
    {
      what: 'a refusal on another network',
      says: { ...failed, errorReason: 'insufficient_funds', network: 'eip155:1' },
      kind: 'unknown',
    },
    {
      what: 'a refusal of another payer',
      says: { ...failed, errorReason: 'insufficient_funds', payer: `0x${'12'.repeat(20)}` },
      kind: 'unknown',
    },
    {
      what: 'a refusal without a network',
      says: { success: false, transaction: '', errorReason: 'insufficient_funds' },
      kind: 'rejected',
    },
    {
      what: 'a signature on Solana',
      says: { success: true, transaction: SIGNATURE, network: SOLANA },
      kind: 'settled',
      of: ofSolana,
    },
    {
      what: 'a hash on Solana',
      says: { success: true, transaction: TX, network: SOLANA },
      kind: 'unknown',
      of: ofSolana,
    },
    {
      what: 'an address on Solana',
      says: { success: true, transaction: ofSolana.payer, network: SOLANA },
      kind: 'unknown',
      of: ofSolana,
    },
  ])('$what: $kind', async ({ says, kind, of = payment }) => {
    const { service, calls } = await answering(200, says)
    const settlement = await service.settle(of)
    expect(settlement.kind).toBe(kind)
    if (kind !== 'unknown') return
    expect(settlement, 'what is not believed is not passed on').toMatchObject({ transaction: null })
    expect(calls.map((call) => call.kind)).toEqual(['failed'])
  })

  test('and so is a verification: one of another payer is none', async () => {
    const said = (body: object) =>
      answering(200, body).then(({ service }) => service.verify(payment))
    expect(await said({ isValid: true, payer: PAYER.toLowerCase() })).toEqual({ kind: 'valid' })
    expect(await said({ isValid: true, payer: `0x${'12'.repeat(20)}` })).toMatchObject({
      kind: 'unreachable',
      reason: expect.stringContaining('wrong payer in the answer: 0x1212'),
    })
  })
})

describe('what a facilitator says', () => {
  const long = `invalid\r\nX-Evil: ${'é'.repeat(25_000)}`

  test.each([
    ['verify', { isValid: false, invalidReason: long }],
    ['settle', { ...failed, errorReason: long }],
  ] as const)('is cut to a short code: %s', async (operation, body) => {
    const { service, calls } = await answering(200, body)
    const told = await service[operation](payment)
    expect('reason' in told && told.reason).toMatch(/^invalid_X-Evil:_$/)
    expect(JSON.stringify([told, calls]).length).toBeLessThan(500)
  })

  test('and never names our key, also where it is a reason', async () => {
    const { service } = await answering(200, { isValid: false, invalidReason: `bad ${KEY}` })
    expect(await service.verify(payment)).toEqual({
      kind: 'invalid',
      reason: 'bad_authorization_',
    })
  })

  test.each([65_536, 65_537])('is read up to 64 KB: %i bytes', async (bytes) => {
    const said = JSON.stringify({ ...settled, extra: { pad: '' } })
    const padded = said.replace('""', `"${'x'.repeat(bytes - said.length)}"`)
    const { service } = await answering(200, padded)
    const isRead = bytes <= 65_536
    expect((await service.settle(payment)).kind).toBe(isRead ? 'settled' : 'unknown')
  })

  test('is not awaited where it has no end', async () => {
    let sent = 0
    const server = createServer((_request, response) => {
      const more = () => {
        // A closed response calls back as well, so this would run during all later tests.
        if (response.destroyed) return
        sent += 65_536
        response.write('x'.repeat(65_536), () => setImmediate(more))
      }
      response.on('close', () => {
        response.destroy()
        sent = Number.NaN
      })
      more()
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const service = httpFacilitator({ url, clock: systemClock })
    expect(await service.verify(payment)).toMatchObject({
      kind: 'unreachable',
      reason: expect.stringContaining('longer than 65536 bytes'),
    })
    await expect.poll(() => sent, { message: 'the connection is closed' }).toBeNaN()
  })

  test.each([
    [400, {}, { isLasting: true }],
    [422, {}, { isLasting: true }],
    [401, {}, { retryAfterSeconds: 60 }],
    [404, {}, { retryAfterSeconds: 60 }],
    [429, { 'retry-after': '90' }, { retryAfterSeconds: 90 }],
    [503, { 'retry-after': 'Wed, 21 Oct 2099 07:28:00 GMT' }, { retryAfterSeconds: 3_600 }],
    [503, { 'retry-after': 'soon' }, {}],
    [429, {}, {}],
  ])('of trying again is kept: status %i and %j', async (status, headers, prospect) => {
    const { service } = await answering(status, 'no', headers)
    const reason = expect.any(String)
    expect(await service.verify(payment)).toEqual({ kind: 'unreachable', reason, ...prospect })
    if (status === 503) return
    expect(await service.settle(payment)).toEqual({ kind: 'unreachable', reason, ...prospect })
  })

  test('that it does not support this is no reason to come back', async () => {
    const { service } = await answering(200, {
      isValid: false,
      invalidReason: 'unsupported_scheme',
    })
    expect(await service.verify(payment)).toMatchObject({ isLasting: true })
  })

  test.each([
    ['what fits into a header', { bazaar: { status: 'success' } }, true],
    ['what is too long', { bazaar: { status: 'x'.repeat(2_000) } }, false],
    ['what is no object', 'success', false],
  ])('of extensions is passed on: %s', async (_what, value, isPassed) => {
    const header = Buffer.from(JSON.stringify(value)).toString('base64')
    const { service } = await answering(200, settled, { 'extension-responses': header })
    const settlement = await service.settle(payment)
    expect(settlement).toMatchObject({ kind: 'settled' })
    expect('extensionResponses' in settlement && settlement.extensionResponses).toBe(
      isPassed ? header : false,
    )
  })
})

describe('a verification that ends with', () => {
  test.each([
    [200, { isValid: true }, 'valid'],
    [200, { isValid: false, invalidReason: 'insufficient_funds' }, 'invalid'],
    [400, { isValid: false, invalidReason: 'insufficient_funds' }, 'invalid'],
    [200, { isValid: false, invalidReason: 'unsupported_scheme' }, 'unreachable'],
    [200, { isValid: false, invalidReason: 'invalid_network' }, 'unreachable'],
    [200, { isValid: false }, 'unreachable'],
    [401, { isValid: false, invalidReason: 'unauthorized' }, 'unreachable'],
    [403, { isValid: false, invalidReason: 'kyt_risk_detected' }, 'invalid'],
    [403, { errorType: 'kyt_risk_detected', errorMessage: 'no' }, 'invalid'],
    [403, 'no', 'unreachable'],
    [500, { isValid: false, invalidReason: 'insufficient_funds' }, 'unreachable'],
    [200, { valid: true }, 'unreachable'],
    [503, 'no', 'unreachable'],
  ])('status %i and %j is %s', async (status, body, kind) => {
    const { service } = await answering(status, body)
    expect((await service.verify(payment)).kind).toBe(kind)
  })
})

describe('how the service did', () => {
  test.each([
    [200, { isValid: false, invalidReason: 'insufficient_funds' }, 'answered'],
    [401, 'no', 'refused'],
    // It may be about this one payment: only what it can do, asked without one, tells.
    [403, 'no', 'failed'],
    [403, { errorType: 'kyt_risk_detected', errorMessage: 'no' }, 'answered'],
    [429, 'no', 'failed'],
    [500, 'no', 'failed'],
    [200, '<html>', 'failed'],
  ])('is told after status %i and %j: %s', async (status, body, kind) => {
    const { service, calls } = await answering(status, body)
    await service.verify(payment)
    expect(calls.map((call) => call.kind)).toEqual([kind])
  })

  test.each([401, 403])('is told after status %i for what it can do: refused', async (status) => {
    const { service, calls } = await answering(status, 'no')
    await expect(service.supported()).rejects.toThrow(String(status))
    expect(calls.map((call) => call.kind)).toEqual(['refused'])
  })

  test('never names the key, which some repeat when they refuse it', async () => {
    const { service, calls } = await answering(401, { error: `no such key: ${KEY.slice(7)}` })
    const told = [await service.verify(payment), await service.settle(payment)]
    await expect(service.supported()).rejects.toThrow('(authorization)')
    expect(JSON.stringify([told, calls])).toContain('no such key')
    expect(JSON.stringify([told, calls])).not.toContain('f00dfeed')
  })
})

import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { SignedPayment } from '../payment.ts'
import type { FacilitatorCall } from './http-facilitator.ts'
import { httpFacilitator } from './http-facilitator.ts'

const KEY = 'Bearer sk_live_f00dfeed'
const TX = `0x${'ab'.repeat(32)}`
const wire = { scheme: 'exact', network: 'eip155:8453', extra: {} }
const payment = { wire: { x402Version: 2 }, requirement: { wire } } as unknown as SignedPayment
const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A service that answers everything alike, and what was thought of it. */
async function answering(status: number, body: unknown) {
  const server = createServer((_request, response) => {
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const calls: FacilitatorCall[] = []
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const onCall = (call: FacilitatorCall) => void calls.push(call)
  return { service: httpFacilitator({ url, authorization: KEY, onCall }), calls }
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

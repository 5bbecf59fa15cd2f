import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { decodeExactPayload, payloadHash } from './evm/exact-payload.ts'
import { decodeEnvelope, MalformedPayment, paymentHeader } from './payload.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'

const payTo = '0x00000000000000000000000000000000000000A1'
const choices = { amount: 20_000n, payTo, nowMs: Date.UTC(2026, 0, 1) } as const

describe('the payment header', () => {
  test('is either one, or both when they agree', () => {
    expect(paymentHeader({})).toBeNull()
    expect(paymentHeader({ 'x-payment': 'a' })).toBe('a')
    expect(paymentHeader({ 'payment-signature': 'b' })).toBe('b')
    expect(paymentHeader({ 'x-payment': 'a', 'payment-signature': 'a' })).toBe('a')
  })

  test('is refused when both differ or one is repeated', () => {
    expect(() => paymentHeader({ 'x-payment': 'a', 'payment-signature': 'b' })).toThrow(/differ/)
    expect(() => paymentHeader({ 'x-payment': 'a, a' })).toThrow(/repeated/)
    expect(() => paymentHeader({ 'x-payment': ['a', 'a'] })).toThrow(/repeated/)
  })
})

describe('decoding', () => {
  test('reads version 1 and 2 of one payment to the same payload and hash', async () => {
    const v2 = await signedPayload(newBuyer(), choices)
    const v1 = { x402Version: 1, scheme: 'exact', network: 'base', payload: v2.payload }
    const [one, two] = [decodeEnvelope(encodedPayment(v1)), decodeEnvelope(encodedPayment(v2))]
    expect(one).toMatchObject({ version: 1, network: 'base', accepted: null })
    expect(two).toMatchObject({ version: 2, network: 'eip155:8453', accepted: { payTo } })
    const hash = (envelope: typeof one) =>
      payloadHash('eip155:8453', decodeExactPayload(envelope.payload))
    expect(hash(one)).toBe(hash(two))
  })

  test('does not mind the case of hexadecimal digits', async () => {
    const { payload } = await signedPayload(newBuyer(), choices)
    const shouted = {
      signature: `0x${payload.signature.slice(2).toUpperCase()}`,
      authorization: {
        ...payload.authorization,
        from: `0x${payload.authorization.from.slice(2).toUpperCase()}`,
      },
    }
    expect(payloadHash('n', decodeExactPayload(shouted))).toBe(
      payloadHash('n', decodeExactPayload(payload)),
    )
  })

  test.each([
    ['value', '1e3'],
    ['value', '-1'],
    ['value', '0x10'],
    ['value', ''],
    ['value', (2n ** 256n).toString()],
    ['value', 20_000],
    ['validBefore', 'tomorrow'],
    ['nonce', '0x12'],
    ['from', '0xZZ'],
    ['to', null],
  ])('refuses the %s %j', async (field, value) => {
    const { payload } = await signedPayload(newBuyer(), choices)
    const authorization = { ...payload.authorization, [field]: value }
    expect(() => decodeExactPayload({ ...payload, authorization })).toThrow(MalformedPayment)
  })

  test('has a limit of 8 KB', () => {
    const padded = (length: number) => encodedPayment({ x402Version: 9, pad: 'x'.repeat(length) })
    expect(() => decodeEnvelope(padded(8_000))).toThrow(/x402Version/)
    expect(() => decodeEnvelope(padded(8_300))).toThrow(/larger than/)
  })

  property.prop([
    fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.json().map((json) => Buffer.from(json).toString('base64')),
      fc
        .record({
          x402Version: fc.constantFrom(1, 2),
          payload: fc.jsonValue(),
          accepted: fc.jsonValue(),
        })
        .map(encodedPayment),
    ),
  ])('never fails otherwise than as a malformed payment', (header) => {
    try {
      decodeExactPayload(decodeEnvelope(header).payload)
    } catch (cause) {
      expect(cause).toBeInstanceOf(MalformedPayment)
    }
  })
})

import { fc, test as property } from '@fast-check/vitest'
import type { PaymentPayload } from '@x402/core/types'
import {
  appendPaymentIdentifierToExtensions,
  extractPaymentIdentifier,
  generatePaymentId,
  isValidPaymentId,
} from '@x402/extensions/payment-identifier'
import { describe, expect, test } from 'vitest'
import { MalformedPayment } from '../payload.ts'
import { identifierIn, paymentIdentifierOffer } from './payment-identifier.ts'

const named = (id: unknown) => ({ 'payment-identifier': { info: { required: false, id } } })

describe('the identifier of a payment', () => {
  test('is what the public client adds to what the quote declares', () => {
    const id = generatePaymentId()
    const extensions = appendPaymentIdentifierToExtensions(
      structuredClone(paymentIdentifierOffer) as Record<string, unknown>,
      id,
    )
    expect(identifierIn(extensions)).toBe(id)
  })

  property.prop([
    fc.oneof(
      fc.string(),
      fc.stringMatching(/^[A-Za-z0-9_-]{1,140}$/),
      fc.string({ minLength: 14, maxLength: 18 }),
    ),
  ])('is taken or refused as the public package does', (id) => {
    const extensions = named(id)
    if (isValidPaymentId(id)) {
      expect(identifierIn(extensions)).toBe(id)
      expect(extractPaymentIdentifier({ extensions } as unknown as PaymentPayload)).toBe(id)
    } else {
      expect(() => identifierIn(extensions)).toThrow(MalformedPayment)
    }
  })

  test.each([
    ['no extensions', null],
    ['none of this name', {}],
    ['an echo without one', { 'payment-identifier': { info: { required: false } } }],
    ['no info', { 'payment-identifier': {} }],
    ['a text', { 'payment-identifier': 'pay_0123456789abcdef' }],
    ['a list', { 'payment-identifier': { info: ['pay_0123456789abcdef'] } }],
    ['inherited names', Object.create(named('pay_0123456789abcdef'))],
  ])('is none in %s', (_title, extensions) => {
    expect(identifierIn(extensions)).toBeNull()
  })

  test.each([[null], [17], [['pay_0123456789abcdef']], [`${'a'.repeat(16)}\n`]])(
    '%j is not one',
    (id) => {
      expect(() => identifierIn(named(id))).toThrow(/16 to 128 characters/)
    },
  )
})

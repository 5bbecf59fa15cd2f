import { expect, test } from 'vitest'
import { PendingPayments, textStore } from './pending-payments.ts'

const payment = { url: 'http://console.test/pulse/ETH', header: 'e30=' }

test('a browser that blocks storage keeps payments as long as the page', () => {
  const blocked = () => {
    throw new DOMException('blocked', 'SecurityError')
  }
  const pending = new PendingPayments(textStore(blocked))
  expect(pending.hasRoom()).toBe(true)
  pending.keep(payment)
  expect(pending.find(payment.url)).toEqual(payment)
  pending.forget(payment.url)
  expect(pending.find(payment.url)).toBeNull()
})

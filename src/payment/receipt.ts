import type { SignedPayment } from './facilitator.ts'

/** Tells both versions of client that the payment was settled, and in which transaction. */
export function receiptHeaders(payment: SignedPayment, transaction: string) {
  return responseHeaders(payment, { success: true, transaction })
}

/** Tells both versions of client that it was not. */
export function refusalHeaders(payment: SignedPayment, errorReason: string) {
  return responseHeaders(payment, { success: false, errorReason, transaction: '' })
}

function responseHeaders(
  { requirement: { network }, authorization }: SignedPayment,
  result: { success: boolean; transaction: string; errorReason?: string },
): Readonly<Record<'payment-response' | 'x-payment-response', string>> {
  const payer = authorization.from
  return {
    'payment-response': encoded({ ...result, network: network.network, payer }),
    'x-payment-response': encoded({ ...result, network: network.legacyName, payer }),
  }
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

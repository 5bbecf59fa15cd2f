import type { SignedPayment } from './payment.ts'

/** Tells both versions of client that the payment was settled, and in which transaction. */
export function receiptHeaders(payment: SignedPayment, transaction: string) {
  return responseHeaders(payment, { success: true, transaction })
}

/** Tells both versions of client that it was not. */
export function refusalHeaders(payment: SignedPayment, errorReason: string) {
  return responseHeaders(payment, { success: false, errorReason, transaction: '' })
}

function responseHeaders(
  { requirement: { method }, payer }: SignedPayment,
  result: { success: boolean; transaction: string; errorReason?: string },
): Readonly<Record<'payment-response' | 'x-payment-response', string>> {
  return {
    'payment-response': encoded({ ...result, network: method.network, payer }),
    'x-payment-response': encoded({
      ...result,
      network: method.legacyName ?? method.network,
      payer,
    }),
  }
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

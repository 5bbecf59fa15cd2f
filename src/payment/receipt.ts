import type { OfferReceipts, ReceiptInfo } from './extensions/offer-receipt.ts'
import { OFFER_RECEIPT } from './extensions/offer-receipt.ts'
import type { DecodedPayment, Payment } from './payment.ts'

/**
 * Receipt headers for clients of both versions.
 * @param content body of the answer; empty in a response without one
 * @param receipts signs the receipts of version 2; null without a key
 */
export async function receiptHeaders(
  payment: Payment,
  transaction: string,
  content: Uint8Array,
  receipts: OfferReceipts | null,
) {
  const info = await receipts?.receipt(payment, transaction, content)
  const members = (await payment.receiptMembers?.()) ?? {}
  return responseHeaders(payment, { ...members, success: true, transaction }, info)
}

/** Headers that report a failed settlement to clients of both versions. */
export function refusalHeaders(payment: DecodedPayment, errorReason: string) {
  return responseHeaders(payment, { success: false, errorReason, transaction: '' })
}

function responseHeaders(
  { requirement: { method }, payer }: DecodedPayment,
  result: { success: boolean; transaction: string; errorReason?: string },
  info?: ReceiptInfo,
): Readonly<Record<'payment-response' | 'x-payment-response', string>> {
  const extensions = info === undefined ? {} : { extensions: { [OFFER_RECEIPT]: { info } } }
  return {
    'payment-response': encoded({ ...result, network: method.network, payer, ...extensions }),
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

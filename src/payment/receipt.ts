import type { OfferReceipts, SignedReceipt } from './extensions/offer-receipt.ts'
import { OFFER_RECEIPT } from './extensions/offer-receipt.ts'
import type { DecodedPayment, Payment } from './payment.ts'

/**
 * Receipt headers for clients of both versions.
 * @param receipts signs the receipt of version 2; null without a key
 */
export async function receiptHeaders(
  payment: Payment,
  transaction: string,
  receipts: OfferReceipts | null,
) {
  const receipt = await receipts?.receipt(payment, transaction)
  const members = (await payment.receiptMembers?.()) ?? {}
  return responseHeaders(payment, { ...members, success: true, transaction }, receipt)
}

/** Headers that report a failed settlement to clients of both versions. */
export function refusalHeaders(payment: DecodedPayment, errorReason: string) {
  return responseHeaders(payment, { success: false, errorReason, transaction: '' })
}

function responseHeaders(
  { requirement: { method }, payer }: DecodedPayment,
  result: { success: boolean; transaction: string; errorReason?: string },
  receipt?: SignedReceipt,
): Readonly<Record<'payment-response' | 'x-payment-response', string>> {
  const extensions =
    receipt === undefined ? {} : { extensions: { [OFFER_RECEIPT]: { info: { receipt } } } }
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

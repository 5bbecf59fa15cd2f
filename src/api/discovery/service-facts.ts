import type { AnalysisContract } from '../../domain/contract.ts'
import type { PaymentMethod } from '../../payment/payment.ts'

/** Of the interface: rises with additions, and no addition breaks a caller. */
export const API_VERSION = '1.1.0'

export const SERVICE_NAME = 'perpscope'

export const SERVICE_SUMMARY =
  'Analytics for every perpetual on Hyperliquid, made for software agents and paid per call in USDC over x402.'

/** What buyers must know of a way to pay; how it works is no concern of documents. */
type WayToPay = Pick<
  PaymentMethod,
  'scheme' | 'network' | 'legacyName' | 'asset' | 'payTo' | 'extra'
>

/** What a caller may do within a minute. */
type CallLimits = {
  readonly salesPerWallet: number
  readonly quotesPerAddress: number
}

/** What the published documents say beyond the contracts of the analyses. */
export type ServiceFacts = {
  readonly contracts: readonly AnalysisContract[]
  /** Where callers reach the service, without a slash at its end. */
  readonly publicUrl: string
  /** Of the software. */
  readonly version: string
  /** In the order in which they are offered; none where answers are given away. */
  readonly waysToPay: readonly WayToPay[]
  /** Of calls a minute, where answers are sold. */
  readonly limits?: CallLimits | undefined
  /** Address under whose key offers and receipts are signed, where they are. */
  readonly receiptSigner?: string | undefined
  /** The script of the page at /docs. */
  readonly docsViewer?: Buffer | undefined
  /** Whom to write to about this service. */
  readonly contactEmail?: string | undefined
}

/** Facts, and a coin that can be asked for at this moment. */
export type DocumentFacts = ServiceFacts & { readonly exampleCoin: string }

export function isFree({ waysToPay }: Pick<ServiceFacts, 'waysToPay'>): boolean {
  return waysToPay.length === 0
}

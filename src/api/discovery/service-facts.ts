import type { AnalysisContract, DocumentContract } from '../../domain/contract.ts'
import type { PaymentMethod } from '../../payment/payment.ts'
import type { PackedContent } from '../send-document.ts'

/** Version of the API: rises with additions, which are backward compatible. */
export const API_VERSION = '1.1.0'

export const SERVICE_NAME = 'perpscope'

export const SERVICE_SUMMARY =
  'Analytics of every Hyperliquid perpetual for software agents, paid per call in USDC over x402.'

/** The published part of a payment method. */
type WayToPay = Pick<
  PaymentMethod,
  'scheme' | 'network' | 'legacyName' | 'asset' | 'payTo' | 'extra'
>

/** Calls per minute. */
type CallLimits = {
  readonly salesPerWallet: number
  readonly quotesPerAddress: number
}

/** Facts for the published documents, apart from the contracts of the analyses. */
export type ServiceFacts = {
  readonly contracts: readonly AnalysisContract[]
  /** Of the free document with the record of every rule. */
  readonly trackRecord: DocumentContract
  /** URL of the service for callers, without a trailing slash. */
  readonly publicUrl: string
  /** Software version. */
  readonly version: string
  /** In offered order; empty if answers are free. */
  readonly waysToPay: readonly WayToPay[]
  readonly limits?: CallLimits | undefined
  /** Address that signs offers and receipts, if they are signed. */
  readonly receiptSigner?: string | undefined
  /** Script of the page at /docs. */
  readonly docsViewer?: PackedContent | undefined
  readonly contactEmail?: string | undefined
  /** Whether `/proof` exists. */
  readonly hasProofs?: boolean
}

/** With a coin that is listed now. */
export type DocumentFacts = ServiceFacts & { readonly exampleCoin: string }

export function isFree({ waysToPay }: Pick<ServiceFacts, 'waysToPay'>): boolean {
  return waysToPay.length === 0
}

/**
 * Messages of x402 version 2, equal to the types of `@x402/core` (https://github.com/x402-foundation/x402), so that the
 * client needs no package.
 */

/** CAIP-2. */
type Network = `${string}:${string}`

export type PaymentRequirements = {
  scheme: string
  network: Network
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, unknown>
}

type ResourceInfo = {
  url: string
  description?: string
  mimeType?: string
  serviceName?: string
  tags?: string[]
  iconUrl?: string
}

/** Quote of a 402. */
export type PaymentRequired = {
  x402Version: number
  error?: string
  resource: ResourceInfo
  accepts: PaymentRequirements[]
  extensions?: Record<string, unknown>
}

export type PaymentPayload = {
  x402Version: number
  resource?: ResourceInfo
  accepted: PaymentRequirements
  payload: Record<string, unknown>
  extensions?: Record<string, unknown>
}

/** Receipt. */
export type SettleResponse = {
  success: boolean
  errorReason?: string
  errorMessage?: string
  payer?: string
  transaction: string
  network: Network
  amount?: string
  extensions?: Record<string, unknown>
  extensionResponses?: Record<string, unknown>
  extra?: Record<string, unknown>
}

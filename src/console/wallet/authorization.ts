import type { PaymentRequirements } from '../../client/x402.ts'

/** Transfer of USDC by EIP-3009; amounts and instants as decimal text, as x402 sends them. */
export type TransferAuthorization = {
  readonly from: string
  readonly to: string
  /** Millionths of a USDC. */
  readonly value: string
  /** Unix seconds. */
  readonly validAfter: string
  readonly validBefore: string
  readonly nonce: `0x${string}`
}

/** The clock of a chain may lag behind the one of the browser. */
const BEGINS_BEFORE_SECONDS = 600

const types = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The transfer that pays exactly the terms, valid no longer than they require. */
export function authorizationOf(
  { payTo, amount, maxTimeoutSeconds }: PaymentRequirements,
  from: string,
  { nowMs, nonce }: { readonly nowMs: number; readonly nonce: `0x${string}` },
): TransferAuthorization {
  const nowSeconds = Math.floor(nowMs / 1_000)
  return {
    ...{ from, to: payTo, value: amount, nonce },
    validAfter: String(nowSeconds - BEGINS_BEFORE_SECONDS),
    validBefore: String(nowSeconds + maxTimeoutSeconds),
  }
}

/** Argument of `eth_signTypedData_v4`. */
export function typedDataOf(
  { network, asset, extra }: PaymentRequirements,
  authorization: TransferAuthorization,
) {
  return {
    types,
    primaryType: 'TransferWithAuthorization' as const,
    domain: {
      ...{ name: String(extra['name']), version: String(extra['version']) },
      ...{ chainId: chainIdOf(network), verifyingContract: asset },
    },
    message: authorization,
  }
}

/** @param network such as `eip155:8453` */
export function chainIdOf(network: string): number {
  return Number(network.slice('eip155:'.length))
}

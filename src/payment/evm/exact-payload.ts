import { createHash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { requireRecord } from '../payload.ts'
import { decodeAddress, decodeHex, decodeUint } from './payload-field.ts'

/** A signed EIP-3009 authorization. Times are Unix seconds. */
export type Authorization = {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}

export type ExactPayload = { readonly authorization: Authorization; readonly signature: Hex }

const KEY_SIGNATURE_BYTES = 65
/** Contract signatures can hold several keys or a passkey assertion. */
const SIGNATURE_BYTES_MAX = 4_096

/** Whether a signature has the length of an ECDSA signature; a contract checks every other one. */
export function isKeySignature(signature: Hex): boolean {
  return signature.length === 2 + 2 * KEY_SIGNATURE_BYTES
}

/**
 * Decodes a payload of scheme `exact` on an EVM chain.
 * @throws MalformedPayment
 */
export function decodeExactPayload(payload: Readonly<Record<string, unknown>>): ExactPayload {
  const authorization = requireRecord(payload['authorization'], 'payload.authorization')
  const path = (name: string) => `payload.authorization.${name}`
  const address = (name: string) => decodeAddress(authorization[name], path(name))
  const uint256 = (name: string) => decodeUint(authorization[name], 256, path(name))
  return {
    authorization: {
      from: address('from'),
      to: address('to'),
      value: uint256('value'),
      validAfter: uint256('validAfter'),
      validBefore: uint256('validBefore'),
      nonce: decodeHex(authorization['nonce'], 32, path('nonce')),
    },
    signature: decodeHex(payload['signature'], { max: SIGNATURE_BYTES_MAX }, 'payload.signature'),
  }
}

/** Identifies the signed payment, independent of envelope, header and spelling. */
export function payloadHash(network: string, { authorization, signature }: ExactPayload): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return createHash('sha256')
    .update([network, from, to, value, validAfter, validBefore, nonce, signature].join('|'))
    .digest('hex')
}

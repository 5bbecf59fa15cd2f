import { createHash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { getAddress } from 'viem'
import { MalformedPayment, requireRecord, requireText } from '../payload.ts'

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
  const field = (name: string) => requireText(authorization[name], `payload.authorization.${name}`)
  return {
    authorization: {
      from: address(field('from'), 'from'),
      to: address(field('to'), 'to'),
      value: uint256(field('value'), 'value'),
      validAfter: uint256(field('validAfter'), 'validAfter'),
      validBefore: uint256(field('validBefore'), 'validBefore'),
      nonce: hex(field('nonce'), 32, 'payload.authorization.nonce'),
    },
    signature: signature(requireText(payload['signature'], 'payload.signature')),
  }
}

/** Identifies the signed payment, independent of envelope, header and spelling. */
export function payloadHash(network: string, { authorization, signature }: ExactPayload): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return createHash('sha256')
    .update([network, from, to, value, validAfter, validBefore, nonce, signature].join('|'))
    .digest('hex')
}

function address(value: string, name: string): Address {
  return getAddress(hex(value, 20, `payload.authorization.${name}`))
}

function uint256(value: string, name: string): bigint {
  if (!/^\d{1,78}$/.test(value)) {
    throw new MalformedPayment(`payload.authorization.${name} must be a decimal number in a string`)
  }
  const number = BigInt(value)
  if (number >= 2n ** 256n) {
    throw new MalformedPayment(`payload.authorization.${name} must fit 256 bits`)
  }
  return number
}

function signature(value: string): Hex {
  const isWhole = value.length % 2 === 0 && value.length > 2
  if (!isHex(value) || !isWhole || value.length > 2 + 2 * SIGNATURE_BYTES_MAX) {
    throw new MalformedPayment(
      `payload.signature must be 1 to ${SIGNATURE_BYTES_MAX} bytes in hexadecimal`,
    )
  }
  return lowerCase(value)
}

function hex(value: string, bytes: number, name: string): Hex {
  if (!isHex(value) || value.length !== 2 + 2 * bytes) {
    throw new MalformedPayment(`${name} must be ${bytes} bytes in hexadecimal`)
  }
  return lowerCase(value)
}

function isHex(value: string): boolean {
  return /^0x[0-9a-f]*$/i.test(value)
}

/** So that equal values are equal strings. */
function lowerCase(value: string): Hex {
  return `0x${value.slice(2).toLowerCase()}`
}

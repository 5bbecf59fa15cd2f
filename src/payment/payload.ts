import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Address, Hex } from 'viem'
import { getAddress } from 'viem'

/** An EIP-3009 authorization as it was signed. Times are unix seconds. */
export type Authorization = {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}

/** A payment header after decoding, version 1 and 2 alike: their inner payloads are identical. */
export type PaymentEnvelope = {
  readonly version: 1 | 2
  readonly scheme: string
  /** CAIP-2 in version 2, a name such as `base` in version 1. */
  readonly network: string
  /** The terms that the buyer believes it accepted. Version 1 does not say. */
  readonly accepted: {
    readonly asset: string
    readonly payTo: string
    readonly amount: string
  } | null
  readonly payload: Readonly<Record<string, unknown>>
}

export type ExactPayload = { readonly authorization: Authorization; readonly signature: Hex }

/** What cannot be read as a payment at all. Ends in 400, where a readable but wrong one ends in 402. */
export class MalformedPayment extends Error {
  override readonly name = 'MalformedPayment'
}

const PAYMENT_BYTES_MAX = 8_192

export function hasPayment(headers: IncomingHttpHeaders): boolean {
  return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined
}

/** @returns null when the request brings no payment. @throws MalformedPayment */
export function paymentHeader(headers: IncomingHttpHeaders): string | null {
  const [v1, v2] = [headers['x-payment'], headers['payment-signature']]
  if (v1 !== undefined && v2 !== undefined && v1 !== v2) {
    throw new MalformedPayment('X-PAYMENT and PAYMENT-SIGNATURE differ; send one of them')
  }
  const header = v2 ?? v1
  if (header === undefined) return null
  // Node joins repeated headers with a comma, which no base64 contains.
  if (Array.isArray(header) || header.includes(',')) {
    throw new MalformedPayment('the payment header is repeated; send it once')
  }
  return header
}

/** @throws MalformedPayment */
export function decodeEnvelope(header: string): PaymentEnvelope {
  if (header.length > Math.ceil(PAYMENT_BYTES_MAX / 3) * 4) {
    throw new MalformedPayment(`the payment is larger than ${PAYMENT_BYTES_MAX} bytes`)
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(header)) {
    throw new MalformedPayment('the payment header is not base64')
  }
  const value = parseJson(Buffer.from(header, 'base64').toString('utf8'))
  if (!isRecord(value)) throw new MalformedPayment('the payment is not a JSON object')
  const version = value['x402Version']
  if (version !== 1 && version !== 2) throw new MalformedPayment('x402Version must be 1 or 2')
  const payload = record(value['payload'], 'payload')
  if (version === 1) {
    return {
      version,
      scheme: text(value['scheme'], 'scheme'),
      network: text(value['network'], 'network'),
      accepted: null,
      payload,
    }
  }
  const accepted = record(value['accepted'], 'accepted')
  return {
    version,
    scheme: text(accepted['scheme'], 'accepted.scheme'),
    network: text(accepted['network'], 'accepted.network'),
    accepted: {
      asset: text(accepted['asset'], 'accepted.asset'),
      payTo: text(accepted['payTo'], 'accepted.payTo'),
      amount: text(accepted['amount'], 'accepted.amount'),
    },
    payload,
  }
}

/** Reads the payload of scheme `exact` on an EVM chain. @throws MalformedPayment */
export function decodeExactPayload(payload: Readonly<Record<string, unknown>>): ExactPayload {
  const authorization = record(payload['authorization'], 'payload.authorization')
  const field = (name: string) => text(authorization[name], `payload.authorization.${name}`)
  return {
    authorization: {
      from: address(field('from'), 'from'),
      to: address(field('to'), 'to'),
      value: uint256(field('value'), 'value'),
      validAfter: uint256(field('validAfter'), 'validAfter'),
      validBefore: uint256(field('validBefore'), 'validBefore'),
      nonce: hex(field('nonce'), 32, 'payload.authorization.nonce'),
    },
    signature: hex(text(payload['signature'], 'payload.signature'), 65, 'payload.signature'),
  }
}

/** Names exactly one signed payment, whatever envelope, header or spelling it came in. */
export function payloadHash(network: string, { authorization, signature }: ExactPayload): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return createHash('sha256')
    .update([network, from, to, value, validAfter, validBefore, nonce, signature].join('|'))
    .digest('hex')
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new MalformedPayment('the payment is not JSON', { cause })
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function record(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new MalformedPayment(`${name} must be an object`)
  return value
}

function text(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new MalformedPayment(`${name} must be a string`)
  return value
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

/** Lower case, so that equal values are equal texts. */
function hex(value: string, bytes: number, name: string): Hex {
  if (!/^0x[0-9a-f]*$/i.test(value) || value.length !== 2 + 2 * bytes) {
    throw new MalformedPayment(`${name} must be ${bytes} bytes in hexadecimal`)
  }
  return `0x${value.slice(2).toLowerCase()}`
}

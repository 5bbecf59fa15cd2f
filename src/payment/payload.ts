import type { IncomingHttpHeaders } from 'node:http'
import { isRecord } from '../domain/json.ts'
import type { Extensions } from './extensions/extensions.ts'

/** A decoded payment header of version 1 or 2. Their inner payloads are identical. */
export type PaymentEnvelope = {
  readonly version: 1 | 2
  readonly scheme: string
  /** CAIP-2 in version 2; a name such as `base` in version 1. */
  readonly network: string
  /** The terms that the buyer accepted; null in version 1. */
  readonly accepted: {
    readonly asset: string
    readonly payTo: string
    readonly amount: string
  } | null
  /** Extensions that the buyer echoes or adds; not signed. null in version 1. */
  readonly extensions: Extensions | null
  readonly payload: Readonly<Record<string, unknown>>
}

/** A header that is not a payment: 400. A decoded but invalid payment is a 402. */
export class MalformedPayment extends Error {
  override readonly name = 'MalformedPayment'
}

const PAYMENT_BYTES_MAX = 8_192

export function hasPayment(headers: IncomingHttpHeaders): boolean {
  return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined
}

/**
 * @returns null if the request has no payment
 * @throws MalformedPayment
 */
export function paymentHeader(headers: IncomingHttpHeaders): string | null {
  const [v1, v2] = [headers['x-payment'], headers['payment-signature']]
  if (v1 !== undefined && v2 !== undefined && v1 !== v2) {
    throw new MalformedPayment('X-PAYMENT and PAYMENT-SIGNATURE differ; send only one of them')
  }
  const header = v2 ?? v1
  if (header === undefined) return null
  // Node joins repeated headers with a comma, which no base64 contains.
  if (Array.isArray(header) || header.includes(',')) {
    throw new MalformedPayment('The payment header is repeated; send it once')
  }
  return header
}

/** @throws MalformedPayment */
export function decodeEnvelope(header: string): PaymentEnvelope {
  if (header.length > Math.ceil(PAYMENT_BYTES_MAX / 3) * 4) {
    throw new MalformedPayment(`The payment is larger than ${PAYMENT_BYTES_MAX} bytes`)
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(header)) {
    throw new MalformedPayment('The payment header is not base64')
  }
  const value = parseJson(Buffer.from(header, 'base64').toString('utf8'))
  if (!isRecord(value)) throw new MalformedPayment('The payment is not a JSON object')
  const version = value['x402Version']
  if (version !== 1 && version !== 2) throw new MalformedPayment('x402Version must be 1 or 2')
  const payload = requireRecord(value['payload'], 'payload')
  if (version === 1) {
    return {
      version,
      scheme: requireText(value['scheme'], 'scheme'),
      network: requireText(value['network'], 'network'),
      accepted: null,
      extensions: null,
      payload,
    }
  }
  const accepted = requireRecord(value['accepted'], 'accepted')
  return {
    version,
    scheme: requireText(accepted['scheme'], 'accepted.scheme'),
    network: requireText(accepted['network'], 'accepted.network'),
    accepted: {
      asset: requireText(accepted['asset'], 'accepted.asset'),
      payTo: requireText(accepted['payTo'], 'accepted.payTo'),
      amount: requireText(accepted['amount'], 'accepted.amount'),
    },
    extensions:
      value['extensions'] == null ? null : requireRecord(value['extensions'], 'extensions'),
    payload,
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new MalformedPayment('The payment is not JSON', { cause })
  }
}

/** @throws MalformedPayment */
export function requireRecord(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new MalformedPayment(`${name} must be an object`)
  return value
}

/** @throws MalformedPayment */
export function requireText(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new MalformedPayment(`${name} must be a string`)
  return value
}

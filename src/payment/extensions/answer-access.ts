import { createHash } from 'node:crypto'
import { callerKey } from '../rate-limit.ts'
import type { Extensions } from './extensions.ts'
import { infoOf } from './extensions.ts'

/**
 * Extension `answer-access`: each quote has its own secret, which clients of x402 version 2 echo with their payment. No
 * chain shows it, so a payment read from a chain does not give access to the answer.
 */
export const ANSWER_ACCESS = 'answer-access'
/** 16 random bytes in base64url. */
export const SECRET_CHARS = 22
/** Access of the same address without a secret; equals the validity of a payment. */
export const CALLER_ACCESS_MS = 120_000
/** The same while the outcome is unknown and the buyer was asked to retry. */
export const CALLER_ACCESS_OPEN_MS = 3_600_000
/** Bounds the input of the hash. */
const SECRET_CHARS_MAX = 128

/**
 * Credentials of a request beside its payment. They are hashes bound to the payment, so a stored one reveals neither
 * secret nor address.
 */
export type Credentials = {
  readonly secrets: readonly string[]
  readonly caller: string
}

/** Access to the answer of one payment: the credentials of its first request. */
export type AnswerAccess = Credentials & {
  /** Without a secret the address of the caller has access until this Unix time, ms. */
  readonly callerUntilMs: number
}

export type Presented = {
  /** Hash of the payment. */
  readonly payment: string
  readonly extensions: Extensions | null
  /** The buyer's identifier of the payment: `payment-identifier`. */
  readonly identifier: string | null
  readonly address: string
}

export function credentials({ payment, extensions, identifier, address }: Presented): Credentials {
  const hashed = (kind: string, value: string) =>
    createHash('sha256').update([kind, payment, value].join('|')).digest('base64url')
  const echoed = infoOf(extensions, ANSWER_ACCESS)?.['secret']
  const secret = typeof echoed === 'string' && isSecret(echoed) ? [hashed('secret', echoed)] : []
  const named = identifier === null ? [] : [hashed('identifier', identifier)]
  return { secrets: [...secret, ...named], caller: hashed('caller', callerKey(address)) }
}

/**
 * Whether a request proves the purchase. Version 1 of x402 echoes nothing that a chain does not show: its payments are
 * recognised by the address for a short time.
 */
export function opens(access: AnswerAccess, shown: Credentials, nowMs: number): boolean {
  if (access.secrets.length > 0) return shown.secrets.some((one) => access.secrets.includes(one))
  return shown.caller === access.caller && nowMs < access.callerUntilMs
}

/** A shorter secret could be guessed. */
function isSecret(text: string): boolean {
  return text.length >= SECRET_CHARS && text.length <= SECRET_CHARS_MAX
}

import { createHash } from 'node:crypto'
import { callerKey } from '../rate-limit.ts'
import type { Extensions } from './extensions.ts'
import { infoOf } from './extensions.ts'

/**
 * The extension `answer-access`: each quote carries a secret of its own, clients of x402 version 2 echo it with
 * their payment, and no chain ever shows it. Whoever reads a payment from a chain can rebuild all of it but this.
 */
export const ANSWER_ACCESS = 'answer-access'
/** 16 random bytes in base64url. */
export const SECRET_CHARS = 22
/** How long the same address has access again where there is no secret: as long as a quote lets a payment take. */
export const CALLER_ACCESS_MS = 120_000
/** The same where the outcome is unknown and the buyer was asked to retry. */
export const CALLER_ACCESS_OPEN_MS = 3_600_000
/** Bounds what is hashed for a client that puts something else there. */
const SECRET_CHARS_MAX = 128

/**
 * What a request shows beside its payment. Hashes that hold for this payment only, so a stored one tells neither
 * the secret nor the address.
 */
export type Credentials = {
  readonly secrets: readonly string[]
  readonly caller: string
}

/** Access to the answer of one payment: the credentials that came with it the first time. */
export type AnswerAccess = Credentials & {
  /** Without a secret the caller's address stands for it up to this Unix time, ms. */
  readonly callerUntilMs: number
}

export type Presented = {
  /** The hash that names the payment. */
  readonly payment: string
  readonly extensions: Extensions | null
  /** The buyer's own name for the payment: `payment-identifier`. */
  readonly identifier: string | null
  readonly address: string
}

/** @returns what a request can show for itself */
export function credentials({ payment, extensions, identifier, address }: Presented): Credentials {
  const hashed = (kind: string, value: string) =>
    createHash('sha256').update([kind, payment, value].join('|')).digest('base64url')
  const echoed = infoOf(extensions, ANSWER_ACCESS)?.['secret']
  const secret = typeof echoed === 'string' && isSecret(echoed) ? [hashed('secret', echoed)] : []
  const named = identifier === null ? [] : [hashed('identifier', identifier)]
  return { secrets: [...secret, ...named], caller: hashed('caller', callerKey(address)) }
}

/**
 * Whether a request that shows `shown` is one of the buyer's. Version 1 of x402 sends nothing back that a chain does
 * not show: for its payments the same address has to do, for a short time.
 */
export function opens(access: AnswerAccess, shown: Credentials, nowMs: number): boolean {
  if (access.secrets.length > 0) return shown.secrets.some((one) => access.secrets.includes(one))
  return shown.caller === access.caller && nowMs < access.callerUntilMs
}

/** A client that made up a short one would have a secret that can be guessed. */
function isSecret(text: string): boolean {
  return text.length >= SECRET_CHARS && text.length <= SECRET_CHARS_MAX
}

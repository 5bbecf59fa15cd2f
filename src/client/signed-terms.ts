import { UnpayableError } from './errors.ts'
import { spelled } from './payees.ts'
import type { PaymentPayload, PaymentRequirements } from './x402.ts'

/** What was signed, as far as it can be read. */
export type SignedTerms =
  | {
      readonly kind: 'transfer'
      readonly amount: bigint
      /** It is sent in the place of a new payment until then. */
      readonly freshUntilMs: number
      /** From then on nobody can settle it any more. */
      readonly endsMs: number
    }
  | { readonly kind: 'voucher'; readonly channelId: string; readonly cumulative: bigint }

/**
 * A payment counts for this much longer than it is valid: a chain judges by the time of its blocks, which may lag,
 * and this clock may be ahead.
 */
const MARGIN_MS = 60_000
/** A transaction on Solana is valid for 150 blocks after its blockhash: 60 s at 0.4 s a block, twice that when blocks are slow. */
const SOLANA_LIFETIME_MS = 120_000
/** Shorter than either life, so that a service has the time to settle it. */
const EVM_FRESH_MARGIN_MS = 15_000
const SOLANA_FRESH_MS = 45_000
/** Between the clocks of a wallet and of this client. */
const CLOCKS_APART_SECONDS_MAX = 10

/**
 * Reads what a wallet has signed for one of the ways to pay that it was shown. @throws UnpayableError when that is
 * more, for somebody else or for longer than it was asked for
 */
export function signedTerms(
  { accepted, payload }: PaymentPayload,
  offered: readonly PaymentRequirements[],
  nowMs: number,
): SignedTerms {
  const asked = offered.find((one) => isSame(one, accepted))
  if (asked === undefined) throw wrong('for terms that were not in the quote')
  const amount = BigInt(asked.amount)
  if (asked.scheme === 'batch-settlement') return voucherOf(payload, asked)
  if (asked.network.startsWith('solana:'))
    return {
      kind: 'transfer',
      amount,
      freshUntilMs: nowMs + SOLANA_FRESH_MS,
      endsMs: nowMs + SOLANA_LIFETIME_MS + MARGIN_MS,
    }
  const { to, value, validBefore } = members(payload['authorization'])
  mustPay(to, asked)
  if (uint(value) !== amount) throw wrong(`for ${value} millionths, and the call costs ${amount}`)
  const endsSeconds = uint(validBefore)
  const latestSeconds = nowMs / 1_000 + asked.maxTimeoutSeconds + CLOCKS_APART_SECONDS_MAX
  if (endsSeconds > latestSeconds)
    throw wrong(`for longer than the ${asked.maxTimeoutSeconds} s that the quote asks for`)
  const validMs = Number(endsSeconds) * 1_000
  return {
    kind: 'transfer',
    amount,
    freshUntilMs: validMs - EVM_FRESH_MARGIN_MS,
    endsMs: validMs + MARGIN_MS,
  }
}

function voucherOf(payload: PaymentPayload['payload'], asked: PaymentRequirements): SignedTerms {
  const { receiver } = members(payload['channelConfig'])
  mustPay(receiver, asked)
  const { channelId, maxClaimableAmount } = members(payload['voucher'])
  if (typeof channelId !== 'string') throw wrong('a voucher without its channel')
  return { kind: 'voucher', channelId, cumulative: uint(maxClaimableAmount) }
}

function mustPay(to: unknown, { payTo }: PaymentRequirements): void {
  if (typeof to !== 'string' || spelled(to) !== spelled(payTo))
    throw wrong(`to pay ${to}, and the quote names ${payTo}`)
}

function isSame(one: PaymentRequirements, other: PaymentRequirements | undefined): boolean {
  return (
    other !== undefined &&
    one.scheme === other.scheme &&
    one.network === other.network &&
    one.amount === other.amount &&
    spelled(one.asset) === spelled(other.asset) &&
    spelled(one.payTo) === spelled(other.payTo)
  )
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  throw wrong('something that cannot be read')
}

function uint(value: unknown): bigint {
  if (typeof value === 'string' && /^\d{1,78}$/.test(value)) return BigInt(value)
  throw wrong('something that cannot be read')
}

function wrong(what: string): UnpayableError {
  return new UnpayableError(`the wallet signed ${what}; nothing was sent`)
}

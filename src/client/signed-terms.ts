import { UnpayableError } from './errors.ts'
import { canonicalAddress } from './payees.ts'
import type { PaymentPayload, PaymentRequirements } from './x402.ts'

/** The signed terms of a payment. */
export type SignedTerms =
  | {
      readonly kind: 'transfer'
      readonly amount: bigint
      /** Until then it is sent again instead of a new payment. */
      readonly freshUntilMs: number
      /** Unix time from which it cannot be settled. */
      readonly endsMs: number
    }
  | {
      readonly kind: 'voucher'
      readonly channelId: string
      readonly cumulative: bigint
      /** Into the channel, with the voucher. */
      readonly deposit?: { readonly amount: bigint; readonly endsMs: number }
    }

/** Added to the validity: block times may lag, and the local clock may be ahead. */
const MARGIN_MS = 60_000
/** A Solana transaction is valid for 150 blocks: 60 s at 0.4 s per block, doubled for slow blocks. */
const SOLANA_LIFETIME_MS = 120_000
/** Leaves the service time to settle. */
const EVM_FRESH_MARGIN_MS = 15_000
const SOLANA_FRESH_MS = 45_000
/** Tolerated difference between the clocks of wallet and client. */
const CLOCKS_APART_SECONDS_MAX = 10

/** Decodes a signed payment. @throws UnpayableError if amount, payee or validity differ from the offered terms */
export function readSignedTerms(
  { accepted, payload }: PaymentPayload,
  offered: readonly PaymentRequirements[],
  nowMs: number,
): SignedTerms {
  const asked = offered.find((one) => isSame(one, accepted))
  if (asked === undefined) throw wrong('terms that are not in the quote')
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
  if (uint(value) !== amount)
    throw wrong(`${value} millionths of a USDC, but the call costs ${amount}`)
  const endsSeconds = uint(validBefore)
  const latestSeconds = nowMs / 1_000 + asked.maxTimeoutSeconds + CLOCKS_APART_SECONDS_MAX
  if (endsSeconds > latestSeconds)
    throw wrong(`a validity above the ${asked.maxTimeoutSeconds} s of the quote`)
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
  if (typeof channelId !== 'string') throw wrong('a voucher without channelId')
  const terms = { kind: 'voucher', channelId, cumulative: uint(maxClaimableAmount) } as const
  if (payload['type'] !== 'deposit') return terms
  const { amount, authorization } = members(payload['deposit'])
  const { validBefore } = members(members(authorization)['erc3009Authorization'])
  const endsMs = Number(uint(validBefore)) * 1_000 + MARGIN_MS
  return { ...terms, deposit: { amount: uint(amount), endsMs } }
}

function mustPay(to: unknown, { payTo }: PaymentRequirements): void {
  if (typeof to !== 'string' || canonicalAddress(to) !== canonicalAddress(payTo))
    throw wrong(`the payee ${to}, but the quote names ${payTo}`)
}

function isSame(one: PaymentRequirements, other: PaymentRequirements | undefined): boolean {
  return (
    other !== undefined &&
    one.scheme === other.scheme &&
    one.network === other.network &&
    one.amount === other.amount &&
    canonicalAddress(one.asset) === canonicalAddress(other.asset) &&
    canonicalAddress(one.payTo) === canonicalAddress(other.payTo)
  )
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  throw wrong('an invalid payload')
}

function uint(value: unknown): bigint {
  if (typeof value === 'string' && /^\d{1,78}$/.test(value)) return BigInt(value)
  throw wrong('an invalid payload')
}

function wrong(what: string): UnpayableError {
  return new UnpayableError(`the wallet signed ${what}; nothing was sent`)
}

import type { Requirement } from '../payment.ts'
import { SETTLE_MARGIN_SECONDS } from '../payment.ts'
import type { Rejection } from '../rejection.ts'
import { rejection } from '../rejection.ts'
import type { Authorization } from './exact-payload.ts'

/** A buyer's clock may run ahead of ours by this much. */
const SKEW_SECONDS_MAX = 5
/** Bounds how long a stored answer must be kept for a repeated payment. */
const LIFETIME_SECONDS_MAX = 86_400

/** What was signed must be what we asked for: equal, not at least. */
export function checkAuthorization(
  { to, value }: Authorization,
  { method, amount }: Requirement,
): Rejection | null {
  const differences = [
    ['to', method.payTo, to, 'invalid_exact_evm_payload_recipient_mismatch'],
    [
      'value',
      amount.toString(),
      value.toString(),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
  ] as const
  for (const [name, expected, received, reason] of differences) {
    if (received === expected) continue
    return rejection(reason, 'Read the terms of this answer again and sign exactly those.', {
      field: `authorization.${name}`,
      expected,
      received,
    })
  }
  return null
}

/** Whether the authorization can still be settled and does not outlive what we are ready to keep. */
export function checkWindow(
  { validAfter, validBefore }: Authorization,
  nowMs: number,
): Rejection | null {
  const nowSeconds = BigInt(Math.floor(nowMs / 1_000))
  const earliest = nowSeconds + BigInt(SETTLE_MARGIN_SECONDS)
  const latest = nowSeconds + BigInt(LIFETIME_SECONDS_MAX)
  if (validBefore < earliest || validBefore > latest) {
    return rejection(
      'invalid_exact_evm_payload_authorization_valid_before',
      validBefore < earliest
        ? 'The authorization has expired, or is about to. Sign a new one.'
        : 'Sign an authorization that expires within a day.',
      {
        field: 'authorization.validBefore',
        expected: `${earliest} to ${latest}`,
        received: validBefore.toString(),
      },
    )
  }
  if (validAfter > nowSeconds + BigInt(SKEW_SECONDS_MAX)) {
    return rejection(
      'invalid_exact_evm_payload_authorization_valid_after',
      'The authorization is not valid yet. Back-date validAfter by some minutes.',
      {
        field: 'authorization.validAfter',
        expected: `at most ${nowSeconds + BigInt(SKEW_SECONDS_MAX)}`,
        received: validAfter.toString(),
      },
    )
  }
  return null
}

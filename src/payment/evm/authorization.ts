import type { Requirement } from '../payment.ts'
import { SETTLE_MARGIN_SECONDS } from '../payment.ts'
import type { Rejection } from '../rejection.ts'
import { rejection } from '../rejection.ts'
import type { Authorization } from './exact-payload.ts'

/** Tolerated lead of a buyer's clock. */
const SKEW_SECONDS_MAX = 5
/** Bounds how long an answer is stored. */
const LIFETIME_SECONDS_MAX = 86_400

/** Payee and amount must equal the terms. */
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
    return rejection(reason, 'Sign exactly the terms of this response.', {
      field: `authorization.${name}`,
      expected,
      received,
    })
  }
  return null
}

/** The authorization must leave time for settlement and expire within a day. */
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
        ? 'The authorization has expired or expires too soon. Sign a new one.'
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
      'The authorization is not valid yet. Set validAfter some minutes in the past.',
      {
        field: 'authorization.validAfter',
        expected: `at most ${nowSeconds + BigInt(SKEW_SECONDS_MAX)}`,
        received: validAfter.toString(),
      },
    )
  }
  return null
}

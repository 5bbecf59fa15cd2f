import type { Hex } from 'viem'
import { recoverTypedDataAddress } from 'viem'
import type { Requirement } from '../payment.ts'
import { SETTLE_MARGIN_SECONDS } from '../payment.ts'
import type { Rejection } from '../rejection.ts'
import { rejection } from '../rejection.ts'
import type { Authorization, ExactPayload } from './exact-payload.ts'
import type { PaymentNetwork } from './networks.ts'

/** A buyer's clock may run ahead of ours by this much. */
const SKEW_SECONDS_MAX = 5
/** Bounds how long a stored answer must be kept for a repeated payment. */
const LIFETIME_SECONDS_MAX = 86_400

/** EIP-3009. */
const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** Half the order of secp256k1: a signature with a larger `s` is refused by the token. */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

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

/** Recovers the signer, about 2 ms of CPU, with the two restrictions that the token adds. */
export async function checkSignature(
  { authorization, signature }: ExactPayload,
  network: PaymentNetwork,
): Promise<Rejection | null> {
  const signer = isCanonical(signature)
    ? await recoverSigner(authorization, signature, network)
    : null
  if (signer === authorization.from) return null
  return rejection(
    'invalid_exact_evm_payload_signature',
    "Sign with the token's EIP-712 domain (name and version stand in `extra`) and the paying key.",
    {
      field: 'authorization.from',
      expected: authorization.from,
      received: signer ?? 'not a canonical ECDSA signature (low s, v of 27 or 28)',
    },
  )
}

function isCanonical(signature: Hex): boolean {
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = Number.parseInt(signature.slice(130), 16)
  return s <= S_MAX && (v === 27 || v === 28)
}

async function recoverSigner(
  message: Authorization,
  signature: Hex,
  { domain, chainId, asset }: PaymentNetwork,
): Promise<string | null> {
  try {
    return await recoverTypedDataAddress({
      domain: { ...domain, chainId, verifyingContract: asset },
      types,
      primaryType: 'TransferWithAuthorization',
      message,
      signature,
    })
  } catch {
    // No point of the curve has this r: as good as a foreign signer.
    return null
  }
}

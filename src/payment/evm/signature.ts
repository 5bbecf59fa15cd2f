import type { AskNode } from '../payment.ts'
import type { Rejection } from '../rejection.ts'
import { rejection } from '../rejection.ts'
import type { AuthorizationDigest } from './authorization-digest.ts'
import type { ContractWallets } from './contract-wallets.ts'
import type { ExactPayload } from './exact-payload.ts'
import { isKeySignature } from './exact-payload.ts'
import { signerOf } from './signer.ts'

export type SignatureJudges = {
  readonly digest: AuthorizationDigest
  /** null without a node: then contract signatures are rejected. */
  readonly contractWallets: ContractWallets | null
}

/** ERC-6492: suffix of a signature by a wallet that is not deployed. */
const UNDEPLOYED = '6492'.repeat(16)
const REASON = 'invalid_exact_evm_payload_signature'

/**
 * Checks that the key of the payer signed, or that its contract accepts the signature (EIP-1271), which needs a node.
 * @throws OperatingError when the node does not answer
 */
export async function checkSignature(
  { authorization, signature }: ExactPayload,
  { digest: digestOf, contractWallets }: SignatureJudges,
  ask: AskNode,
): Promise<Rejection | null> {
  const { from } = authorization
  const digest = digestOf(authorization)
  const isKey = isKeySignature(signature)
  const signer = isKey ? signerOf(digest, signature) : null
  if (signer === from.toLowerCase()) return null
  if (signature.endsWith(UNDEPLOYED)) {
    return refused('Deploy the wallet first: ERC-6492 signatures are not accepted.')
  }
  if (contractWallets === null && !isKey) {
    return refused('Pay from an account with a key: contract signatures cannot be checked here.')
  }
  if (
    contractWallets !== null &&
    (await ask(() => contractWallets.accepts(from, digest, signature)))
  )
    return null
  return rejection(
    REASON,
    'Sign with the paying key and the EIP-712 domain of the token (`extra` has its name and version).',
    {
      field: 'authorization.from',
      expected: from,
      received: signer ?? 'not a canonical ECDSA signature (low s, v of 27 or 28)',
    },
  )
}

function refused(hint: string): Rejection {
  return rejection(REASON, hint)
}

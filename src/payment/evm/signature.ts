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
  /** Null where no node can be asked: then only keys sign. */
  readonly contractWallets: ContractWallets | null
}

/** ERC-6492: the signature of a wallet that does not stand on the chain yet ends with this. */
const UNDEPLOYED = '6492'.repeat(16)
const REASON = 'invalid_exact_evm_payload_signature'

/**
 * Whether the payer signed: its key, or else its contract (EIP-1271), which is asked over the network.
 * @throws OperatingError when the node does not answer for a contract
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
    return refused('Deploy the wallet first: signatures by ERC-6492 are not taken.')
  }
  if (contractWallets === null && !isKey) {
    return refused('Pay from an account with a key: contract wallets cannot be asked here.')
  }
  if (
    contractWallets !== null &&
    (await ask(() => contractWallets.accepts(from, digest, signature)))
  )
    return null
  return rejection(
    REASON,
    "Sign with the token's EIP-712 domain (name and version stand in `extra`) and the paying key.",
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

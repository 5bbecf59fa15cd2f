import { getAddress } from 'viem'
import type { Facilitator, Payment, PaymentMethod, SignedPayment } from '../payment.ts'
import { wirePayload } from '../wire-payload.ts'
import { checkAuthorization, checkWindow } from './authorization.ts'
import { authorizationDigest } from './authorization-digest.ts'
import type { ContractWallets } from './contract-wallets.ts'
import type { ExactPayload } from './exact-payload.ts'
import { decodeExactPayload, payloadHash } from './exact-payload.ts'
import { keyRecovery } from './key-recovery.ts'
import type { PaymentNetwork } from './networks.ts'
import { checkSignature } from './signature.ts'

/** A payment of scheme `exact` on an EVM chain: an EIP-3009 authorization and its signature. */
export type ExactEvmPayment = SignedPayment & ExactPayload & { readonly chain: PaymentNetwork }

export type ExactEvmOptions = {
  readonly network: PaymentNetwork
  readonly payTo: string
  readonly facilitator: Facilitator<ExactEvmPayment>
  /** Without it payments from contract wallets are refused. */
  readonly contractWallets?: ContractWallets
}

/** USDC on an EVM chain by `transferWithAuthorization`. */
export function exactEvm({
  network: chain,
  payTo,
  facilitator,
  contractWallets,
}: ExactEvmOptions): PaymentMethod<ExactEvmPayment & Payment> {
  const judges = {
    digest: authorizationDigest(chain),
    recovery: keyRecovery,
    contractWallets: contractWallets ?? null,
  }
  return {
    scheme: 'exact',
    network: chain.network,
    legacyName: chain.legacyName,
    asset: chain.asset,
    payTo: getAddress(payTo),
    extra: chain.domain,
    read(raw, purchase) {
      const exact = decodeExactPayload(raw)
      const { authorization } = exact
      const payment: ExactEvmPayment = {
        ...exact,
        ...purchase,
        chain,
        payer: authorization.from,
        nonce: authorization.nonce,
        hash: payloadHash(chain.network, exact),
        validBeforeSeconds: Number(authorization.validBefore),
        wire: wirePayload(purchase, wireOf(exact)),
      }
      return {
        ...payment,
        check: async (nowMs, ask) =>
          checkAuthorization(authorization, purchase.requirement) ??
          checkWindow(authorization, nowMs) ??
          (await checkSignature(exact, judges, ask)),
        screen: async () => facilitator.screen?.(payment) ?? { kind: 'valid' },
        verify: () => facilitator.verify(payment),
        settle: (finality) => facilitator.settle(payment, finality),
        outcome: () => facilitator.outcome(payment),
      }
    },
  }
}

function wireOf({ authorization, signature }: ExactPayload) {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return {
    signature,
    authorization: {
      from,
      to,
      value: value.toString(),
      validAfter: validAfter.toString(),
      validBefore: validBefore.toString(),
      nonce,
    },
  }
}

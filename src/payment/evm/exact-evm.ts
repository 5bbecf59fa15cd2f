import { getAddress } from 'viem'
import type { DecodedPayment, Facilitator, Payment, PaymentMethod } from '../payment.ts'
import { facilitatorRejection } from '../rejection.ts'
import { wirePayload } from '../wire-payload.ts'
import { checkAuthorization, checkWindow } from './authorization.ts'
import { authorizationDigest } from './authorization-digest.ts'
import type { ContractPayers } from './contract-payers.ts'
import type { ContractWallets } from './contract-wallets.ts'
import type { ExactPayload } from './exact-payload.ts'
import { decodeExactPayload, isKeySignature, payloadHash } from './exact-payload.ts'
import type { PaymentNetwork } from './networks.ts'
import { checkSignature } from './signature.ts'

/** A payment of scheme `exact` on an EVM chain: an EIP-3009 authorization and its signature. */
export type ExactEvmPayment = DecodedPayment & ExactPayload & { readonly chain: PaymentNetwork }

export type ExactEvmOptions = {
  readonly network: PaymentNetwork
  readonly payTo: string
  readonly facilitator: Facilitator<ExactEvmPayment>
  /** Without it, payments of contract wallets are rejected. */
  readonly contractWallets?: ContractWallets
  /** Blocked payers; absent where a facilitator pays the gas. */
  readonly payers?: ContractPayers
  readonly readiness?: PaymentMethod['readiness']
}

/** Addition to quotes while contract wallets are rejected. */
const keysOnly = { contractWallets: false }
const nothing = {}

/** USDC on an EVM chain by `transferWithAuthorization`. */
export function exactEvm({
  network: chain,
  payTo,
  facilitator,
  contractWallets,
  payers,
  readiness,
}: ExactEvmOptions): PaymentMethod<ExactEvmPayment & Payment> {
  const judges = {
    digest: authorizationDigest(chain),
    contractWallets: contractWallets ?? null,
  }
  /** Checked first: a blocked wallet causes no request to a node. */
  const refusalOf = async ({ authorization, signature }: ExactPayload): Promise<string | null> =>
    payers === undefined
      ? null
      : ((await payers.barred(authorization.from)) ??
        (isKeySignature(signature) ? null : payers.objection()))
  return {
    scheme: 'exact',
    network: chain.network,
    legacyName: chain.legacyName,
    asset: chain.asset,
    payTo: getAddress(payTo),
    extra: chain.domain,
    extraNow: () => (payers === undefined || payers.objection() === null ? nothing : keysOnly),
    ...(readiness && { readiness }),
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
        check: async (nowMs, ask) => {
          const misfit =
            checkAuthorization(authorization, purchase.requirement) ??
            checkWindow(authorization, nowMs)
          if (misfit !== null) return misfit
          const reason = await refusalOf(exact)
          return reason === null ? checkSignature(exact, judges, ask) : facilitatorRejection(reason)
        },
        screen: async () => facilitator.screen?.(payment) ?? { kind: 'valid' },
        verify: () => facilitator.verify(payment),
        settle: (finality) => facilitator.settle(payment, finality),
        outcome: (sent) => facilitator.outcome(payment, sent),
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

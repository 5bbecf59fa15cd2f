import { createHash } from 'node:crypto'
import type { Address } from '@solana/addresses'
import { address } from '@solana/addresses'
import type { Clock } from '../../domain/clock.ts'
import type { FailedSettlements } from '../failed-settlements.ts'
import { requireText } from '../payload.ts'
import type { DecodedPayment, Facilitator, Payment, PaymentMethod } from '../payment.ts'
import { facilitatorRejection } from '../rejection.ts'
import { wirePayload } from '../wire-payload.ts'
import { SOL_USD_MAX } from './fee-share.ts'
import { FirstSeen } from './first-seen.ts'
import type { SolanaNetwork } from './networks.ts'
import { associatedTokenAccount } from './token-account.ts'
import { checkTransfer, transferOf } from './transfer-check.ts'
import type { WireTransaction } from './wire-transaction.ts'
import { decodeTransaction, encodeTransaction } from './wire-transaction.ts'

/** A payment of scheme `exact` on Solana: a transfer without the signature of its fee payer. */
export type ExactSolanaPayment = DecodedPayment & {
  readonly payer: Address
  readonly transaction: WireTransaction
  readonly chain: SolanaNetwork
}

export type ExactSolanaOptions = {
  readonly network: SolanaNetwork
  readonly payTo: string
  /** Signs at the facilitator; null while it is unknown. Every quote names it. */
  readonly feePayer: string | null
  readonly facilitator: Facilitator<ExactSolanaPayment>
  readonly clock: Clock
  /** Assumed maximum price of SOL, USD. A lower value allows higher priority fees at our cost. */
  readonly solUsdMax?: number
  /** Blocked wallets; absent where a facilitator pays the fees. */
  readonly failures?: FailedSettlements
  readonly readiness?: PaymentMethod['readiness']
}

export const BARRED = 'invalid_exact_svm_payer_barred'

/**
 * A transaction is valid for 150 blocks after its blockhash: 60 s, longer while blocks are missing. Its time of signing
 * is unknown, so this counts from its first arrival and bounds how long the answer is stored. Only the chain decides
 * the expiry.
 */
const LIFETIME_SECONDS = 90

/** USDC on Solana in a transaction whose fees the facilitator pays. */
export function exactSolana(
  options: ExactSolanaOptions,
): PaymentMethod<ExactSolanaPayment & Payment> {
  const { network: chain, facilitator, clock, failures, readiness } = options
  const { solUsdMax = SOL_USD_MAX } = options
  const payTo = address(options.payTo)
  const feePayer = options.feePayer === null ? null : address(options.feePayer)
  const destination = associatedTokenAccount(payTo, chain.asset)
  const firstSeen = new FirstSeen()

  return {
    scheme: 'exact',
    network: chain.network,
    legacyName: chain.legacyName,
    asset: chain.asset,
    payTo,
    extra: feePayer === null ? {} : { feePayer },
    isSuspended: feePayer === null,
    ...(readiness && { readiness }),
    read(raw, purchase) {
      const transaction = decodeTransaction(requireText(raw['transaction'], 'payload.transaction'))
      const nowSeconds = Math.floor(clock.nowMs() / 1_000)
      const nonce = createHash('sha256').update(transaction.message).digest('hex')
      const payment: ExactSolanaPayment = {
        ...purchase,
        chain,
        transaction,
        payer: payerOf(transaction),
        nonce,
        hash: paymentHash(chain.network, transaction),
        validBeforeSeconds: firstSeen.at(nonce, nowSeconds) + LIFETIME_SECONDS,
        wire: wirePayload(purchase, { transaction: encodeTransaction(transaction, null) }),
      }
      return {
        ...payment,
        check: async () => {
          if (feePayer === null) throw new TypeError('a method without a fee payer is not offered')
          const misfit = checkTransfer(transaction, {
            source: await associatedTokenAccount(payment.payer, chain.asset),
            mint: chain.asset,
            destination: await destination,
            amount: purchase.requirement.amount,
            feePayer,
            solUsdMax,
          })
          if (misfit !== null) return misfit
          const named = { network: chain.network, payer: payment.payer }
          const isBarred = await failures?.isBarred(named, clock.nowMs())
          return isBarred === true ? facilitatorRejection(BARRED) : null
        },
        screen: async () => facilitator.screen?.(payment) ?? { kind: 'valid' },
        verify: () => facilitator.verify(payment),
        settle: (finality) => facilitator.settle(payment, finality),
        outcome: () => facilitator.outcome(payment),
      }
    },
  }
}

/** Owner of the tokens. A transaction without a transfer is rejected later; until then its signer is used. */
function payerOf(transaction: WireTransaction): Address {
  const { signers } = transaction
  const payer = transferOf(transaction)?.authority ?? signers[1] ?? signers[0]
  if (payer === undefined) throw new TypeError('a decoded transaction has a signer')
  return payer
}

/** The slot of the fee payer is ignored; only the other signatures identify the payment. */
function paymentHash(network: string, { message, signatures }: WireTransaction): string {
  const hash = createHash('sha256').update(network).update(message)
  for (const signature of signatures.slice(1)) hash.update(signature)
  return hash.digest('hex')
}

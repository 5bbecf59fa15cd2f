import { createHash } from 'node:crypto'
import type { Address } from '@solana/kit'
import { address } from '@solana/kit'
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

/** A payment of scheme `exact` on Solana: a transfer that lacks the signature of its fee payer. */
export type ExactSolanaPayment = DecodedPayment & {
  readonly payer: Address
  readonly transaction: WireTransaction
  readonly chain: SolanaNetwork
}

export type ExactSolanaOptions = {
  readonly network: SolanaNetwork
  readonly payTo: string
  /** Whose signature the facilitator adds; null while that is not known, which every quote names. */
  readonly feePayer: string | null
  readonly facilitator: Facilitator<ExactSolanaPayment>
  readonly clock: Clock
  /** What a SOL costs at most, USD: a lower figure lets buyers pay more for priority, at our cost. */
  readonly solUsdMax?: number
  /** Whose wallets are barred; where others pay the fees it is theirs to say. */
  readonly failures?: FailedSettlements
  readonly readiness?: PaymentMethod['readiness']
}

export const BARRED = 'invalid_exact_svm_payer_barred'

/**
 * A transaction lives for 150 blocks after the one that it names: 60 s, and longer while blocks fail to
 * appear. When it was made it does not say, so this is counted from when it came here first. It bounds how
 * long the answer is kept; that a transaction can never land any more only the chain tells.
 */
const LIFETIME_SECONDS = 90

/** USDC on Solana, in a transaction for which the facilitator pays. */
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
          if (feePayer === null) throw new TypeError('nothing new is sold by it')
          const named = { network: chain.network, payer: payment.payer }
          if (failures?.isBarred(named, clock.nowMs())) return facilitatorRejection(BARRED)
          return checkTransfer(transaction, {
            source: await associatedTokenAccount(payment.payer, chain.asset),
            mint: chain.asset,
            destination: await destination,
            amount: purchase.requirement.amount,
            feePayer,
            solUsdMax,
          })
        },
        screen: async () => facilitator.screen?.(payment) ?? { kind: 'valid' },
        verify: () => facilitator.verify(payment),
        settle: (finality) => facilitator.settle(payment, finality),
        outcome: () => facilitator.outcome(payment),
      }
    },
  }
}

/** Whose tokens are moved. A transaction that moves none is refused later; until then its signer stands for it. */
function payerOf(transaction: WireTransaction): Address {
  const { signers } = transaction
  const payer = transferOf(transaction)?.authority ?? signers[1] ?? signers[0]
  if (payer === undefined) throw new TypeError('checked: a transaction has a signer')
  return payer
}

/** The slot of the fee payer may hold anything; only the others sign for the payment. */
function paymentHash(network: string, { message, signatures }: WireTransaction): string {
  const hash = createHash('sha256').update(network).update(message)
  for (const signature of signatures.slice(1)) hash.update(signature)
  return hash.digest('hex')
}

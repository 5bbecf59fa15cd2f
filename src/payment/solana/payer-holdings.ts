import type { Verification } from '../payment.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'
import type { SolanaNode } from './solana-node.ts'
import { associatedTokenAccount } from './token-account.ts'
import { INSUFFICIENT } from './transaction-error.ts'

/** Checks the balances of all payers in one request. */
export async function screenHoldings(
  node: SolanaNode,
  payments: readonly ExactSolanaPayment[],
): Promise<readonly Verification[]> {
  const accounts = payments.map(({ payer, chain }) => associatedTokenAccount(payer, chain.asset))
  const balances = await node.tokenBalances(await Promise.all(accounts))
  return payments.map(({ requirement }, index): Verification => {
    const isCovered = (balances[index] ?? 0n) >= requirement.amount
    return isCovered ? { kind: 'valid' } : { kind: 'invalid', reason: INSUFFICIENT }
  })
}

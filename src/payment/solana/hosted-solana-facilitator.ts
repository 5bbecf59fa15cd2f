import type { Facilitator } from '../payment.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'

/** What the SDK's facilitator says of a transaction that would fail, also of one that has landed already. */
const WOULD_FAIL = /simulation_failed/
/** Under this name the coordinator looks for the money before it refuses. */
const LANDED = 'duplicate_settlement'

/**
 * Somebody else's facilitator, which does not tell a payment that cannot be made from one that was made:
 * the chain does. Whoever sends a payment that has paid us gets the answer, whoever submitted it.
 */
export function hostedSolanaFacilitator(
  hosted: Facilitator<ExactSolanaPayment>,
): Facilitator<ExactSolanaPayment> {
  return {
    ...hosted,
    async verify(payment) {
      const verification = await hosted.verify(payment)
      if (verification.kind !== 'invalid' || !WOULD_FAIL.test(verification.reason))
        return verification
      const { kind } = await hosted.outcome(payment)
      return kind === 'settled' ? { kind: 'invalid', reason: LANDED } : verification
    },
  }
}

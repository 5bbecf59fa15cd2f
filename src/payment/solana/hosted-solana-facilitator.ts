import type { Facilitator } from '../payment.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'

/** Reason of the SDK's facilitator for a transaction that would fail, also for one that has landed. */
const WOULD_FAIL = /simulation_failed/
/** Under this reason the settlement coordinator checks the chain before it refuses. */
const LANDED = 'duplicate_settlement'

/**
 * A hosted facilitator does not distinguish an impossible payment from a settled one, so the chain decides. A payment
 * that has paid us gets its answer, independent of the submitter.
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

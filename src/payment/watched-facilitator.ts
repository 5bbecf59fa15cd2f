import type { Facilitator, SignedPayment } from './payment.ts'
import type { Watch } from './watch.ts'

/** A facilitator of our own whose results are heeded: by them its watch learns of a node that failed or is back. */
export function watchedFacilitator<P extends SignedPayment>(
  facilitator: Facilitator<P>,
  watch: Watch,
): Facilitator<P> {
  return {
    screen: async (payment) => facilitator.screen?.(payment) ?? { kind: 'valid' },
    async verify(payment) {
      const verification = await facilitator.verify(payment)
      if (verification.kind === 'unreachable') watch.suspected()
      return verification
    },
    async settle(payment, finality) {
      const settlement = await facilitator.settle(payment, finality)
      if (settlement.kind === 'settled') watch.proved()
      else if (settlement.kind === 'unreachable' || settlement.kind === 'unknown') watch.suspected()
      return settlement
    },
    outcome: (payment) => facilitator.outcome(payment),
  }
}

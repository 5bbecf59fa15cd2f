import type { HealthMonitor } from './health-monitor.ts'
import type { DecodedPayment, Facilitator } from './payment.ts'

/** Reports the results of our own facilitator to the monitor of its node. */
export function monitoredFacilitator<P extends DecodedPayment>(
  facilitator: Facilitator<P>,
  watch: HealthMonitor,
): Facilitator<P> {
  return {
    screen: async (payment) => facilitator.screen?.(payment) ?? { kind: 'valid' },
    async verify(payment) {
      const verification = await facilitator.verify(payment)
      if (verification.kind === 'unreachable') watch.reportFailure()
      return verification
    },
    async settle(payment, finality) {
      const settlement = await facilitator.settle(payment, finality)
      if (settlement.kind === 'settled') watch.reportSuccess()
      else if (settlement.kind === 'unreachable' || settlement.kind === 'unknown')
        watch.reportFailure()
      return settlement
    },
    outcome: (payment, sent) => facilitator.outcome(payment, sent),
  }
}

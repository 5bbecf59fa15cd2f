import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { ServeOptions } from '../config/serve.ts'
import type { HostedFacilitators } from '../payment/facilitators/hosted-facilitators.ts'
import type { FailedSettlements } from '../payment/failed-settlements.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import { evmPayment } from './evm-payment.ts'
import { solanaPayment } from './solana-payment.ts'

/**
 * The ways in which buyers of this service may pay, in the order in which they are offered.
 * @param failures of the ledger, where sales are made. @throws ConfigError when what is configured can never take a payment
 */
export async function paymentMethods(
  options: ServeOptions,
  log: Logger,
  hosted: HostedFacilitators | null,
  metrics: Registry = new Registry(),
  failures?: FailedSettlements,
): Promise<readonly PaymentMethod[]> {
  const evm = await evmPayment(options, log, hosted, metrics, failures)
  const solana = await solanaPayment(options, log, hosted, metrics, failures)
  return solana === null ? [evm.method] : [evm.method, solana]
}

import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { EvmPaymentSettings, SolanaPaymentSettings } from '../config/payment.ts'
import type { LocalFacilitator } from '../payment/evm/local-facilitator.ts'
import type { HostedFacilitators } from '../payment/facilitators/hosted-facilitators.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import { publicNodes } from '../payment/public-nodes.ts'
import { evmPayment } from './evm-payment.ts'
import type { Watching } from './payment-watching.ts'
import { solanaPayment } from './solana-payment.ts'

export type PaymentMethods = {
  /** In the order in which they are offered. */
  readonly methods: readonly PaymentMethod[]
  /** Settles on the EVM chain; null if a hosted facilitator does. */
  readonly evmFacilitator: LocalFacilitator | null
}

/**
 * The payment methods of this service, without channels.
 * @param watching null where nothing is sold. @throws ConfigError when what is configured can never take a payment
 */
export async function paymentMethods(
  options: EvmPaymentSettings & SolanaPaymentSettings,
  log: Logger,
  hosted: HostedFacilitators | null,
  metrics: Registry = new Registry(),
  watching: Watching | null = null,
  nodes: typeof publicNodes = publicNodes,
): Promise<PaymentMethods> {
  const evm = await evmPayment(options, log, hosted, metrics, watching, nodes)
  const solana = await solanaPayment(options, log, hosted, metrics, watching, nodes)
  return {
    methods: solana === null ? [evm.method] : [evm.method, solana],
    evmFacilitator: evm.facilitator,
  }
}

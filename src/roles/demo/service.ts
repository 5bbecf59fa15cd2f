import type { EvmChain } from '../../simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../../simulator/solana/solana-chain.ts'
import { superviseCommand } from '../child-process.ts'
import type { DemoProgress } from './progress.ts'
import type { Cleanup } from './purchases.ts'

/** The real venue allows 1,200 a minute; the simulated one allows more, so that the demo starts sooner. */
export const SIMULATED_WEIGHT_PER_MINUTE = 60_000

/** Signs receipts for money that is not real, so it may be public. */
const RECEIPT_KEY = `0x${'5e'.repeat(32)}`

export type Chains = { readonly base: EvmChain; readonly solana: SolanaChain }

/** A running service of the demo. */
export type DemoService = {
  /** The options of `perpscope ledger` for its payments. */
  readonly ledger: string
  /** Of the operator's desk. */
  readonly adminUrl: string
  /** May end a process of the service. */
  beforePurchase(at: number, progress: DemoProgress): Promise<void>
}

type Address = { readonly port: number; readonly adminPort: number; readonly dataDir: string }

/** The whole service in one process, which is started again when it ends. */
export function startOneProcess(
  chains: Chains,
  source: string,
  { port, adminPort, dataDir }: Address,
  progress: DemoProgress,
  cleanups: Cleanup[],
): DemoService {
  const service = superviseCommand(
    [
      'serve',
      ...['--source', source],
      ...['--port', String(port)],
      ...['--admin-port', String(adminPort)],
      ...['--data-dir', dataDir],
      ...salesFlags(chains),
      ...['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)],
      // Warnings are for operators.
      ...['--log-level', 'error'],
    ],
    salesKeys(chains),
    (code, signal) =>
      progress.stage(`the service ended (${signal ?? `code ${code}`}); starting it again`),
  )
  cleanups.push(() => service.stop())
  return {
    ledger: `--data-dir ${dataDir}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    beforePurchase: async () => undefined,
  }
}

export function salesFlags({ base, solana }: Chains): readonly string[] {
  return [
    ...['--pay-to', base.accounts.merchant.address],
    ...['--rpc-url', base.rpcUrl],
    ...['--solana-pay-to', solana.accounts.merchant.address],
    ...['--solana-rpc-url', solana.rpcUrl],
  ]
}

export function salesKeys({ base, solana }: Chains): Readonly<Record<string, string>> {
  return {
    PERPSCOPE_FACILITATOR_KEY: base.accounts.facilitator.privateKey,
    PERPSCOPE_SOLANA_FACILITATOR_KEY: JSON.stringify([...solana.accounts.facilitator.seed]),
    PERPSCOPE_RECEIPT_KEY: RECEIPT_KEY,
  }
}

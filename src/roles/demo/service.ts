import type { EvmChain } from '../../simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../../simulator/solana/solana-chain.ts'
import type { Child } from '../child-process.ts'
import { superviseCommand } from '../child-process.ts'

/** The real venue allows 1,200 a minute; ours may answer at once, so that nobody waits for a demo. */
export const SIMULATED_WEIGHT_PER_MINUTE = 60_000

export type Chains = { readonly base: EvmChain; readonly solana: SolanaChain }

export function startService(
  { base, solana }: Chains,
  source: string,
  at: { readonly port: number; readonly adminPort: number; readonly dataDir: string },
  onExit: (how: string) => void,
): Child {
  return superviseCommand(
    [
      'serve',
      ...['--source', source],
      ...['--port', String(at.port)],
      ...['--admin-port', String(at.adminPort)],
      ...['--data-dir', at.dataDir],
      ...['--pay-to', base.accounts.merchant.address],
      ...['--rpc-url', base.rpcUrl],
      ...['--solana-pay-to', solana.accounts.merchant.address],
      ...['--solana-rpc-url', solana.rpcUrl],
      ...['--weight-per-minute', String(SIMULATED_WEIGHT_PER_MINUTE)],
      // Warnings are for operators.
      ...['--log-level', 'error'],
    ],
    {
      PERPSCOPE_FACILITATOR_KEY: base.accounts.facilitator.privateKey,
      PERPSCOPE_SOLANA_FACILITATOR_KEY: JSON.stringify([...solana.accounts.facilitator.seed]),
    },
    (code, signal) => onExit(`ended (${signal ?? `code ${code}`})`),
  )
}

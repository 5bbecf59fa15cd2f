import type { Option } from 'commander'
import { buyer } from './buyer.ts'
import { option } from './option.ts'
import { key, positive, url } from './values.ts'

export type McpOptions = {
  readonly url: string
  readonly walletKey?: `0x${string}`
  readonly solanaKey?: Uint8Array
  readonly solanaRpcUrl?: string
  readonly budgetUsd: number
  readonly maxUsdPerCall: number
  /** Whoever the first quote names where there is none. */
  readonly payee?: readonly string[]
  readonly maxTimeoutSeconds: number
}

export const mcpOptions: readonly Option[] = [
  option('--url <url>', 'PERPSCOPE_URL', 'the service whose tools are offered')
    .makeOptionMandatory()
    .argParser(url),
  option(
    '--wallet-key <key>',
    'PERPSCOPE_WALLET_KEY',
    'pays with USDC on Base; prefer the variable, flags are visible to other users',
  ).argParser(key),
  buyer.solanaKey(),
  buyer.solanaRpcUrl(),
  option('--budget-usd <usdc>', 'PERPSCOPE_BUDGET_USD', 'what all calls together may cost')
    .default(1)
    .argParser(positive),
  option('--max-usd-per-call <usdc>', 'PERPSCOPE_MAX_USD_PER_CALL', 'what one call may cost')
    .default(0.1)
    .argParser(positive),
  buyer.payee(),
  option(
    '--max-timeout-seconds <seconds>',
    'PERPSCOPE_MAX_TIMEOUT_SECONDS',
    'a quote that asks for a payment which could be charged for longer is not signed',
  )
    // As perpscope/client has it.
    .default(300)
    .argParser(positive),
]

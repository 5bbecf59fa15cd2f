import { buyer, priceLimit } from './buyer.ts'
import type { ValuesOf } from './option.ts'
import { optionsOf, setting } from './option.ts'
import { baseUrl, key, positive, usdcNumber } from './values.ts'

const settings = {
  url: setting('--url <url>', 'PERPSCOPE_URL', 'URL of the service whose tools are offered')
    .argParser(baseUrl)
    .makeOptionMandatory(),
  walletKey: setting(
    '--wallet-key <key>',
    'PERPSCOPE_WALLET_KEY',
    'key that pays USDC on Base; prefer the variable, other users can read flags',
  )
    .argParser(key)
    .masked('value'),
  ...buyer,
  budgetUsd: setting('--budget-usd <usdc>', 'PERPSCOPE_BUDGET_USD', 'highest sum of all calls')
    .argParser(usdcNumber)
    .default(1),
  maxUsdPerCall: priceLimit('--max-usd-per-call <usdc>'),
  maxTimeoutSeconds: setting(
    '--max-timeout-seconds <seconds>',
    'PERPSCOPE_MAX_TIMEOUT_SECONDS',
    'a quote whose payment could be charged after a longer time is not signed',
  )
    .argParser(positive)
    // The default of perpscope/client.
    .default(300),
}

export type McpOptions = ValuesOf<typeof settings>

export const mcpOptions = optionsOf(settings)

export const MCP_HELP = `
After the end of its input, or a signal, it waits up to 15 s for the calls that are being paid.
Exit codes: 0 done, 1 failed, 2 wrong usage, 78 unusable configuration,
3 no answer for a payment that may have been charged: the printed command sends the same payment again.`

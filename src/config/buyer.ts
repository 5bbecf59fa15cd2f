import { setting } from './option.ts'
import { keyBytes, payeeList, url, usdcNumber } from './values.ts'

/** Settings of `buy` and `mcp`. */
export const buyer = {
  solanaKey: setting(
    '--solana-key <bytes>',
    'PERPSCOPE_SOLANA_KEY',
    'key that pays USDC on Solana: the 64 numbers of a wallet file as JSON; prefer the variable, other users can read flags',
  )
    .argParser(keyBytes)
    .masked('value'),
  solanaRpcUrl: setting(
    '--solana-rpc-url <url>',
    'PERPSCOPE_SOLANA_RPC_URL',
    'Solana node of the buyer',
  )
    .argParser(url)
    .masked('url'),
  payee: setting(
    '--payee <address>',
    'PERPSCOPE_PAYEE',
    'allowed payee on Base or Solana; repeat it, or separate several by | (default: the payee of the first quote)',
  ).argParser(payeeList),
}

/** @param flags the flag of the command; both have the same variable */
export function priceLimit(flags: string) {
  return setting(flags, 'PERPSCOPE_MAX_USD_PER_CALL', 'highest price of one call')
    .argParser(usdcNumber)
    .default(0.1)
}

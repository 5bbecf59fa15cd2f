import type { Option } from 'commander'
import { option } from './option.ts'
import { keyBytes, payeeList, url } from './values.ts'

/** Options of those who buy: they mean the same in `mcp` and `buy`. */
export const buyer = {
  solanaKey: (): Option =>
    option(
      '--solana-key <bytes>',
      'PERPSCOPE_SOLANA_KEY',
      'pays with USDC on Solana: the 64 numbers of a wallet file as JSON; prefer the variable',
    ).argParser(keyBytes),
  solanaRpcUrl: (): Option =>
    option(
      '--solana-rpc-url <url>',
      'PERPSCOPE_SOLANA_RPC_URL',
      'Solana node of the buyer',
    ).argParser(url),
  payee: (): Option =>
    option(
      '--payee <address>',
      'PERPSCOPE_PAYEE',
      'who may be paid, on Base or Solana; repeat it, or separate by |; by default the payee of the first quote',
    ).argParser(payeeList),
}

import { Option } from 'commander'
import { buyer } from './buyer.ts'
import { option } from './option.ts'
import { key, positive, url } from './values.ts'

export type BuyOptions = {
  readonly url: string
  readonly key?: `0x${string}`
  readonly solanaKey?: Uint8Array
  readonly keyFile?: string
  readonly solanaRpcUrl?: string
  readonly payee?: readonly string[]
  readonly maxUsd: number
  readonly yes?: true
  readonly json?: true
  readonly resume?: string
}

export const buyOptions: readonly Option[] = [
  option('--url <url>', 'PERPSCOPE_URL', 'the service')
    .default('http://127.0.0.1:8402')
    .argParser(url),
  option(
    '--key <key>',
    'PERPSCOPE_WALLET_KEY',
    'pays with USDC on Base; prefer the variable or --key-file: every user of this machine sees flags in ps',
  ).argParser(key),
  buyer.solanaKey(),
  new Option(
    '--key-file <file>',
    'a key of either kind from a file, or from standard input where it is -',
  ).conflicts(['key', 'solanaKey']),
  buyer.solanaRpcUrl(),
  buyer.payee(),
  option('--max-usd <usdc>', 'PERPSCOPE_MAX_USD_PER_CALL', 'what the call may cost')
    .default(0.1)
    .argParser(positive),
  new Option('--yes', 'pay without being asked; needed where there is no terminal'),
  new Option('--json', 'print one JSON report: answer, price and receipt, or what was refused'),
  new Option('--resume <payment>', 'send a payment of before again, whose answer did not come'),
]

export const BUY_HELP = `
The answer goes to standard output, quote and receipt to standard error.
Exit codes: 0 answered, 1 not answered and nothing charged, 2 wrong usage or no consent,
3 no answer for a payment that may have been charged: --resume sends the same one again.`

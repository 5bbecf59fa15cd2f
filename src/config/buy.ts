import { buyer, priceLimit } from './buyer.ts'
import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { baseUrl, key, path } from './values.ts'

const settings = {
  url: setting('--url <url>', 'PERPSCOPE_URL', 'URL of the service')
    .argParser(baseUrl)
    .default('http://127.0.0.1:8402'),
  key: setting(
    '--key <key>',
    'PERPSCOPE_WALLET_KEY',
    'key that pays USDC on Base; prefer the variable or --key-file, other users can read flags',
  )
    .argParser(key)
    .masked('value'),
  keyFile: setting(
    '--key-file <file>',
    null,
    'file with a key of Base or Solana; - reads standard input',
  )
    .argParser(path)
    .conflicts(['key', 'solanaKey']),
  ...buyer,
  maxUsd: priceLimit('--max-usd <usdc>'),
  yes: flag('--yes', null, 'pay without confirmation; required without a terminal'),
  json: flag('--json', null, 'print one JSON report: answer, price and receipt, or the refusal'),
  resume: setting('--resume <payment>', null, 'send an earlier payment again that got no answer'),
}

export type BuyOptions = ValuesOf<typeof settings>

export const buyOptions = optionsOf(settings)

export const BUY_HELP = `
The answer is written to standard output, quote and receipt to standard error.
Exit codes: 0 answered, 1 not answered and not charged, 2 wrong usage or not confirmed,
3 no answer for a payment that may have been charged: --resume sends the same payment again.`

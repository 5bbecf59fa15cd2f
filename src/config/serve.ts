import type { Address } from '@solana/kit'
import type { Option } from 'commander'
import type { DexSelection } from '../domain/dex.ts'
import { CONTRACT_GAS_MAX, CONTRACT_GAS_PER_HOUR } from '../payment/evm/gas-limits.ts'
import type { OwnKey } from '../payment/evm/payee.ts'
import { payeeFaults } from '../payment/evm/payee.ts'
import type { FinalityRule } from '../payment/finality.ts'
import { limitsByDefault, QUOTES_PER_MINUTE } from '../payment/payment-limits.ts'
import { readFeePayer } from '../payment/solana/fee-payer-key.ts'
import { SOL_USD_MAX } from '../payment/solana/fee-share.ts'
import { solanaPayeeFaults } from '../payment/solana/payee.ts'
import { DEX_SHARE_MIN } from '../streams/hyperliquid/backfill/dex-choice.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../streams/hyperliquid/backfill/weight-budget.ts'
import { ConfigError } from './config-error.ts'
import type { LogOptions } from './option.ts'
import { option, RECORDING_BYTES_MAX, shared } from './option.ts'
import type { SourceUrls } from './values.ts'
import {
  address,
  count,
  dexSelection,
  finalityRules,
  gas,
  headerValue,
  headerValues,
  key,
  port,
  positive,
  proxies,
  solanaAddress,
  sourceUrl,
  url,
  urlList,
  usdcAtomic,
} from './values.ts'

const DEFAULT_PORT = 8402
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

export type ServeOptions = LogOptions & {
  readonly source: string
  readonly host: string
  readonly port: number
  readonly adminPort: number
  readonly dataDir: string
  readonly trustProxy?: number | readonly string[]
  readonly publicUrl?: string
  readonly contactEmail?: string
  readonly payment: 'x402' | 'open'
  readonly payTo?: `0x${string}`
  readonly network: 'base' | 'base-sepolia'
  readonly facilitatorUrl?: readonly string[]
  readonly facilitatorAuth?: readonly string[]
  readonly outcomeNode: 'on' | 'off'
  readonly rpcUrl?: string
  readonly facilitatorKey?: `0x${string}`
  readonly contractWallets: 'on' | 'off'
  readonly contractGasPerHour: bigint
  readonly solanaPayTo?: string
  readonly solanaNetwork: 'mainnet' | 'devnet'
  readonly solanaRpcUrl?: string
  readonly solanaFacilitatorKey?: string
  readonly solUsdMax: number
  readonly paymentChannels: 'on' | 'off'
  readonly receiptKey?: `0x${string}`
  readonly finality: readonly FinalityRule[]
  readonly broadcastPayerMax: bigint
  readonly broadcastTotalMax: bigint
  readonly salesPerWalletPerMinute: number
  readonly quotesPerAddressPerMinute: number
  readonly weightPerMinute: number
  readonly dexes: DexSelection
  readonly outside: 'on' | 'off'
  readonly sourceUrl: SourceUrls
  readonly pythKey?: string
  readonly accessLog: 'on' | 'off'
  readonly record?: string
  readonly recordMaxBytes: number
}

export const serveOptions: readonly Option[] = [
  option('--source <source>', 'PERPSCOPE_SOURCE', "'live', or the URL of a simulator").default(
    'live',
  ),
  option('--host <host>', 'PERPSCOPE_HOST', 'address to listen on').default('127.0.0.1'),
  option('--port <port>', 'PERPSCOPE_PORT', 'public port, 0 for any')
    .default(DEFAULT_PORT)
    .argParser(port),
  shared.adminPort(),
  shared.dataDir(),
  option(
    '--trust-proxy <hops|list>',
    'PERPSCOPE_TRUST_PROXY',
    'believe X-Forwarded-For of these proxies: addresses and networks, or their number where nobody ' +
      'but the proxy can reach the port (default: believe nobody)',
  ).argParser(proxies),
  option(
    '--public-url <url>',
    'PERPSCOPE_PUBLIC_URL',
    'base of the resource URLs that buyers sign for (default: the listening address, on loopback)',
  ).argParser(url),
  option(
    '--contact-email <address>',
    'PERPSCOPE_CONTACT_EMAIL',
    'whom to write to about this service, for the published documents (default: nobody)',
  ),
  option(
    '--payment <mode>',
    'PERPSCOPE_PAYMENT',
    "'x402', or 'open' for private use without payment",
  )
    .choices(['x402', 'open'])
    .default('x402'),
  option(
    '--pay-to <address>',
    'PERPSCOPE_PAY_TO',
    'address that receives the USDC, of this service alone: whoever sees a payment to it can present it at any ' +
      'other service that has the same one',
  ).argParser(address),
  option('--network <network>', 'PERPSCOPE_NETWORK', 'chain that payments settle on')
    .choices(['base', 'base-sepolia'])
    .default('base'),
  option(
    '--facilitator-url <urls>',
    'PERPSCOPE_FACILITATOR_URL',
    'x402 facilitators that verify and settle, in order of preference: repeat it, or put | between them',
  ).argParser(urlList),
  option(
    '--facilitator-auth <values>',
    'PERPSCOPE_FACILITATOR_AUTH',
    'Authorization header for the facilitators: one for all, or one each with | between them, empty for none; ' +
      'prefer the variable, flags are visible to other users',
  ).argParser(headerValues),
  option(
    '--outcome-node <on|off>',
    'PERPSCOPE_OUTCOME_NODE',
    'where a facilitator settles and --rpc-url or --solana-rpc-url is missing, ask a public node of the network what ' +
      'became of a payment; off: when the reply to a settlement is lost, the buyer has paid and never gets the answer',
  )
    .choices(['on', 'off'])
    .default('on'),
  option(
    '--rpc-url <url>',
    'PERPSCOPE_RPC_URL',
    'chain node; with --facilitator-key the service settles by itself, else it is asked what became of payments',
  ).argParser(url),
  option(
    '--facilitator-key <key>',
    'PERPSCOPE_FACILITATOR_KEY',
    'key that pays the gas; prefer the variable, flags are visible to other users',
  ).argParser(key),
  option(
    '--contract-wallets <on|off>',
    'PERPSCOPE_CONTRACT_WALLETS',
    'accept payments of accounts with code (contract wallets, and keys that delegate by EIP-7702) where the service ' +
      'pays the gas: their transactions can fail although they were simulated',
  )
    .choices(['on', 'off'])
    .default('on'),
  option(
    '--contract-gas-per-hour <gas>',
    'PERPSCOPE_CONTRACT_GAS_PER_HOUR',
    'gas that failed transactions of such accounts may burn in an hour; then only keys are accepted until it is over',
  )
    .default(CONTRACT_GAS_PER_HOUR, CONTRACT_GAS_PER_HOUR.toString())
    .argParser(gas),
  option(
    '--solana-pay-to <address>',
    'PERPSCOPE_SOLANA_PAY_TO',
    'wallet that receives USDC on Solana as well, of this service alone; its account for USDC must exist',
  ).argParser(solanaAddress),
  option('--solana-network <network>', 'PERPSCOPE_SOLANA_NETWORK', 'cluster that those settle on')
    .choices(['mainnet', 'devnet'])
    .default('mainnet'),
  option(
    '--solana-rpc-url <url>',
    'PERPSCOPE_SOLANA_RPC_URL',
    'Solana node; with --solana-facilitator-key the service settles there by itself',
  ).argParser(url),
  option(
    '--solana-facilitator-key <key>',
    'PERPSCOPE_SOLANA_FACILITATOR_KEY',
    'key that pays the fees on Solana, in base58 or as the JSON of a key file; prefer the variable',
  ),
  option(
    '--sol-usd-max <usd>',
    'PERPSCOPE_SOL_USD_MAX',
    'highest price of SOL to reckon with: fees that the service pays on Solana are bounded by a tenth of what is sold',
  )
    .default(SOL_USD_MAX)
    .argParser(positive),
  option(
    '--payment-channels <on|off>',
    'PERPSCOPE_PAYMENT_CHANNELS',
    'take payments by channel too (scheme batch-settlement: a deposit once, then a signature a call); needs --rpc-url ' +
      'and --facilitator-key; NOT proven on a public network yet',
  )
    .choices(['on', 'off'])
    .default('off'),
  option(
    '--receipt-key <key>',
    'PERPSCOPE_RECEIPT_KEY',
    'key that signs a receipt of every sale, and offers for those who ask; prefer the variable, flags are ' +
      'visible to other users (default: nothing is signed)',
  ).argParser(key),
  option(
    '--finality <rules>',
    'PERPSCOPE_FINALITY',
    'how sure of the money before an answer leaves: confirmed, preconfirmed or broadcast, for all prices or up to one, ' +
      'as in broadcast:0.02,preconfirmed:0.05; what is dearer is confirmed',
  )
    .default([], 'confirmed')
    .argParser(finalityRules),
  option(
    '--broadcast-payer-max <usdc>',
    'PERPSCOPE_BROADCAST_PAYER_MAX',
    'what one payer may owe by answers that were given on a broadcast',
  )
    .default(100_000n, '0.1')
    .argParser(usdcAtomic),
  option(
    '--broadcast-total-max <usdc>',
    'PERPSCOPE_BROADCAST_TOTAL_MAX',
    'what all payers together may owe by such answers',
  )
    .default(5_000_000n, '5')
    .argParser(usdcAtomic),
  option(
    '--sales-per-wallet-per-minute <count>',
    'PERPSCOPE_SALES_PER_WALLET_PER_MINUTE',
    'answers that one wallet can buy in a minute; more are 429, and the payment stays good',
  )
    .default(limitsByDefault.paidCallsPerWalletPerMinute)
    .argParser(count),
  option(
    '--quotes-per-address-per-minute <count>',
    'PERPSCOPE_QUOTES_PER_ADDRESS_PER_MINUTE',
    'calls without a payment that one address can make in a minute',
  )
    .default(QUOTES_PER_MINUTE)
    .argParser(count),
  option(
    '--weight-per-minute <weight>',
    'PERPSCOPE_WEIGHT_PER_MINUTE',
    "share of the venue's 1200 REST weight per minute to plan with",
  )
    .default(WEIGHT_PER_MINUTE_DEFAULT)
    .argParser(positive),
  option(
    '--dexes <selection>',
    'PERPSCOPE_DEXES',
    `builder-deployed dexes (HIP-3) to follow beside the venue's own: 'auto' for each with ${100 * DEX_SHARE_MIN} % or more of ` +
      "open interest or of 24 h volume, judged daily; 'all', 'off', or names, comma-separated; their coins are called dex:COIN",
  )
    .default('auto')
    .argParser(dexSelection),
  option(
    '--outside <on|off>',
    'PERPSCOPE_OUTSIDE',
    'listen to oracle networks, exchanges and chains beside the venue',
  )
    .choices(['on', 'off'])
    .default('on'),
  option(
    '--source-url <source=urls...>',
    'PERPSCOPE_SOURCE_URL',
    'where a source is reached instead, several URLs with | between them, in order of preference; an empty one turns it off',
  )
    .default({}, 'the public ones')
    .argParser(sourceUrl),
  option(
    '--pyth-key <key>',
    'PERPSCOPE_PYTH_KEY',
    'key for the stream of Pyth Hermes; prefer the variable (default: none, its public accounts on chains are read instead)',
  ).argParser(headerValue),
  option('--access-log <on|off>', 'PERPSCOPE_ACCESS_LOG', 'one line per request')
    .choices(['on', 'off'])
    .default('on'),
  option('--log-level <level>', 'PERPSCOPE_LOG_LEVEL', 'what is written to standard error')
    .choices(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info'),
  shared.logFormat(),
  option(
    '--record <file>',
    'PERPSCOPE_RECORD',
    'append everything that reaches the engine to this file, for perpscope replay',
  ),
  option(
    '--record-max-bytes <bytes>',
    'PERPSCOPE_RECORD_MAX_BYTES',
    'size of the file at which recording stops; the service goes on',
  )
    .default(RECORDING_BYTES_MAX)
    .argParser(positive),
]

/** Checks what no single option can. @throws ConfigError naming every problem and its remedy. */
export function checkServeOptions(options: ServeOptions): void {
  if (options.payment === 'open') return
  const problems: string[] = []
  if (options.payTo === undefined)
    problems.push('--pay-to (PERPSCOPE_PAY_TO) is missing: the address that receives the USDC')
  else problems.push(...payeeFaults(options.payTo, ownKeys(options)))
  if (options.port === 0 && options.publicUrl === undefined)
    problems.push('--port 0 needs --public-url: quotes name the URL that is bought')
  if (!LOOPBACK.test(options.host) && options.publicUrl === undefined)
    problems.push(`--host ${options.host} needs --public-url: quotes name the URL that is bought`)
  const settlesItself = options.rpcUrl !== undefined && options.facilitatorKey !== undefined
  if (options.facilitatorUrl === undefined && !settlesItself)
    problems.push(
      'nobody settles: give --facilitator-url, or --rpc-url together with --facilitator-key',
    )
  if (options.facilitatorKey !== undefined && options.rpcUrl === undefined)
    problems.push('--facilitator-key needs --rpc-url: a node to settle with')
  if (options.facilitatorAuth !== undefined && options.facilitatorUrl === undefined)
    problems.push('--facilitator-auth is for --facilitator-url, which is missing')
  if (options.contractWallets === 'on' && options.contractGasPerHour < CONTRACT_GAS_MAX)
    problems.push(
      `--contract-gas-per-hour is less than one settlement may use: give ${CONTRACT_GAS_MAX} or more, or --contract-wallets off`,
    )
  problems.push(...solanaProblems(options))
  if (options.paymentChannels === 'on' && !settlesItself)
    problems.push(
      '--payment-channels on needs --rpc-url and --facilitator-key: it claims by itself',
    )
  const { facilitatorUrl: urls = [], facilitatorAuth: values = [] } = options
  if (values.length > 1 && values.length !== urls.length)
    problems.push(
      `--facilitator-auth has ${values.length} values for ${urls.length} facilitators: give one, or one each`,
    )
  if (problems.length > 0)
    throw new ConfigError(
      `${problems.join('\n')}\n(or run without payment: --payment open, for private use)`,
    )
}

function ownKeys({ facilitatorKey, receiptKey }: ServeOptions): readonly OwnKey[] {
  return [
    ...(facilitatorKey === undefined ? [] : [{ option: '--facilitator-key', key: facilitatorKey }]),
    ...(receiptKey === undefined ? [] : [{ option: '--receipt-key', key: receiptKey }]),
  ]
}

/** Solana stands beside the first network: without a payee there nothing else about it has a meaning. */
function solanaProblems(options: ServeOptions): readonly string[] {
  const { solanaPayTo, solanaRpcUrl, solanaFacilitatorKey, facilitatorUrl } = options
  if (solanaPayTo === undefined)
    return solanaRpcUrl === undefined && solanaFacilitatorKey === undefined
      ? []
      : ['--solana-pay-to (PERPSCOPE_SOLANA_PAY_TO) is missing: the wallet that receives the USDC']
  if (solanaFacilitatorKey !== undefined && solanaRpcUrl === undefined)
    return ['--solana-facilitator-key needs --solana-rpc-url: a node to settle with']
  if (solanaFacilitatorKey === undefined && facilitatorUrl === undefined)
    return [
      'nobody settles on Solana: give --facilitator-url, or --solana-rpc-url together with --solana-facilitator-key',
    ]
  return solanaPayeeFaults(solanaPayTo as Address, feePayerOf(solanaFacilitatorKey))
}

/** null also for what is no key, which is told of where it is needed. */
function feePayerOf(key: string | undefined): Address | null {
  try {
    return key === undefined ? null : readFeePayer(key).address
  } catch {
    return null
  }
}

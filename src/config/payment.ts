import { CONTRACT_GAS_PER_HOUR } from '../payment/evm/gas-limits.ts'
import { limitsByDefault, QUOTES_PER_MINUTE } from '../payment/payment-limits.ts'
import { SOL_USD_MAX } from '../payment/solana/fee-share.ts'
import type { ValuesOf } from './option.ts'
import { section, setting } from './option.ts'
import {
  address,
  answerMinutes,
  count,
  finalityRules,
  gas,
  headerValues,
  key,
  ledgerDays,
  positive,
  solanaAddress,
  trimmed,
  url,
  urlList,
  usdcAtomic,
} from './values.ts'

const modeSettings = section('Payment', {
  payment: setting(
    '--payment <mode>',
    'PERPSCOPE_PAYMENT',
    "'x402', or 'open' for private use without payment",
  )
    .choices(['x402', 'open'])
    .default('x402'),
})

export const ledgerSettings = section('Ledger', {
  ledger: setting(
    '--ledger <url>',
    'PERPSCOPE_LEDGER',
    'PostgreSQL 15 or later for payments, answers and maintenance mode, shared by several gateways; prefer the variable for a URL with a ' +
      'password, other users can read flags (default: ledger.db in the data directory)',
  )
    .argParser(trimmed)
    .masked('url'),
})

const facilitatorSettings = section('Facilitators', {
  facilitatorUrl: setting(
    '--facilitator-url <urls>',
    'PERPSCOPE_FACILITATOR_URL',
    'x402 facilitators that verify and settle, in order of preference; repeat it, or separate several by |',
  )
    .repeatable(urlList)
    .masked('url'),
  facilitatorAuth: setting(
    '--facilitator-auth <values>',
    'PERPSCOPE_FACILITATOR_AUTH',
    'Authorization header for the facilitators: one for all, or one each separated by |, empty for none; ' +
      'prefer the variable, other users can read flags',
  )
    .repeatable(headerValues)
    .masked('value'),
})

const outcomeSettings = section('Facilitators', {
  outcomeNode: setting(
    '--outcome-node <on|off>',
    'PERPSCOPE_OUTCOME_NODE',
    'if a facilitator settles and --rpc-url or --solana-rpc-url is missing, ask a public node for the outcome of a ' +
      'payment; off: if the reply to a settlement is lost, the buyer has paid and never gets the answer',
  )
    .onOff()
    .default('on'),
})

const baseSettings = section('Payment on Base', {
  payTo: setting(
    '--pay-to <address>',
    'PERPSCOPE_PAY_TO',
    'address that receives USDC; use it for this service only: a payment to it can be presented at any other service ' +
      'with the same payee',
  ).argParser(address),
  network: setting('--network <network>', 'PERPSCOPE_NETWORK', 'EVM chain on which payments settle')
    .choices(['base', 'base-sepolia'])
    .default('base'),
  rpcUrl: setting(
    '--rpc-url <url>',
    'PERPSCOPE_RPC_URL',
    'chain node; with --facilitator-key the service settles itself, otherwise the node is asked for outcomes of payments',
  )
    .argParser(url)
    .masked('url'),
  facilitatorKey: setting(
    '--facilitator-key <key>',
    'PERPSCOPE_FACILITATOR_KEY',
    'key that pays the gas; prefer the variable, other users can read flags',
  )
    .argParser(key)
    .masked('value'),
})

const contractWalletSettings = section('Payment on Base', {
  contractWallets: setting(
    '--contract-wallets <on|off>',
    'PERPSCOPE_CONTRACT_WALLETS',
    'accept payments of accounts with code (contract wallets, and keys that delegate by EIP-7702) where the service ' +
      'pays the gas; their transactions can fail after a valid simulation',
  )
    .onOff()
    .default('on'),
  contractGasPerHour: setting(
    '--contract-gas-per-hour <gas>',
    'PERPSCOPE_CONTRACT_GAS_PER_HOUR',
    'gas per hour that failed transactions of such accounts may use; after that only keys are accepted for the rest of ' +
      'the hour',
  )
    .number(gas)
    .default(CONTRACT_GAS_PER_HOUR, CONTRACT_GAS_PER_HOUR.toString()),
})

const anchorSettings = section('Payment on Base', {
  anchorProofs: setting(
    '--anchor-proofs <on|off>',
    'PERPSCOPE_ANCHOR_PROOFS',
    'once a day send a transaction of --facilitator-key to itself with the newest chain value of /proof, for at most ' +
      '0.0003 ether; needs --rpc-url and --facilitator-key',
  )
    .onOff()
    .default('off'),
})

const solanaSettings = section('Payment on Solana', {
  solanaPayTo: setting(
    '--solana-pay-to <address>',
    'PERPSCOPE_SOLANA_PAY_TO',
    'wallet that receives USDC on Solana; use it for this service only; its USDC account must exist',
  ).argParser(solanaAddress),
  solanaNetwork: setting(
    '--solana-network <network>',
    'PERPSCOPE_SOLANA_NETWORK',
    'Solana cluster on which payments settle',
  )
    .choices(['mainnet', 'devnet'])
    .default('mainnet'),
  solanaRpcUrl: setting(
    '--solana-rpc-url <url>',
    'PERPSCOPE_SOLANA_RPC_URL',
    'Solana node; with --solana-facilitator-key the service settles itself',
  )
    .argParser(url)
    .masked('url'),
  solanaFacilitatorKey: setting(
    '--solana-facilitator-key <key>',
    'PERPSCOPE_SOLANA_FACILITATOR_KEY',
    'key that pays the fees on Solana, in base58 or as the JSON of a key file; prefer the variable, other users can ' +
      'read flags',
  ).masked('value'),
  solUsdMax: setting(
    '--sol-usd-max <usd>',
    'PERPSCOPE_SOL_USD_MAX',
    'assumed price of SOL in USD, for the limit of fees: at this price, what a payment may cost in fees is a tenth of the price of its answer',
  )
    .number(positive)
    .default(SOL_USD_MAX),
})

const channelSettings = section('Payment on Base', {
  paymentChannels: setting(
    '--payment-channels <on|off>',
    'PERPSCOPE_PAYMENT_CHANNELS',
    'accept payment channels (scheme batch-settlement: one deposit, then a signature per call); needs --rpc-url and ' +
      '--facilitator-key; NOT proven on a public network yet',
  )
    .onOff()
    .default('off'),
})

const salesSettings = section('Sales', {
  receiptKey: setting(
    '--receipt-key <key>',
    'PERPSCOPE_RECEIPT_KEY',
    'key that signs receipts, and offers on request; prefer the variable, other users can read flags (default: nothing ' +
      'is signed)',
  )
    .argParser(key)
    .masked('value'),
  finality: setting(
    '--finality <rules>',
    'PERPSCOPE_FINALITY',
    'settlement finality required before an answer is sent: confirmed, preconfirmed or broadcast, optionally per price ' +
      'ceiling, such as broadcast:0.02,preconfirmed:0.05; higher prices require confirmed',
  )
    .list(finalityRules)
    .default([], 'confirmed'),
  broadcastPayerMax: setting(
    '--broadcast-payer-max <usdc>',
    'PERPSCOPE_BROADCAST_PAYER_MAX',
    'highest unconfirmed sum of one payer for answers that were sent on a broadcast',
  )
    .number(usdcAtomic)
    .default(100_000n, '0.1'),
  broadcastTotalMax: setting(
    '--broadcast-total-max <usdc>',
    'PERPSCOPE_BROADCAST_TOTAL_MAX',
    'highest unconfirmed sum of all payers for such answers',
  )
    .number(usdcAtomic)
    .default(5_000_000n, '5'),
  answersMinutes: setting(
    '--answers-minutes <minutes>',
    'PERPSCOPE_ANSWERS_MINUTES',
    'how long a paid answer is stored for its buyer after the payment has expired, 10 to 10080',
  )
    .number(answerMinutes)
    .default(10),
  ledgerDays: setting(
    '--ledger-days <days>',
    'PERPSCOPE_LEDGER_DAYS',
    'age in days at which settled payments leave the ledger, at least 30; 0 keeps them; export them first',
  )
    .number(ledgerDays)
    .default(0),
  salesPerWalletPerMinute: setting(
    '--sales-per-wallet-per-minute <count>',
    'PERPSCOPE_SALES_PER_WALLET_PER_MINUTE',
    'answers that one wallet can buy per minute; further calls get 429, and their payment stays valid',
  )
    .number(count)
    .default(limitsByDefault.paidCallsPerWalletPerMinute),
  quotesPerAddressPerMinute: setting(
    '--quotes-per-address-per-minute <count>',
    'PERPSCOPE_QUOTES_PER_ADDRESS_PER_MINUTE',
    'calls without a payment that one address can make per minute',
  )
    .number(count)
    .default(QUOTES_PER_MINUTE),
})

export const paymentSettings = {
  ...modeSettings,
  ...ledgerSettings,
  ...baseSettings,
  ...facilitatorSettings,
  ...outcomeSettings,
  ...contractWalletSettings,
  ...anchorSettings,
  ...solanaSettings,
  ...channelSettings,
  ...salesSettings,
}

/** Where USDC arrives and the nodes that show it, for commands that read the chains. */
export const payeeSettings = {
  payTo: baseSettings.payTo,
  network: baseSettings.network,
  rpcUrl: baseSettings.rpcUrl,
  solanaPayTo: solanaSettings.solanaPayTo,
  solanaNetwork: solanaSettings.solanaNetwork,
  solanaRpcUrl: solanaSettings.solanaRpcUrl,
}

export type FacilitatorOptions = ValuesOf<typeof facilitatorSettings>

export type EvmPaymentSettings = ValuesOf<
  typeof baseSettings &
    typeof outcomeSettings &
    typeof contractWalletSettings &
    typeof anchorSettings
>

export type SolanaPaymentSettings = ValuesOf<typeof outcomeSettings & typeof solanaSettings>

export type ChannelOptions = ValuesOf<
  typeof modeSettings & typeof baseSettings & typeof channelSettings
>

export type SalesSettings = ValuesOf<typeof salesSettings>

export type PaymentSettings = ValuesOf<typeof paymentSettings>

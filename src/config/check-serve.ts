import type { Address } from '@solana/addresses'
import { CONTRACT_GAS_MAX } from '../payment/evm/gas-limits.ts'
import type { OwnKey } from '../payment/evm/payee.ts'
import { payeeFaults } from '../payment/evm/payee.ts'
import { readFeePayer } from '../payment/solana/fee-payer-key.ts'
import { solanaPayeeFaults } from '../payment/solana/payee.ts'
import { clusterProblems } from './check-cluster.ts'
import { ledgerProblems } from './check-ledger.ts'
import { ConfigError } from './config-error.ts'
import type { FacilitatorOptions, PaymentSettings } from './payment.ts'
import type { ListenOptions, ServeOptions } from './serve.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** Checks combinations of options. @throws ConfigError naming every problem and its remedy */
export function checkServeOptions(options: ServeOptions): void {
  const problems = serveProblems(options)
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
}

/** What is missing, or does not fit together. */
export function serveProblems(options: ServeOptions): readonly string[] {
  return [...clusterProblems(options), ...adminProblems(options), ...salesProblems(options)]
}

function adminProblems({ adminHost, adminTokenFile }: ListenOptions): readonly string[] {
  return LOOPBACK.test(adminHost) || adminTokenFile !== undefined
    ? []
    : [`--admin-host ${adminHost} needs --admin-token-file: other machines can reach it`]
}

function salesProblems(options: ServeOptions): readonly string[] {
  if (options.payment === 'open' || options.role === 'engine') return []
  const problems = [
    ...ledgerProblems(options.ledger),
    ...payeeProblems(options),
    ...urlProblems(options),
    ...evmProblems(options),
    ...authorizationProblems(options),
    ...solanaProblems(options),
  ]
  const remedy = 'or run without payment: --payment open, for private use'
  return problems.length === 0 ? [] : [...problems, remedy]
}

function payeeProblems({ payTo, facilitatorKey, receiptKey }: PaymentSettings): readonly string[] {
  if (payTo === undefined)
    return ['--pay-to (PERPSCOPE_PAY_TO) is missing: the address that receives the USDC']
  const keys: OwnKey[] = []
  if (facilitatorKey !== undefined) keys.push({ option: '--facilitator-key', key: facilitatorKey })
  if (receiptKey !== undefined) keys.push({ option: '--receipt-key', key: receiptKey })
  return payeeFaults(payTo, keys)
}

function urlProblems({ host, port, publicUrl }: ListenOptions): readonly string[] {
  if (publicUrl !== undefined) return []
  const reason = 'needs --public-url: quotes contain the URL that is bought'
  return [
    ...(port === 0 ? [`--port 0 ${reason}`] : []),
    ...(LOOPBACK.test(host) ? [] : [`--host ${host} ${reason}`]),
  ]
}

function evmProblems(options: PaymentSettings): readonly string[] {
  const { facilitatorUrl, rpcUrl, facilitatorKey, paymentChannels, anchorProofs } = options
  const settlesItself = rpcUrl !== undefined && facilitatorKey !== undefined
  const problems: string[] = []
  if (facilitatorUrl === undefined && !settlesItself)
    problems.push(
      'no facilitator is configured: set --facilitator-url, or --rpc-url together with --facilitator-key',
    )
  if (facilitatorKey !== undefined && rpcUrl === undefined)
    problems.push('--facilitator-key needs --rpc-url: a node to settle with')
  if (options.contractWallets === 'on' && options.contractGasPerHour < CONTRACT_GAS_MAX)
    problems.push(
      `--contract-gas-per-hour is less than one settlement may use: give ${CONTRACT_GAS_MAX} or more, or --contract-wallets off`,
    )
  if (paymentChannels === 'on' && !settlesItself)
    problems.push(
      '--payment-channels on needs --rpc-url and --facilitator-key: the service submits the claims',
    )
  if (anchorProofs === 'on' && !settlesItself)
    problems.push(
      '--anchor-proofs on needs --rpc-url and --facilitator-key: the service sends the transaction',
    )
  return problems
}

function authorizationProblems({
  facilitatorUrl: urls = [],
  facilitatorAuth: values = [],
}: FacilitatorOptions): readonly string[] {
  if (values.length > 0 && urls.length === 0)
    return ['--facilitator-auth needs --facilitator-url, which is missing']
  if (values.length < 2 || values.length === urls.length) return []
  return [
    `--facilitator-auth has ${values.length} values for ${urls.length} facilitators: give one, or one each`,
  ]
}

/** Without `--solana-pay-to` the other options of Solana have no effect. */
function solanaProblems(options: PaymentSettings): readonly string[] {
  const { solanaPayTo, solanaRpcUrl, solanaFacilitatorKey, facilitatorUrl } = options
  if (solanaPayTo === undefined)
    return solanaRpcUrl === undefined && solanaFacilitatorKey === undefined
      ? []
      : ['--solana-pay-to (PERPSCOPE_SOLANA_PAY_TO) is missing: the wallet that receives the USDC']
  if (solanaFacilitatorKey !== undefined && solanaRpcUrl === undefined)
    return ['--solana-facilitator-key needs --solana-rpc-url: a node to settle with']
  if (solanaFacilitatorKey === undefined && facilitatorUrl === undefined)
    return [
      'no facilitator for Solana is configured: set --facilitator-url, or --solana-rpc-url together with --solana-facilitator-key',
    ]
  return solanaPayeeFaults(solanaPayTo as Address, feePayerOf(solanaFacilitatorKey))
}

/** null also for an invalid key, which is reported where the key is used. */
function feePayerOf(key: string | undefined): Address | null {
  try {
    return key === undefined ? null : readFeePayer(key).address
  } catch {
    return null
  }
}

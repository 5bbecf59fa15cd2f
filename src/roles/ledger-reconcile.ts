import { address } from '@solana/addresses'
import Table from 'cli-table3'
import { ConfigError } from '../config/config-error.ts'
import type { LedgerOptions } from '../config/ledger.ts'
import { isoInstant } from '../domain/instant.ts'
import { CHANNEL_CONTRACT } from '../payment/channels/channel.ts'
import { base, baseSepolia } from '../payment/evm/networks.ts'
import { nodeClient } from '../payment/evm/node-client.ts'
import { evmPayeeTransfers } from '../payment/evm/payee-transfers.ts'
import type {
  Comparison,
  LedgerDifference,
  PayeeChain,
} from '../payment/ledger/chain-comparison.ts'
import { compareWithChain, PERIOD_MARGIN_MS } from '../payment/ledger/chain-comparison.ts'
import type { LedgerBooks, ReportedPayment, ReportRange } from '../payment/ledger/ledger-books.ts'
import { patientNode } from '../payment/patient-node.ts'
import { solanaDevnet, solanaMainnet } from '../payment/solana/networks.ts'
import { solanaPayeeTransfers } from '../payment/solana/payee-transfers.ts'
import { SolanaNode } from '../payment/solana/solana-node.ts'
import { writeBooksCsv } from './books-csv.ts'
import type { Screen } from './ledger.ts'
import { usdc } from './network-money.ts'
import { rangeOf, withBooks } from './open-books.ts'
import { systemClock } from './system-clock.ts'

const nextSteps: Readonly<Record<LedgerDifference['reason'], string>> = {
  no_transaction:
    'The ledger names no transaction. Search the transfers of the payer to the payee in a block explorer.',
  transaction_absent:
    'The chain does not have this transaction. Look it up at another node; if it is absent there, the sale was not paid.',
  transaction_failed:
    'The transaction failed, so the sale was not paid. Ask the facilitator that reported it.',
  transaction_without_transfer:
    'The transaction has no transfer from this payer to this payee. Check the --pay-to then in use, and ask the facilitator.',
  transfer_of_another_payment:
    'The only such transfer belongs to another payment. Ask the facilitator that reported this transaction.',
  other_amount: 'Compare the transaction with the price of the analysis at that time.',
  transferred_twice: 'The payer may have paid twice. Send the second sum back if it did.',
  not_settled_in_ledger:
    'The transfer arrived, but the ledger does not have the payment as settled. A running service resolves open payments; otherwise refund it.',
  no_payment:
    'No sale explains this transfer: a gift, a payment for another service with this payee, or a sale whose row is lost. Ask the payer, or send it back.',
}

/** Both EVM schemes accept authorizations that expire within a day. */
const AUTHORIZATION_MS_MAX = 86_400_000

const columns = [
  ...(['kind', 'reason', 'time_iso', 'network', 'transaction', 'payer', 'chain_usdc'] as const),
  ...(['ledger_usdc', 'nonce', 'next'] as const),
]

/**
 * `perpscope ledger reconcile`: compares the ledger with the transfers to the payee.
 * @returns whether they are equal in all final blocks
 * @throws OperatingError if a node does not answer; nothing is reported as equal then
 * @throws ConfigError if nothing can be compared: no payee, node or payment, or a --since after the last final block
 */
export async function reconcile(
  options: LedgerOptions,
  { write, hasColor }: Screen,
): Promise<boolean> {
  const chains = payeeChains(options)
  const comparisons = await withBooks(options, async (books) => {
    const period = await periodOf(books, options)
    const payments = await paymentsByNetwork(books, period)
    checkCovered(payments, chains, period)
    const compared: Comparison[] = []
    for (const chain of chains) {
      const comparison = await compareWithChain(payments.get(chain.network) ?? [], chain, period)
      // Otherwise the period begins with the first sale, which is final some minutes later.
      if (options.since !== undefined) checkFinal(comparison, period)
      compared.push(comparison)
    }
    return compared
  })
  const rows = comparisons.flatMap(({ differences }) => differences.map(rowOf))
  if (options.csv !== undefined) await writeBooksCsv(options.csv, columns, rows)
  const compared = comparisons.map(comparedOf)
  const report = {
    result: rows.length > 0 ? 'different' : notFinalIn(compared) > 0 ? 'incomplete' : 'equal',
    compared,
    differences: rows,
  }
  write(options.json ? `${JSON.stringify(report, null, 2)}\n` : text(report, hasColor))
  return rows.length === 0
}

/** @throws ConfigError without a payee and a node */
function payeeChains(options: LedgerOptions): readonly PayeeChain[] {
  const { payTo, rpcUrl, solanaPayTo, solanaRpcUrl } = options
  const chains: PayeeChain[] = []
  if (payTo !== undefined && rpcUrl !== undefined) {
    const network = options.network === 'base' ? base : baseSepolia
    chains.push(
      evmPayeeTransfers({
        ...{ network, payTo, channelContract: CHANNEL_CONTRACT },
        node: nodeClient(network, rpcUrl),
        patience: patientNode('the node at --rpc-url', systemClock, Math.random),
      }),
    )
  }
  if (solanaPayTo !== undefined && solanaRpcUrl !== undefined)
    chains.push(
      solanaPayeeTransfers({
        network: options.solanaNetwork === 'mainnet' ? solanaMainnet : solanaDevnet,
        payTo: address(solanaPayTo),
        node: new SolanaNode({ rpcUrl: solanaRpcUrl, clock: systemClock }),
        patience: patientNode('the node at --solana-rpc-url', systemClock, Math.random),
      }),
    )
  if (chains.length === 0)
    throw new ConfigError(
      'perpscope ledger reconcile needs --pay-to and --rpc-url, or --solana-pay-to and --solana-rpc-url',
    )
  return chains
}

/** From the first payment to now, unless the options limit it. @throws ConfigError for an empty period */
async function periodOf(books: LedgerBooks, options: LedgerOptions): Promise<ReportRange> {
  const range = { ...rangeOf(options), untilMs: options.until ?? systemClock.nowMs() }
  if (options.since !== undefined) return range
  for await (const { begunMs } of books.payments(range)) return { ...range, sinceMs: begunMs }
  throw new ConfigError('the ledger has no payment in this period: give --since')
}

async function paymentsByNetwork(
  books: LedgerBooks,
  { sinceMs, untilMs }: ReportRange,
): Promise<ReadonlyMap<string, readonly ReportedPayment[]>> {
  // Earlier ones only explain transfers.
  const range = {
    sinceMs: sinceMs - AUTHORIZATION_MS_MAX - PERIOD_MARGIN_MS,
    untilMs: untilMs + PERIOD_MARGIN_MS,
  }
  const found = new Map<string, ReportedPayment[]>()
  for await (const payment of books.payments(range)) {
    const before = found.get(payment.network)
    if (before === undefined) found.set(payment.network, [payment])
    else before.push(payment)
  }
  return found
}

/** @throws ConfigError if a network of the ledger would not be compared */
function checkCovered(
  payments: ReadonlyMap<string, readonly ReportedPayment[]>,
  chains: readonly PayeeChain[],
  { sinceMs, untilMs }: ReportRange,
): void {
  const problems = [...payments].flatMap(([network, rows]) => {
    if (chains.some((chain) => chain.network === network)) return []
    const settled = rows.filter(
      ({ state, begunMs }) => state === 'settled' && begunMs >= sinceMs && begunMs < untilMs,
    )
    return settled.length === 0
      ? []
      : [`the ledger has ${settled.length} settled payments on ${network}: ${remedyFor(network)}`]
  })
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
}

function remedyFor(network: string): string {
  return network.startsWith('solana:')
    ? 'give --solana-pay-to and --solana-rpc-url, and --solana-network if it is devnet'
    : 'give --pay-to and --rpc-url, and --network if it is not Base'
}

/** @throws ConfigError for a period without a final block: nothing would be compared, which is not equality */
function checkFinal({ network, finalMs }: Comparison, { sinceMs }: ReportRange): void {
  if (sinceMs > finalMs)
    throw new ConfigError(
      `nothing can be compared on ${network}: the period begins at ${isoInstant(sinceMs)}, after the last final block ` +
        `(${isoInstant(finalMs)}). Give an earlier --since, or run it again later; if that block is old, use another node`,
    )
}

function notFinalIn(compared: readonly ReturnType<typeof comparedOf>[]): number {
  return compared.reduce((sum, { not_final }) => sum + not_final, 0)
}

function rowOf(difference: LedgerDifference) {
  const { kind, reason, atMs, network, transaction, payer, chainAmount, ledgerAmount } = difference
  return {
    ...{ kind, reason, time_iso: isoInstant(atMs), network, transaction: transaction ?? '', payer },
    ...{ chain_usdc: usdc(chainAmount), ledger_usdc: usdc(ledgerAmount) },
    nonce: difference.nonce ?? '',
    next: nextSteps[reason],
  }
}

function comparedOf(comparison: Comparison) {
  return {
    network: comparison.network,
    payee: comparison.payTo,
    first_block: comparison.firstBlock,
    last_block: comparison.lastBlock,
    final_iso: isoInstant(comparison.finalMs),
    equal: comparison.equal,
    equal_usdc: usdc(comparison.equalAmount),
    not_final: comparison.notFinal,
    vouchers: comparison.vouchers,
    vouchers_usdc: usdc(comparison.vouchersAmount),
    channel_payouts: comparison.channelPayouts,
    channel_payouts_usdc: usdc(comparison.channelPayoutsAmount),
  }
}

function text(
  {
    compared,
    differences,
  }: {
    readonly compared: readonly ReturnType<typeof comparedOf>[]
    readonly differences: readonly ReturnType<typeof rowOf>[]
  },
  hasColor: boolean,
): string {
  const read = compared.map((one) => {
    const later =
      one.not_final === 0
        ? ''
        : `; ${one.not_final} settled later ${one.not_final === 1 ? 'is' : 'are'} not compared yet`
    const channels =
      one.vouchers + one.channel_payouts === 0
        ? ''
        : `; ${one.vouchers} vouchers of ${one.vouchers_usdc} USDC, ${one.channel_payouts} payouts of ${one.channel_payouts_usdc} USDC`
    return `${one.network}, payee ${one.payee}, blocks ${one.first_block} to ${one.last_block}, final until ${one.final_iso}: ${one.equal} payments of ${one.equal_usdc} USDC are equal${later}${channels}`
  })
  if (differences.length === 0) {
    const notFinal = notFinalIn(compared)
    const payments = notFinal === 1 ? 'payment is' : 'payments are'
    const rest = notFinal === 0 ? '' : `; ${notFinal} ${payments} not final yet`
    return `${[...read, `no differences${rest}`].join('\n')}\n`
  }
  const table = new Table({
    head: ['kind', 'time', 'transaction', 'payer', 'chain', 'ledger', 'next'],
    colAligns: ['left', 'left', 'left', 'left', 'right', 'right', 'left'],
    colWidths: [null, null, null, null, null, null, 50],
    wordWrap: true,
    style: hasColor ? {} : { head: [], border: [] },
  })
  for (const { kind, time_iso, transaction, payer, chain_usdc, ledger_usdc, next } of differences)
    table.push([kind, time_iso, transaction, payer, chain_usdc, ledger_usdc, next])
  return `${[...read, table.toString(), `${differences.length} differences`].join('\n')}\n`
}

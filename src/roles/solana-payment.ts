import type { Address } from '@solana/addresses'
import { address, isAddress } from '@solana/addresses'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'
import { ConfigError } from '../config/config-error.ts'
import type { SolanaPaymentSettings } from '../config/payment.ts'
import type { HostedFacilitators } from '../payment/facilitators/hosted-facilitators.ts'
import type { FailedSettlements } from '../payment/failed-settlements.ts'
import type { HealthMonitor } from '../payment/health-monitor.ts'
import type { RecordCost } from '../payment/ledger/transaction-costs.ts'
import { monitoredFacilitator } from '../payment/monitored-facilitator.ts'
import type { Facilitator, PaymentMethod } from '../payment/payment.ts'
import { publicNodes } from '../payment/public-nodes.ts'
import { Screening } from '../payment/screening.ts'
import { outcomeByMessage, solanaTransactionPays } from '../payment/solana/chain-outcome.ts'
import { examineCluster, feePayerProbe } from '../payment/solana/cluster-checks.ts'
import type { ExactSolanaPayment } from '../payment/solana/exact-solana.ts'
import { exactSolana } from '../payment/solana/exact-solana.ts'
import type { FeePayer } from '../payment/solana/fee-payer-key.ts'
import { readFeePayer } from '../payment/solana/fee-payer-key.ts'
import { hostedSolanaFacilitator } from '../payment/solana/hosted-solana-facilitator.ts'
import { localSolanaFacilitator } from '../payment/solana/local-solana-facilitator.ts'
import type { SolanaNetwork } from '../payment/solana/networks.ts'
import { solanaDevnet, solanaMainnet } from '../payment/solana/networks.ts'
import { solanaPayeeFaults } from '../payment/solana/payee.ts'
import { screenHoldings } from '../payment/solana/payer-holdings.ts'
import { SolanaNode } from '../payment/solana/solana-node.ts'
import { measureBalance } from './balance-decreases.ts'
import { acceptNode, knownNode, refuse, unanswered } from './outcome-node.ts'
import type { Watching } from './payment-watching.ts'
import { watchOf } from './sales-readiness.ts'
import { systemClock } from './system-clock.ts'

const LAMPORTS_PER_SOL = 1e9

type Settler = {
  /** null where nobody says who it is. */
  readonly feePayer: Address | null
  readonly facilitator: Facilitator<ExactSolanaPayment>
}

/**
 * USDC on Solana; null where nobody is paid there. Nothing is sold where nobody says that it would pay the fees.
 * @throws ConfigError when what is configured can never take a payment
 */
export async function solanaPayment(
  options: SolanaPaymentSettings,
  log: Logger,
  hosted: HostedFacilitators | null,
  metrics: Registry,
  watching: Watching | null = null,
  nodes: typeof publicNodes = publicNodes,
): Promise<PaymentMethod | null> {
  if (options.solanaPayTo === undefined) return null
  const network = options.solanaNetwork === 'mainnet' ? solanaMainnet : solanaDevnet
  const { solanaRpcUrl: rpcUrl, outcomeNode } = options
  const payTo = address(options.solanaPayTo)
  const own = ownFeePayer(options)
  log.info({ payTo, network: network.network }, 'USDC is paid to this wallet')
  if (own !== null)
    log.info({ feePayer: own.address, network: network.network }, 'this account pays the fees')
  const nodeOption = { option: '--solana-rpc-url', url: rpcUrl, publicUrl: nodes[network.network] }
  const known = knownNode(nodeOption, outcomeNode, log)
  const node = known === null ? null : new SolanaNode({ rpcUrl: known.url, clock: systemClock })
  if (node !== null && known !== null) {
    const settings = { network, payTo, feePayer: own?.address ?? null }
    await acceptNode(() => examineCluster(node, settings), unanswered(known, own !== null), log)
    if (own !== null)
      measureBalance(metrics, {
        left: 'perpscope_fee_balance_sol',
        leftHelp: 'Balance of the account that pays fees on Solana. NaN: the node did not answer.',
        spent: 'perpscope_fee_spent_sol_total',
        spentHelp: 'Sum of the decreases of the balance that pays fees on Solana between readings.',
        read: async () => ((await node.account(own.address))?.lamports ?? 0) / LAMPORTS_PER_SOL,
      })
  }
  const isOwn = own !== null && rpcUrl !== undefined
  const watch =
    isOwn && watching !== null ? watchOf(network.network, probeOf(rpcUrl, own.address), log) : null
  if (watch !== null) watching?.watches.push(watch)
  const { failures, recordCost } = watching ?? {}
  const settler = isOwn
    ? localSettler({ rpcUrl, feePayer: own, failures, recordCost, watch, metrics, log })
    : await hostedSettler(network, { node, own: rpcUrl === undefined ? null : node }, hosted)
  if (settler.feePayer === null)
    log.warn(
      'no facilitator says who pays the fees on Solana: nothing is sold there until a restart',
    )
  else refuse(solanaPayeeFaults(payTo, settler.feePayer))
  const kind = { scheme: 'exact', network: network.network, asset: network.asset }
  return exactSolana({
    ...{ network, payTo, clock: systemClock, ...settler },
    solUsdMax: options.solUsdMax,
    ...(own === null || failures === undefined ? {} : { failures }),
    readiness: () => (isOwn ? (watch?.fault ?? null) : (hosted?.fault(kind) ?? null)),
  })
}

function ownFeePayer({ solanaFacilitatorKey: text }: SolanaPaymentSettings): FeePayer | null {
  try {
    return text === undefined ? null : readFeePayer(text)
  } catch (cause) {
    throw new ConfigError(
      `--solana-facilitator-key is ${cause instanceof Error ? cause.message : 'wrong'}`,
    )
  }
}

function localSettler({
  rpcUrl,
  feePayer,
  failures,
  recordCost,
  watch,
  metrics,
  log,
}: {
  readonly rpcUrl: string
  readonly feePayer: FeePayer
  readonly failures: FailedSettlements | undefined
  readonly recordCost: RecordCost | undefined
  readonly watch: HealthMonitor | null
  readonly metrics: Registry
  readonly log: Logger
}): Settler {
  const paid = new Counter({
    name: 'perpscope_failed_fee_lamports_total',
    help: 'Fees paid for Solana transactions that were simulated as valid and moved nothing.',
    registers: [metrics],
  })
  const own = localSolanaFacilitator({
    ...{ rpcUrl, feePayer, clock: systemClock },
    ...(failures === undefined ? {} : { failures }),
    ...(recordCost === undefined ? {} : { recordCost }),
    onFailedFee: ({ payer, lamports }) => {
      paid.inc(Number(lamports))
      log.warn(
        { payer, lamports: lamports.toString() },
        'a settlement failed on Solana at our cost',
      )
    },
  })
  const facilitator = watch === null ? own : monitoredFacilitator(own, watch)
  return { feePayer: feePayer.address, facilitator }
}

function probeOf(rpcUrl: string, feePayer: Address) {
  return feePayerProbe(new SolanaNode({ rpcUrl, clock: systemClock }), feePayer)
}

/**
 * The terms name who pays the fees, so a facilitator must have told it before anything is quoted.
 * @param own null where the node is a public one, which is asked for outcomes alone
 */
async function hostedSettler(
  { network, asset }: SolanaNetwork,
  { node, own }: { readonly node: SolanaNode | null; readonly own: SolanaNode | null },
  hosted: HostedFacilitators | null,
): Promise<Settler> {
  if (hosted === null) throw new Error('options were checked: a facilitator is configured')
  const kind = { scheme: 'exact', network, asset }
  const facilitator = hosted.of<ExactSolanaPayment>(
    kind,
    node && {
      outcome: (payment) => outcomeByMessage(node, payment, systemClock.nowMs()),
      isPaidBy: (payment, transaction) => solanaTransactionPays(node, payment, transaction),
    },
  )
  await hosted.examine()
  const named = hosted.offer(kind)?.['feePayer']
  const feePayer = typeof named === 'string' && isAddress(named) ? named : null
  const screening =
    own === null
      ? null
      : new Screening<ExactSolanaPayment>({
          clock: systemClock,
          ask: (payments) => screenHoldings(own, payments),
        })
  return {
    feePayer,
    facilitator: {
      ...hostedSolanaFacilitator(facilitator),
      ...(screening && { screen: (payment) => screening.screen(payment) }),
    },
  }
}

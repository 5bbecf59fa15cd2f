import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'
import { zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readGauge } from '../api/metrics/read-gauge.ts'
import type { EvmPaymentSettings } from '../config/payment.ts'
import type { ProofLog } from '../domain/answer-proof.ts'
import type { ClockCheck } from '../payment/clock-check.ts'
import { examineChain } from '../payment/evm/chain-checks.ts'
import { chainOutcome, evmTransactionPays } from '../payment/evm/chain-outcome.ts'
import type { FailedGas } from '../payment/evm/contract-payers.ts'
import { ContractWallets } from '../payment/evm/contract-wallets.ts'
import type { ExactEvmPayment } from '../payment/evm/exact-evm.ts'
import { exactEvm } from '../payment/evm/exact-evm.ts'
import { keyRecovery } from '../payment/evm/key-recovery.ts'
import type { LocalFacilitator } from '../payment/evm/local-facilitator.ts'
import { localFacilitator } from '../payment/evm/local-facilitator.ts'
import type { PaymentNetwork } from '../payment/evm/networks.ts'
import { base, baseSepolia } from '../payment/evm/networks.ts'
import type { NodeClient } from '../payment/evm/node-client.ts'
import { nodeClient } from '../payment/evm/node-client.ts'
import type { ProofAnchor } from '../payment/evm/proof-anchor.ts'
import { settlementProbe } from '../payment/evm/settlement-probe.ts'
import { TransferSimulation } from '../payment/evm/transfer-simulation.ts'
import type { HostedFacilitators } from '../payment/facilitators/hosted-facilitators.ts'
import { monitoredFacilitator } from '../payment/monitored-facilitator.ts'
import { nodeReason } from '../payment/node-error.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import { publicNodes } from '../payment/public-nodes.ts'
import { Screening } from '../payment/screening.ts'
import { measureBalance } from './balance-decreases.ts'
import { acceptNode, knownNode, unanswered } from './outcome-node.ts'
import type { Watching } from './payment-watching.ts'
import { gasAccountOf } from './payment-watching.ts'
import { watchOf } from './sales-readiness.ts'
import { systemClock } from './system-clock.ts'

const WEI_PER_ETHER = 1e18

export type EvmPayment = {
  readonly method: PaymentMethod
  /** null if a hosted facilitator settles. */
  readonly facilitator: LocalFacilitator | null
}

/**
 * USDC on Base, or on its test network.
 * @throws ConfigError when what is configured can never take a payment
 */
export async function evmPayment(
  options: EvmPaymentSettings,
  log: Logger,
  hosted: HostedFacilitators | null,
  metrics: Registry,
  watching: Watching | null = null,
  nodes: typeof publicNodes = publicNodes,
): Promise<EvmPayment> {
  const network = options.network === 'base' ? base : baseSepolia
  const { payTo, rpcUrl, facilitatorKey: privateKey, outcomeNode } = options
  if (payTo === undefined) throw new Error('checked: x402 has a payee')
  const nodeOption = { option: '--rpc-url', url: rpcUrl, publicUrl: nodes[network.network] }
  const known = knownNode(nodeOption, outcomeNode, log)
  const node = known === null ? null : nodeClient(network, known.url)
  const facilitator =
    rpcUrl === undefined || privateKey === undefined
      ? null
      : localFacilitator({
          ...{ network, rpcUrl, privateKey, clock: systemClock },
          ...(watching === null
            ? {}
            : {
                failures: watching.failures,
                recordCost: watching.recordCost,
                turns: watching.turnsOf(
                  gasAccountOf(network.network, privateKeyToAccount(privateKey).address),
                ),
              }),
          contractWallets: options.contractWallets,
          contractGasPerHour: options.contractGasPerHour,
          onFailedGas: observeFailedGas(metrics, log),
        })
  const gasAccount = facilitator?.gasAccount ?? null
  log.info({ payTo, network: network.network }, 'USDC is paid to this address')
  if (gasAccount !== null)
    log.info({ gasAccount, network: network.network }, 'this account pays the gas')
  if (node !== null && known !== null)
    await acceptNode(
      () => examineChain(node, network, gasAccount),
      unanswered(known, facilitator !== null),
      log,
    )
  if (facilitator !== null)
    measureBalance(metrics, {
      left: 'perpscope_gas_balance_ether',
      leftHelp: 'Balance of the account that pays gas. NaN: the node did not answer.',
      spent: 'perpscope_gas_spent_ether_total',
      spentHelp: 'Sum of the decreases of the gas balance between readings.',
      read: async () => Number(await facilitator.gasBalance()) / WEI_PER_ETHER,
    })
  const anchoring = options.anchorProofs === 'on' ? watching?.anchoring : undefined
  if (facilitator !== null && anchoring !== undefined)
    anchoring.anchors.push(anchorOf(facilitator, anchoring.proofs, log))
  if (facilitator !== null) watchSuspension(facilitator, metrics, log)
  if (facilitator !== null && hosted !== null)
    log.warn(
      '--rpc-url and --facilitator-key settle on EVM chains: --facilitator-url is used for Solana at most',
    )
  log.info({ signatures: keyRecovery.name }, 'payments on EVM chains are checked')
  const kind = { scheme: 'exact', network: network.network, asset: network.asset }
  const watch =
    facilitator === null || node === null || watching === null
      ? null
      : watchOf(network.network, probeOf(node, network, facilitator, watching.clock), log)
  if (watch !== null) watching?.watches.push(watch)
  // A public node is asked for outcomes alone: strangers can have every other question put.
  const own = rpcUrl === undefined ? null : node
  const settling = facilitator ?? hostedOn(network, { node, own }, hosted)
  const method = exactEvm({
    network,
    payTo,
    facilitator: watch === null ? settling : monitoredFacilitator(settling, watch),
    readiness: () =>
      facilitator === null ? (hosted?.fault(kind) ?? null) : (watch?.fault ?? null),
    ...(own === null || options.contractWallets === 'off'
      ? {}
      : { contractWallets: new ContractWallets(own) }),
    ...(facilitator === null ? {} : { payers: facilitator.payers }),
  })
  return { method, facilitator }
}

function anchorOf(facilitator: LocalFacilitator, proofs: ProofLog, log: Logger): ProofAnchor {
  return facilitator.proofAnchor({
    proofs,
    onAnchored: (transaction) => log.info({ transaction }, 'the proof log is anchored'),
    onFailure: (cause) =>
      log.warn({ reason: nodeReason(cause) }, 'the proof log is not anchored; sales go on'),
  })
}

function probeOf(
  node: NodeClient,
  { network }: PaymentNetwork,
  { gasAccount }: LocalFacilitator,
  clock: ClockCheck,
) {
  return settlementProbe({
    node,
    gasAccount,
    onBlockTime: (timeMs) => {
      clock.report(network, timeMs)
      return clock.disagrees(network)
    },
  })
}

function hostedOn(
  { network, asset }: PaymentNetwork,
  { node, own }: { readonly node: NodeClient | null; readonly own: NodeClient | null },
  hosted: HostedFacilitators | null,
) {
  if (hosted === null) throw new Error('options were checked: a facilitator is configured')
  const facilitator = hosted.of<ExactEvmPayment>(
    { scheme: 'exact', network, asset },
    node && {
      outcome: (payment) => chainOutcome(node, payment),
      isPaidBy: (payment, transaction) => evmTransactionPays(node, payment, transaction),
    },
  )
  if (own === null) return facilitator
  const simulation = new TransferSimulation(own, zeroAddress)
  const screening = new Screening<ExactEvmPayment>({
    clock: systemClock,
    ask: (payments) => simulation.screen(payments),
  })
  return { ...facilitator, screen: (payment: ExactEvmPayment) => screening.screen(payment) }
}

/** Counts and logs failed gas. */
function observeFailedGas(metrics: Registry, log: Logger): (event: FailedGas) => void {
  const burnt = new Counter({
    name: 'perpscope_failed_gas_total',
    help: 'Gas burnt by transactions that were simulated as valid and moved nothing, by kind of payer.',
    labelNames: ['payer'],
    registers: [metrics],
  })
  for (const payer of ['contract', 'key']) burnt.inc({ payer }, 0)
  return (event) => {
    switch (event.kind) {
      case 'burnt': {
        burnt.inc({ payer: event.by }, Number(event.gas))
        const { payer, by, gas } = event
        log.warn({ payer, by, gas: gas.toString() }, 'a settlement failed on chain at our cost')
        return
      }
      case 'unrecorded': {
        const { transaction, cause: err } = event
        log.error({ transaction, err }, 'a settlement that failed on chain could not be recorded')
        return
      }
      case 'unread':
        log.error({ err: event.cause }, 'the gas that contract wallets have burnt cannot be read')
        return
      case 'unreleased':
        log.error({ err: event.cause }, 'gas stays reserved for an hour: it cannot be released')
        return
      case 'suspended':
        logSuspension(log, event.untilMs)
        return
      default:
        event satisfies never
    }
  }
}

function logSuspension(log: Logger, untilMs: number): void {
  log.error(
    { until: new Date(untilMs).toISOString() },
    'contract wallets are suspended: their failed transactions have burnt the gas of --contract-gas-per-hour',
  )
}

function watchSuspension({ payers }: LocalFacilitator, metrics: Registry, log: Logger): void {
  readGauge(
    metrics,
    'perpscope_contract_wallets_suspended',
    '1 while contract wallets are refused because their failed transactions have burnt the gas of the hour.',
    () => (payers.suspendedUntilMs === null ? 0 : 1),
  )
  // Failed gas from before a restart still counts.
  if (payers.suspendedUntilMs !== null) logSuspension(log, payers.suspendedUntilMs)
}

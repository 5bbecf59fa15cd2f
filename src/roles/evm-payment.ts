import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import { zeroAddress } from 'viem'
import { ConfigError } from '../config/config-error.ts'
import type { ServeOptions } from '../config/serve.ts'
import { examineChain, payeeFaults } from '../payment/evm/chain-checks.ts'
import { chainOutcome } from '../payment/evm/chain-outcome.ts'
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
import { Simulation } from '../payment/evm/simulation.ts'
import type { HostedFacilitators } from '../payment/facilitators/hosted-facilitators.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import { Screening } from '../payment/screening.ts'
import { systemClock } from './system-clock.ts'

const WEI_PER_ETHER = 1e18

export type EvmPayment = {
  readonly method: PaymentMethod
  /** Where the service settles by itself. */
  readonly facilitator: LocalFacilitator | null
}

/**
 * USDC on Base, or on its test network.
 * @throws ConfigError when what is configured can never take a payment
 */
export async function evmPayment(
  options: ServeOptions,
  log: Logger,
  hosted: HostedFacilitators | null,
  metrics: Registry,
): Promise<EvmPayment> {
  const network = options.network === 'base' ? base : baseSepolia
  const { payTo, rpcUrl, facilitatorKey: privateKey } = options
  if (payTo === undefined) throw new Error('checked: x402 has a payee')
  const node = rpcUrl === undefined ? null : nodeClient(network, rpcUrl)
  const facilitator =
    rpcUrl === undefined || privateKey === undefined
      ? null
      : localFacilitator({ network, rpcUrl, privateKey, clock: systemClock })
  const gasAccount = facilitator?.gasAccount ?? null
  refuse(payeeFaults(payTo, gasAccount))
  if (node !== null) await examine(node, network, gasAccount, log)
  if (facilitator !== null) measureGas(facilitator, metrics)
  if (facilitator !== null && hosted !== null)
    log.warn(
      '--rpc-url and --facilitator-key settle on EVM chains: --facilitator-url is used for Solana at most',
    )
  log.info({ signatures: keyRecovery.name }, 'payments on EVM chains are checked')
  const method = exactEvm({
    network,
    payTo,
    facilitator: facilitator ?? hostedOn(network, node, hosted),
    ...(node === null ? {} : { contractWallets: new ContractWallets(node) }),
  })
  return { method, facilitator }
}

/** A node of another chain would make every payment fail; one that is down now may be up for the first. */
async function examine(
  node: NodeClient,
  network: PaymentNetwork,
  gasAccount: LocalFacilitator['gasAccount'] | null,
  log: Logger,
): Promise<void> {
  let findings: Awaited<ReturnType<typeof examineChain>>
  try {
    findings = await examineChain(node, network, gasAccount)
  } catch (err) {
    log.warn({ err }, 'the node at --rpc-url does not answer; payments fail until it does')
    return
  }
  refuse(findings.faults)
  for (const warning of findings.warnings) log.warn(warning)
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
}

function hostedOn(
  { network, asset }: PaymentNetwork,
  node: NodeClient | null,
  hosted: HostedFacilitators | null,
) {
  if (hosted === null) throw new Error('checked: somebody settles')
  const outcome =
    node === null ? undefined : (payment: ExactEvmPayment) => chainOutcome(node, payment)
  const facilitator = hosted.of({ scheme: 'exact', network, asset }, outcome)
  if (node === null) return facilitator
  const simulation = new Simulation(node, zeroAddress)
  const screening = new Screening<ExactEvmPayment>({
    clock: systemClock,
    ask: (payments) => simulation.screen(payments),
  })
  return { ...facilitator, screen: (payment: ExactEvmPayment) => screening.screen(payment) }
}

/** Shows what the node said last, and asks it again: nobody who reads metrics waits for a node. */
function measureGas(facilitator: LocalFacilitator, metrics: Registry): void {
  let ether = Number.NaN
  const gauge = new Gauge({
    name: 'perpscope_gas_balance_ether',
    help: 'What the account that settles has left to pay gas with. NaN: the node did not answer.',
    registers: [metrics],
    collect() {
      this.set(ether)
      void ask()
    },
  })
  const ask = async () => {
    try {
      ether = Number(await facilitator.gasBalance()) / WEI_PER_ETHER
    } catch {
      ether = Number.NaN
    }
    gauge.set(ether)
  }
  void ask()
}

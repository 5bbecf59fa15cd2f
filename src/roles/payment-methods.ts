import type { Logger } from 'pino'
import { createPublicClient, http } from 'viem'
import type { ServeOptions } from '../config.ts'
import { ConfigError } from '../config.ts'
import { chainOutcome } from '../payment/evm/chain-outcome.ts'
import type { ExactEvmPayment } from '../payment/evm/exact-evm.ts'
import { exactEvm } from '../payment/evm/exact-evm.ts'
import { localFacilitator } from '../payment/evm/local-facilitator.ts'
import type { PaymentNetwork } from '../payment/evm/networks.ts'
import { base, baseSepolia } from '../payment/evm/networks.ts'
import { nodeChainId } from '../payment/evm/node-chain.ts'
import { httpFacilitator } from '../payment/http-facilitator.ts'
import type { Facilitator, PaymentMethod } from '../payment/payment.ts'

const RPC_MS_MAX = 5_000

/**
 * The ways in which buyers of this service may pay, in the order in which they are offered.
 * @throws ConfigError when what is configured can never take a payment
 */
export async function paymentMethods(
  options: ServeOptions,
  log: Logger,
): Promise<readonly PaymentMethod[]> {
  const network = options.network === 'base' ? base : baseSepolia
  if (options.rpcUrl !== undefined) await checkChain(options.rpcUrl, network, log)
  const { payTo } = options
  if (payTo === undefined) throw new Error('checked: x402 has a payee')
  return [exactEvm({ network, payTo, facilitator: facilitatorOf(options, network) })]
}

/** A node of another chain would make every payment fail; one that is down now may be up for the first. */
async function checkChain(rpcUrl: string, network: PaymentNetwork, log: Logger): Promise<void> {
  let chainId: number
  try {
    chainId = await nodeChainId(rpcUrl)
  } catch (err) {
    log.warn({ err }, 'the node at --rpc-url does not answer; payments fail until it does')
    return
  }
  if (chainId !== network.chainId)
    throw new ConfigError(
      `the node at --rpc-url serves chain ${chainId}; --network ${network.legacyName} is chain ${network.chainId}`,
    )
}

function facilitatorOf(
  options: ServeOptions,
  network: PaymentNetwork,
): Facilitator<ExactEvmPayment> {
  const { rpcUrl, facilitatorKey, facilitatorUrl, facilitatorAuth } = options
  if (rpcUrl !== undefined && facilitatorKey !== undefined)
    return localFacilitator({ network, rpcUrl, privateKey: facilitatorKey })
  if (facilitatorUrl === undefined) throw new Error('checked: somebody settles')
  return httpFacilitator({
    url: facilitatorUrl,
    ...(rpcUrl === undefined ? {} : { outcome: outcomeAt(rpcUrl) }),
    ...(facilitatorAuth === undefined ? {} : { authorization: facilitatorAuth }),
  })
}

/** What the chain says, by a node of ours. */
function outcomeAt(rpcUrl: string) {
  const client = createPublicClient({
    transport: http(rpcUrl, { timeout: RPC_MS_MAX, retryCount: 0 }),
  })
  return (payment: ExactEvmPayment) => chainOutcome(client, payment)
}

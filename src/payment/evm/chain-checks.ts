import type { Address } from 'viem'
import { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import { nodeReason } from '../node-error.ts'
import { domainSeparator } from './authorization-digest.ts'
import type { PaymentNetwork } from './networks.ts'
import type { NodeClient } from './node-client.ts'
import { tokenAbi as abi } from './token-abi.ts'

export type ChainFindings = {
  /** Configuration errors that prevent every payment, each with its remedy. */
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

const DECIMALS = 6
/** About 500 settlements of 100,000 gas at 0.01 gwei. */
const GAS_BALANCE_LOW_WEI = 500_000_000_000_000n
const WEI_PER_ETHER = 1e18

/**
 * Checks that a node serves the chain and the token, and that the account has gas.
 * @throws OperatingError when the node does not answer; the message omits its URL, which can contain a key
 */
export async function examineChain(
  node: NodeClient,
  network: PaymentNetwork,
  gasAccount: Address | null,
): Promise<ChainFindings> {
  try {
    const chainId = await node.getChainId()
    if (chainId !== network.chainId) {
      const expected = `--network ${network.legacyName} is chain ${network.chainId}`
      return fault(`The node at --rpc-url serves chain ${chainId}; ${expected}.`)
    }
    const [token, gas] = await Promise.all([tokenFault(node, network), gasOf(node, gasAccount)])
    if (token !== null) return fault(token)
    if (gas === null || gas >= GAS_BALANCE_LOW_WEI) return { faults: [], warnings: [] }
    const account = `Account ${gasAccount} of --facilitator-key`
    if (gas === 0n)
      return fault(`${account} has no ether on ${network.legacyName}. Send ether to it.`)
    const left = `${Number(gas) / WEI_PER_ETHER} ether`
    return { faults: [], warnings: [`${account} has only ${left} left for gas. Send ether to it.`] }
  } catch (cause) {
    throw new OperatingError('node_unanswered', nodeReason(cause))
  }
}

async function tokenFault(node: NodeClient, network: PaymentNetwork): Promise<string | null> {
  const { asset: address, domain, legacyName } = network
  const remedy = `Check that the node at --rpc-url serves ${legacyName}.`
  if ((await node.getCode({ address })) === undefined)
    return `There is no USDC contract at ${address}. ${remedy}`
  try {
    const [decimals, separator] = await Promise.all([
      node.readContract({ address, abi, functionName: 'decimals' }),
      node.readContract({ address, abi, functionName: 'DOMAIN_SEPARATOR' }),
    ])
    if (decimals !== DECIMALS) return `The token at ${address} has ${decimals} decimals. ${remedy}`
    if (separator !== domainSeparator(network))
      return `The token at ${address} is not "${domain.name}" version ${domain.version}. ${remedy}`
    return null
  } catch (cause) {
    if (isNoAnswerOfUsdc(cause)) return `The contract at ${address} is not USDC. ${remedy}`
    throw cause
  }
}

/** The contract has no such function. */
function isNoAnswerOfUsdc(cause: unknown): boolean {
  const isOne = (error: unknown) =>
    error instanceof ContractFunctionRevertedError || error instanceof ContractFunctionZeroDataError
  return cause instanceof BaseError && cause.walk(isOne) !== null
}

async function gasOf(node: NodeClient, gasAccount: Address | null): Promise<bigint | null> {
  return gasAccount === null ? null : node.getBalance({ address: gasAccount })
}

function fault(text: string): ChainFindings {
  return { faults: [text], warnings: [] }
}

import type { PublicClient } from 'viem'
import { nodeReason } from '../node-error.ts'
import type { Outcome } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { tokenAbi as abi } from './token-abi.ts'
import { pays } from './transfer.ts'

/**
 * How far back the use of a nonce is looked for: 5 hours of 2-second blocks. Providers refuse to search
 * more than 10,000 blocks at once.
 */
const BLOCKS_BACK_MAX = 9_000n

/** Reads from the chain what became of a payment's nonce, whoever submitted it. */
export async function chainOutcome(
  client: Pick<
    PublicClient,
    'readContract' | 'getBlockNumber' | 'getContractEvents' | 'getTransactionReceipt'
  >,
  payment: ExactEvmPayment,
): Promise<Outcome> {
  const { authorization, chain } = payment
  const address = chain.asset
  const { from: authorizer, nonce } = authorization
  try {
    const used = await client.readContract({
      address,
      abi,
      functionName: 'authorizationState',
      args: [authorizer, nonce],
    })
    if (!used) return { kind: 'unused' }
    // viem remembers the head for a while; the use may be newer than that.
    const head = await client.getBlockNumber({ cacheTime: 0 })
    const search = {
      address,
      abi,
      args: { authorizer, nonce },
      fromBlock: head > BLOCKS_BACK_MAX ? head - BLOCKS_BACK_MAX : 0n,
      toBlock: head,
    } as const
    const [use] = await client.getContractEvents({ ...search, eventName: 'AuthorizationUsed' })
    if (use !== undefined) {
      const receipt = await client.getTransactionReceipt({ hash: use.transactionHash })
      return pays(receipt.logs, payment)
        ? { kind: 'settled', transaction: use.transactionHash }
        : { kind: 'forfeited' }
    }
    const [cancel] = await client.getContractEvents({
      ...search,
      eventName: 'AuthorizationCanceled',
    })
    if (cancel !== undefined) return { kind: 'forfeited' }
    return { kind: 'unknown', reason: `nonce used more than ${BLOCKS_BACK_MAX} blocks ago` }
  } catch (cause) {
    return { kind: 'unknown', reason: nodeReason(cause) }
  }
}

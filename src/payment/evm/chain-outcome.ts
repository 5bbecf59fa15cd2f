import type { GetBlockReturnType, Hex, PublicClient } from 'viem'
import { nodeReason } from '../node-error.ts'
import type { Outcome } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { tokenAbi as abi } from './token-abi.ts'
import { pays } from './transfer.ts'

type Client = Pick<
  PublicClient,
  'readContract' | 'getBlock' | 'getContractEvents' | 'getTransactionReceipt'
>

/** How far back the use of a nonce is looked for: 5 hours, before the authorization ran out at the latest. */
const BLOCKS_BACK_MAX = 9_000n
/** Providers refuse to search many blocks at once; some draw the line here. */
const BLOCKS_AT_ONCE = 1_000n
/** Of Base. Where it does not hold, the search begins at the head. */
const BLOCK_SECONDS = 2n
const GUESS_MARGIN_BLOCKS = 50n

/** Reads from the chain what became of a payment's nonce, whoever submitted it. */
export async function chainOutcome(client: Client, payment: ExactEvmPayment): Promise<Outcome> {
  const { authorization, chain } = payment
  const { from: authorizer, nonce } = authorization
  try {
    // The block first: the answer is about no other moment than its time, however stale the node is.
    const head = await client.getBlock()
    const used = await client.readContract({
      address: chain.asset,
      abi,
      functionName: 'authorizationState',
      args: [authorizer, nonce],
      blockNumber: head.number,
    })
    if (!used) return { kind: 'unused', asOfSeconds: Number(head.timestamp) }
    const last = await lastUsable(client, head, authorization.validBefore)
    const transaction = await newest(client, payment, 'AuthorizationUsed', last)
    if (transaction !== null) {
      const receipt = await client.getTransactionReceipt({ hash: transaction })
      return pays(receipt.logs, payment) ? { kind: 'settled', transaction } : { kind: 'forfeited' }
    }
    if ((await newest(client, payment, 'AuthorizationCanceled', head.number)) !== null)
      return { kind: 'forfeited' }
    return { kind: 'unknown', reason: `no use of the nonce within ${BLOCKS_BACK_MAX} blocks` }
  } catch (cause) {
    return { kind: 'unknown', reason: nodeReason(cause) }
  }
}

/** A block after which no block can have used the authorization. */
async function lastUsable(
  client: Client,
  head: GetBlockReturnType,
  validBefore: bigint,
): Promise<bigint> {
  const past = (head.timestamp - validBefore) / BLOCK_SECONDS - GUESS_MARGIN_BLOCKS
  if (past <= 0n || past > head.number) return head.number
  const guess = await client.getBlock({ blockNumber: head.number - past })
  return guess.timestamp >= validBefore ? guess.number : head.number
}

/** @returns the transaction of the newest such event of the payment's nonce; null for none within reach */
async function newest(
  client: Client,
  { authorization: { from: authorizer, nonce }, chain }: ExactEvmPayment,
  eventName: 'AuthorizationUsed' | 'AuthorizationCanceled',
  lastBlock: bigint,
): Promise<Hex | null> {
  const firstBlock = lastBlock > BLOCKS_BACK_MAX ? lastBlock - BLOCKS_BACK_MAX : 0n
  for (let toBlock = lastBlock; toBlock >= firstBlock; toBlock -= BLOCKS_AT_ONCE) {
    const from = toBlock - BLOCKS_AT_ONCE + 1n
    const [event] = await client.getContractEvents({
      address: chain.asset,
      abi,
      eventName,
      args: { authorizer, nonce },
      fromBlock: from > firstBlock ? from : firstBlock,
      toBlock,
    })
    if (event !== undefined) return event.transactionHash
  }
  return null
}

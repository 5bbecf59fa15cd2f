import type { GetBlockReturnType, Hex, PublicClient, RpcLog } from 'viem'
import { getAbiItem, pad, TransactionReceiptNotFoundError, toEventSelector, toHex } from 'viem'
import { nodeReason } from '../node-error.ts'
import type { Outcome } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { tokenAbi as abi } from './token-abi.ts'
import { pays } from './transfer.ts'

type Client = Pick<PublicClient, 'readContract' | 'getBlock' | 'getTransactionReceipt' | 'request'>

/** How far back the use of a nonce is looked for: 5 hours, before the authorization ran out at the latest. */
const BLOCKS_BACK_MAX = 9_000n
/** Providers refuse to search more than 1,000 blocks at once, or 500, or 5: fewer and fewer are asked for. */
const BLOCKS_AT_ONCE = [BLOCKS_BACK_MAX, 1_000n, 500n, 100n, 10n, 5n] as const
/** At a tenth of a second each there is time for so many. They are of the newest blocks, where the use is likely. */
const SEARCHES_MAX = 40
/** Of Base. Where it does not hold, the search begins at the head. */
const BLOCK_SECONDS = 2n
const GUESS_MARGIN_BLOCKS = 50n
const USED = toEventSelector(getAbiItem({ abi, name: 'AuthorizationUsed' }))
const CANCELED = toEventSelector(getAbiItem({ abi, name: 'AuthorizationCanceled' }))

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
    const event =
      (await newest(client, payment, last)) ??
      // It can be cancelled at any time, also when it has run out.
      (last < head.number ? await newest(client, payment, head.number) : null)
    if (event !== null) {
      if (event.topics[0] === CANCELED) return { kind: 'forfeited' }
      const { transactionHash: transaction } = event
      if (transaction === null) throw new TypeError('a log of a block has a transaction')
      const receipt = await client.getTransactionReceipt({ hash: transaction })
      return pays(receipt.logs, payment) ? { kind: 'settled', transaction } : { kind: 'forfeited' }
    }
    return { kind: 'unknown', reason: `no use of the nonce within ${BLOCKS_BACK_MAX} blocks` }
  } catch (cause) {
    return { kind: 'unknown', reason: nodeReason(cause) }
  }
}

/** Whether a transaction pays a payment; null while the node does not know it. @throws where it does not answer */
export async function evmTransactionPays(
  client: Pick<Client, 'getTransactionReceipt'>,
  payment: ExactEvmPayment,
  transaction: string,
): Promise<boolean | null> {
  try {
    const receipt = await client.getTransactionReceipt({ hash: transaction as Hex })
    return pays(receipt.logs, payment)
  } catch (cause) {
    if (cause instanceof TransactionReceiptNotFoundError) return null
    throw cause
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

/** @returns what used the nonce of a payment, or cancelled it, up to a block; null for nothing within reach */
async function newest(
  client: Client,
  { authorization: { from, nonce }, chain }: ExactEvmPayment,
  lastBlock: bigint,
): Promise<RpcLog | null> {
  const firstBlock = lastBlock > BLOCKS_BACK_MAX ? lastBlock - BLOCKS_BACK_MAX : 0n
  const eventIn = async (fromBlock: bigint, toBlock: bigint) => {
    const range = { fromBlock: toHex(fromBlock), toBlock: toHex(toBlock) }
    const topics = [[USED, CANCELED], pad(from), nonce]
    const found = await client.request({
      method: 'eth_getLogs',
      params: [{ address: chain.asset, topics, ...range }],
    })
    return found[0] ?? null
  }
  let toBlock = lastBlock
  let size = 0
  for (let searches = 0; searches < SEARCHES_MAX && toBlock >= firstBlock; searches += 1) {
    const from = toBlock - (BLOCKS_AT_ONCE[size] as bigint) + 1n
    const fromBlock = from > firstBlock ? from : firstBlock
    try {
      const event = await eventIn(fromBlock, toBlock)
      if (event !== null) return event
      toBlock = fromBlock - 1n
    } catch (cause) {
      // Perhaps only because this node does not search so many blocks; anything else fails again with fewer.
      size += 1
      if (size === BLOCKS_AT_ONCE.length) throw cause
    }
  }
  return null
}

import type { GetBlockReturnType, Hex, PublicClient, RpcLog } from 'viem'
import { getAbiItem, pad, toEventSelector, toHex } from 'viem'
import { nodeReason } from '../node-error.ts'
import type { Outcome } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { receiptOf } from './receipts.ts'
import { tokenAbi as abi } from './token-abi.ts'
import { pays } from './transfer.ts'

type Client = Pick<PublicClient, 'readContract' | 'getBlock' | 'getTransactionReceipt' | 'request'>

/** An authorization of EIP-3009, of a payment or of a deposit. */
type Authorized = Pick<ExactEvmPayment, 'authorization' | 'chain'>

/** Search range for the use of a nonce: the day before the expiry of the authorization, its longest lifetime. */
const BLOCKS_BACK_MAX = 43_250n
/** Providers limit `eth_getLogs` to 10,000, 1,000, 500 or even 5 blocks: the range shrinks after each failure. */
const BLOCKS_AT_ONCE = [9_000n, 1_000n, 500n, 100n, 10n, 5n] as const
/**
 * Number of requests that fit the time-out at 0.1 s each, and the whole range at 1,000 blocks each. The search starts at
 * the newest blocks.
 */
const SEARCHES_MAX = 45
/** Block time of Base. On another chain the search starts at the head. */
const BLOCK_SECONDS = 2n
const GUESS_MARGIN_BLOCKS = 50n
const USED = toEventSelector(getAbiItem({ abi, name: 'AuthorizationUsed' }))
const CANCELED = toEventSelector(getAbiItem({ abi, name: 'AuthorizationCanceled' }))

/**
 * Reads the state of an authorization's nonce from the chain, independent of the submitter.
 * @param atLeast a block that the node must have; an earlier state is unknown
 */
export async function chainOutcome(
  client: Client,
  payment: Authorized,
  atLeast = 0n,
): Promise<Outcome> {
  const { authorization, chain } = payment
  const { from: authorizer, nonce } = authorization
  try {
    // The block first: the result holds for its time, even on a node that lags behind.
    const head = await client.getBlock()
    if (head.number < atLeast)
      return { kind: 'unknown', reason: `the node does not have block ${atLeast} yet` }
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
      (await newest(client, payment, 0n, last)) ??
      // An authorization can be cancelled after its expiry, too.
      (last < head.number ? await newest(client, payment, last + 1n, head.number) : null)
    if (event !== null) {
      if (event.topics[0] === CANCELED) return { kind: 'forfeited' }
      const { transactionHash: transaction } = event
      if (transaction === null) throw new TypeError('a mined log has a transaction')
      const receipt = await client.getTransactionReceipt({ hash: transaction })
      return pays(receipt.logs, payment) ? { kind: 'settled', transaction } : { kind: 'forfeited' }
    }
    return { kind: 'unknown', reason: `no use of the nonce within ${BLOCKS_BACK_MAX} blocks` }
  } catch (cause) {
    return { kind: 'unknown', reason: nodeReason(cause) }
  }
}

/**
 * @returns whether a transaction pays the payment; null while the node does not have it
 * @throws when the node does not answer
 */
export async function evmTransactionPays(
  client: Pick<Client, 'getTransactionReceipt'>,
  payment: ExactEvmPayment,
  transaction: string,
): Promise<boolean | null> {
  const receipt = await receiptOf(client, transaction as Hex)
  return receipt === null ? null : pays(receipt.logs, payment)
}

/** A block after which the authorization cannot have been used. */
async function lastUsable(
  client: Client,
  head: GetBlockReturnType,
  validBefore: bigint,
): Promise<bigint> {
  const past = (head.timestamp - validBefore) / BLOCK_SECONDS - GUESS_MARGIN_BLOCKS
  if (past <= 0n || past > head.number) return head.number
  // Without it the search is longer.
  const guess = await client.getBlock({ blockNumber: head.number - past }).catch(() => null)
  return guess !== null && guess.timestamp >= validBefore ? guess.number : head.number
}

/** @returns the event that used or cancelled the nonce; null if there is none within the range */
async function newest(
  client: Client,
  { authorization: { from, nonce }, chain }: Authorized,
  earliestBlock: bigint,
  lastBlock: bigint,
): Promise<RpcLog | null> {
  const back = lastBlock - BLOCKS_BACK_MAX
  const firstBlock = back > earliestBlock ? back : earliestBlock
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
      // The node may allow fewer blocks per request; another error fails again with fewer.
      size += 1
      if (size === BLOCKS_AT_ONCE.length) throw cause
    }
  }
  return null
}

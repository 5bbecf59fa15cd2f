import type { Address, Hex, RpcLog } from 'viem'
import {
  decodeEventLog,
  getAbiItem,
  isAddress,
  isAddressEqual,
  isHash,
  pad,
  toEventSelector,
  toHex,
} from 'viem'
import type {
  PayeeChain,
  PayeeTransfer,
  ReadTransfers,
  TransactionFate,
  TransferDetails,
} from '../ledger/chain-comparison.ts'
import type { ReportedPayment, ReportRange } from '../ledger/ledger-books.ts'
import type { PatientNode } from '../patient-node.ts'
import type { PaymentNetwork } from './networks.ts'
import type { NodeClient } from './node-client.ts'
import { receiptOf } from './receipts.ts'
import { tokenAbi as abi } from './token-abi.ts'

export type EvmPayeeOptions = {
  readonly network: PaymentNetwork
  readonly payTo: Address
  readonly node: NodeClient
  readonly patience: PatientNode
  /** Pays out the claims of payment channels. */
  readonly channelContract: Address
}

type Log = RpcLog & {
  readonly blockNumber: Hex
  readonly transactionHash: Hex
  readonly logIndex: Hex
}

/** Of one `eth_getLogs`. Providers allow 10,000, 2,000, 500 or even 10: the range halves after each failure. */
const BLOCKS_AT_ONCE_MAX = 10_000n
/** A range that failed is tried again after this many that succeeded. */
const SUCCESSES_TO_GROW = 20
const TRANSFER = toEventSelector(getAbiItem({ abi, name: 'Transfer' }))
const USED = toEventSelector(getAbiItem({ abi, name: 'AuthorizationUsed' }))

/** Transfers of USDC to a payee on an EVM chain, by the logs of final blocks. */
export function evmPayeeTransfers(options: EvmPayeeOptions): PayeeChain {
  const { network, payTo, node, patience, channelContract } = options
  const logs = new Map<PayeeTransfer, Log>()
  let read = { first: 0n, last: -1n }

  const blockAt = (blockNumber: bigint) => patience.ask(() => node.getBlock({ blockNumber }))

  /** The first block of this time or later; `head + 1` if there is none. */
  async function firstBlockFrom(timeMs: number, head: bigint): Promise<bigint> {
    let [low, high] = [0n, head + 1n]
    while (low < high) {
      const middle = (low + high) / 2n
      const { timestamp } = await blockAt(middle)
      if (Number(timestamp) * 1_000 < timeMs) low = middle + 1n
      else high = middle
    }
    return low
  }

  const transfersIn = (fromBlock: bigint, toBlock: bigint): Promise<readonly RpcLog[]> =>
    node.request({
      method: 'eth_getLogs',
      params: [
        {
          address: network.asset,
          topics: [TRANSFER, null, pad(payTo)],
          fromBlock: toHex(fromBlock),
          toBlock: toHex(toBlock),
        },
      ],
    })

  async function logsBetween(first: bigint, last: bigint): Promise<readonly Log[]> {
    const found: Log[] = []
    let [from, size, successes, failures] = [first, BLOCKS_AT_ONCE_MAX, 0, 0]
    while (from <= last) {
      const to = from + size - 1n < last ? from + size - 1n : last
      try {
        found.push(...((await transfersIn(from, to)) as readonly Log[]))
      } catch (cause) {
        failures += 1
        await patience.pause(failures, cause, `blocks ${from} to ${to} of ${first} to ${last}`)
        if (size > 1n) size /= 2n
        successes = 0
        continue
      }
      failures = 0
      successes += 1
      from = to + 1n
      if (successes % SUCCESSES_TO_GROW === 0 && size < BLOCKS_AT_ONCE_MAX) size *= 2n
    }
    return found
  }

  return {
    network: network.network,
    payTo,

    async read({ sinceMs, untilMs }: ReportRange, marginMs: number): Promise<ReadTransfers> {
      const head = await patience.ask(() => node.getBlock({ blockTag: 'finalized' }))
      const at = (timeMs: number) => firstBlockFrom(timeMs, head.number)
      const [first, since, until] = [
        await at(sinceMs - marginMs),
        await at(sinceMs),
        await at(untilMs),
      ]
      const last = (await at(untilMs + marginMs)) - 1n
      read = { first, last }
      for (const log of await logsBetween(first, last)) {
        const block = BigInt(log.blockNumber)
        const { args } = decodeEventLog({ abi, eventName: 'Transfer', ...log })
        // Anybody can cause events of nothing, and what the payee sends itself is no income.
        if (args.value === 0n || isAddressEqual(args.from, payTo)) continue
        const transfer: PayeeTransfer = {
          transaction: log.transactionHash,
          payer: args.from,
          amount: args.value,
          isInPeriod: block >= since && block < until,
          isChannelPayout: isAddressEqual(args.from, channelContract),
        }
        logs.set(transfer, log)
      }
      return {
        transfers: [...logs.keys()],
        firstBlock: Number(first),
        lastBlock: Number(last),
        finalMs: Number(head.timestamp) * 1_000,
      }
    },

    /** The authorization of a transfer is the last event of the token before it. */
    async detailsOf(transfer: PayeeTransfer): Promise<TransferDetails> {
      const log = logs.get(transfer)
      if (log === undefined) throw new TypeError('a transfer of this chain has a log')
      const { timestamp } = await blockAt(BigInt(log.blockNumber))
      const receipt = await patience.ask(() =>
        node.getTransactionReceipt({ hash: log.transactionHash }),
      )
      const own = receipt.logs.filter(({ address }) => isAddressEqual(address, network.asset))
      const at = own.findIndex(({ logIndex }) => BigInt(logIndex) === BigInt(log.logIndex))
      const [event, payer, nonce] = own[at - 1]?.topics ?? []
      const isOwn = event === USED && payer === padded(transfer.payer as Address)
      return { atMs: Number(timestamp) * 1_000, nonce: isOwn ? (nonce ?? null) : null }
    },

    async fateOf({ transaction, payer, amount }: ReportedPayment): Promise<TransactionFate> {
      // A facilitator can report anything.
      if (transaction === null || !isHash(transaction) || !isAddress(payer)) return 'absent'
      const receipt = await patience.ask(() => receiptOf(node, transaction))
      if (receipt === null) return 'absent'
      if (receipt.status !== 'success') return 'failed'
      const [from, to] = [padded(payer), padded(payTo)]
      const pays = receipt.logs.some(
        ({ address, topics, data }) =>
          isAddressEqual(address, network.asset) &&
          topics[0] === TRANSFER &&
          topics[1] === from &&
          topics[2] === to &&
          BigInt(data) === amount,
      )
      if (!pays) return 'other'
      const { blockNumber } = receipt
      return blockNumber >= read.first && blockNumber <= read.last ? 'paid_within' : 'paid_outside'
    },
  }
}

function padded(address: Address): string {
  return pad(address).toLowerCase()
}

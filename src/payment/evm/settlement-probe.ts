import type { Address } from 'viem'
import { nodeReason, nodeSays } from '../node-error.ts'
import type { NodeClient } from './node-client.ts'

export type SettlementProbeOptions = {
  readonly node: NodeClient
  /** Pays the gas. */
  readonly gasAccount: Address
  /** Learns the time of the newest block, Unix milliseconds. @returns why that is no time of now, null where it is */
  readonly onBlockTime: (timeMs: number) => string | null
}

/** Of one transfer with an authorization. */
const SETTLEMENT_GAS = 100_000n

/**
 * Whether a settlement could be sent now: the node answers with a block of now, and the account that pays the gas has
 * enough for one. Two questions.
 */
export function settlementProbe({ node, gasAccount, onBlockTime }: SettlementProbeOptions) {
  /** The block that is being made: a chain that makes none without transactions has an old newest one. */
  let blockTag: 'pending' | 'latest' = 'pending'
  const newestBlock = async () => {
    try {
      return await node.getBlock({ blockTag })
    } catch (cause) {
      if (blockTag === 'latest' || !nodeSays(cause, /pending/i)) throw cause
      blockTag = 'latest'
      return node.getBlock({ blockTag })
    }
  }
  return async (): Promise<string | null> => {
    try {
      const [{ timestamp, baseFeePerGas }, wei] = await Promise.all([
        newestBlock(),
        node.getBalance({ address: gasAccount }),
      ])
      const needWei = SETTLEMENT_GAS * (baseFeePerGas ?? 0n)
      if (wei === 0n || wei < needWei)
        return `the account ${gasAccount} has ${wei} wei, and one settlement takes ${needWei}`
      return onBlockTime(Number(timestamp) * 1_000)
    } catch (cause) {
      return nodeReason(cause)
    }
  }
}

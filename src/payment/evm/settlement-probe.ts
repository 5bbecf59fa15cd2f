import type { Address } from 'viem'
import { nodeReason, nodeSays } from '../node-error.ts'
import type { NodeClient } from './node-client.ts'

export type SettlementProbeOptions = {
  readonly node: NodeClient
  /** Pays the gas. */
  readonly gasAccount: Address
  /**
   * Gets the time of the newest block, Unix ms.
   * @returns why that time is wrong, or null
   */
  readonly onBlockTime: (timeMs: number) => string | null
}

/** Gas of one transfer with an authorization. */
const SETTLEMENT_GAS = 100_000n

/**
 * Tests with two requests whether a settlement could be sent now: the newest block is recent and the account can pay
 * the gas.
 */
export function settlementProbe({ node, gasAccount, onBlockTime }: SettlementProbeOptions) {
  /** The pending block: a chain that makes blocks on demand has an old latest block. */
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
        return `account ${gasAccount} has ${wei} wei; one settlement costs ${needWei}`
      return onBlockTime(Number(timestamp) * 1_000)
    } catch (cause) {
      return nodeReason(cause)
    }
  }
}

import type { Chain, PublicClient, Transport } from 'viem'
import { createPublicClient, defineChain, http } from 'viem'
import type { PaymentNetwork } from './networks.ts'

/** Client of a node on one network. */
export type NodeClient = PublicClient<Transport, Chain>

/** Below the settlement time-out, so that pending transactions are known. */
const RPC_MS_MAX = 8_000

/** Never retries: a transaction that is sent twice reports success as an error. */
export function nodeClient({ chainId, legacyName }: PaymentNetwork, rpcUrl: string): NodeClient {
  return createPublicClient({
    chain: defineChain({
      id: chainId,
      name: legacyName,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    }),
    transport: http(rpcUrl, { timeout: RPC_MS_MAX, retryCount: 0 }),
  })
}

import type { Chain, PublicClient, Transport } from 'viem'
import { createPublicClient, defineChain, http } from 'viem'
import type { PaymentNetwork } from './networks.ts'

/** A node of the chain that a network names. */
export type NodeClient = PublicClient<Transport, Chain>

/** Under the bound of those who wait for payments, so that they learn what is pending. */
const RPC_MS_MAX = 8_000

/** Talks to a node. It never asks twice: a broadcast that was sent twice reports its success as an error. */
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

/**
 * A public node of each network (CAIP-2), as its operator publishes it. Only asked for payment outcomes, where a hosted
 * facilitator settles and no node is configured.
 */
export const publicNodes: Readonly<Record<string, string>> = {
  'eip155:8453': 'https://mainnet.base.org',
  'eip155:84532': 'https://sepolia.base.org',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'https://api.mainnet-beta.solana.com',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': 'https://api.devnet.solana.com',
}

/** A network on which a wallet of a browser can pay, or on which a receipt was settled. */
type KnownNetwork = {
  readonly name: string
  /** Address of a transaction in a block explorer. */
  readonly explorerOf: (transaction: string) => string
  /** What a wallet needs to add the network (EIP-3085); undefined where no wallet of a browser pays. */
  readonly chain?: WalletChain
}

type WalletChain = {
  readonly chainId: `0x${string}`
  readonly chainName: string
  readonly nativeCurrency: {
    readonly name: string
    readonly symbol: string
    readonly decimals: number
  }
  readonly rpcUrls: readonly string[]
  readonly blockExplorerUrls: readonly string[]
}

const ether = { name: 'Ether', symbol: 'ETH', decimals: 18 } as const

/** By CAIP-2 name. */
const networks: Readonly<Record<string, KnownNetwork>> = {
  'eip155:8453': evm('0x2105', 'Base', 'https://mainnet.base.org', 'https://basescan.org'),
  'eip155:84532': evm(
    '0x14a34',
    'Base Sepolia',
    'https://sepolia.base.org',
    'https://sepolia.basescan.org',
  ),
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': {
    name: 'Solana',
    explorerOf: (transaction) => `https://explorer.solana.com/tx/${transaction}`,
  },
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': {
    name: 'Solana devnet',
    explorerOf: (transaction) => `https://explorer.solana.com/tx/${transaction}?cluster=devnet`,
  },
}

/** @param network CAIP-2. @returns null for an unknown one */
export function networkOf(network: string): KnownNetwork | null {
  return networks[network] ?? null
}

/** @param network CAIP-2. @returns the same for an unknown one */
export function networkName(network: string): string {
  return networkOf(network)?.name ?? network
}

function evm(chainId: `0x${string}`, name: string, rpcUrl: string, explorer: string): KnownNetwork {
  return {
    name,
    explorerOf: (transaction) => `${explorer}/tx/${transaction}`,
    chain: {
      ...{ chainId, chainName: name, nativeCurrency: ether },
      rpcUrls: [rpcUrl],
      blockExplorerUrls: [explorer],
    },
  }
}

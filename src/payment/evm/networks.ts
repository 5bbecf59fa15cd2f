import type { Address } from 'viem'

/** A chain on which USDC is taken, with everything that a signature and a quote must name. */
export type PaymentNetwork = {
  /** CAIP-2, as x402 version 2 writes it. */
  readonly network: `eip155:${number}`
  /** As x402 version 1 writes it. */
  readonly legacyName: string
  readonly chainId: number
  readonly asset: Address
  /** The token's EIP-712 domain. It differs between Base and its test net: see the name. */
  readonly domain: { readonly name: string; readonly version: string }
}

export const base: PaymentNetwork = {
  network: 'eip155:8453',
  legacyName: 'base',
  chainId: 8453,
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  domain: { name: 'USD Coin', version: '2' },
}

export const baseSepolia: PaymentNetwork = {
  network: 'eip155:84532',
  legacyName: 'base-sepolia',
  chainId: 84532,
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  domain: { name: 'USDC', version: '2' },
}

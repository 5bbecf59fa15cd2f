import type { Address } from 'viem'

/** A chain with USDC, with the values that signatures and quotes name. */
export type PaymentNetwork = {
  /** CAIP-2, as in x402 version 2. */
  readonly network: `eip155:${number}`
  /** Name in x402 version 1. */
  readonly legacyName: string
  readonly chainId: number
  readonly asset: Address
  /** EIP-712 domain of the token. Its name differs between Base and Base Sepolia. */
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

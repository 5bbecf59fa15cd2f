import type { Address } from '@solana/addresses'
import { address } from '@solana/addresses'

/** A Solana cluster with USDC. */
export type SolanaNetwork = {
  /** CAIP-2, as in x402 version 2: the first 32 characters of the genesis hash. */
  readonly network: `solana:${string}`
  /** Name in x402 version 1. */
  readonly legacyName: string
  /** The mint of USDC, of the classic token program with six decimals. */
  readonly asset: Address
}

export const solanaMainnet: SolanaNetwork = {
  network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  legacyName: 'solana',
  asset: address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
}

export const solanaDevnet: SolanaNetwork = {
  network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  legacyName: 'solana-devnet',
  asset: address('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'),
}

export const USDC_DECIMALS = 6

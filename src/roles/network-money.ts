import { fixedDecimal } from '../domain/fixed-decimal.ts'

const USDC_DECIMALS = 6
const [ETHER, SOL] = [
  { unit: 'ETH', decimals: 18 },
  { unit: 'SOL', decimals: 9 },
] as const

/** Exact, with six decimals. */
export function usdc(atomic: bigint): string {
  return fixedDecimal(atomic, USDC_DECIMALS)
}

/** The coin in which a network takes its fees. */
export function feeUnit(network: string): 'ETH' | 'SOL' {
  return feeCoin(network).unit
}

/** @param fee in atoms: wei or lamports */
export function feeDecimal(network: string, fee: bigint): string {
  return fixedDecimal(fee, feeCoin(network).decimals)
}

/**
 * A fee in USDC atoms, rounded up.
 * @param price of the coin, USDC atoms
 */
export function feeInUsdc(network: string, fee: bigint, price: bigint): bigint {
  const unit = 10n ** BigInt(feeCoin(network).decimals)
  return (fee * price + unit - 1n) / unit
}

function feeCoin(network: string) {
  return network.startsWith('solana:') ? SOL : ETHER
}

import type { CexDexReading } from './cex-dex-reading.ts'

export const divergenceDirections = ['cex_premium', 'dex_premium', 'aligned'] as const
type DivergenceDirection = (typeof divergenceDirections)[number]

/** The higher side beyond the noise. */
export function divergenceDirection({
  divergenceBps,
  noiseBps,
}: Pick<CexDexReading, 'divergenceBps' | 'noiseBps'>): DivergenceDirection {
  if (Math.abs(divergenceBps) <= noiseBps) return 'aligned'
  return divergenceBps > 0 ? 'cex_premium' : 'dex_premium'
}

import { bps } from '../render/significance.ts'
import type { CexDexReading } from './cex-dex-reading.ts'

export const divergenceDirections = ['cex_premium', 'dex_premium', 'aligned'] as const
type DivergenceDirection = (typeof divergenceDirections)[number]

/** The higher side beyond the noise, both as printed. */
export function divergenceDirection({
  divergenceBps,
  noiseBps,
}: Pick<CexDexReading, 'divergenceBps' | 'noiseBps'>): DivergenceDirection {
  if (bps(Math.abs(divergenceBps)) <= bps(noiseBps)) return 'aligned'
  return divergenceBps > 0 ? 'cex_premium' : 'dex_premium'
}

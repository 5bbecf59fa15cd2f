import type { PegPrice } from '../../external/depeg/peg-price.ts'
import type { PegStatusName } from '../../external/depeg/peg-status.ts'
import { bps } from '../../render/significance.ts'

const meanings: Readonly<Record<PegStatusName, string>> = {
  HEALTHY: 'The peg holds',
  ELEVATED: 'The peg deviates more than usual',
  WARNING: 'The peg is under pressure',
  CRITICAL: 'The peg is broken',
}

/** Status, deviation, and whether independent source classes confirm it. */
export function pegInterpretation(status: PegStatusName, peg: PegPrice): string {
  const distanceBps = bps(Math.abs(peg.deviationBps))
  const side = peg.deviationBps < 0 ? 'below' : 'above'
  const where = `USDC is ${distanceBps} bps ${side} one dollar`
  const witness = peg.isConfirmed
    ? 'confirmed by independent sources'
    : 'not confirmed by a second source class'
  return `${meanings[status]}: ${where}, ${witness}.`
}

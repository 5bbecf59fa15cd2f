import type { PegPrice } from '../../external/depeg/peg-price.ts'
import type { PegStatusName } from '../../external/depeg/peg-status.ts'

const meanings: Readonly<Record<PegStatusName, string>> = {
  HEALTHY: 'The peg holds',
  ELEVATED: 'The peg is off by more than usual',
  WARNING: 'The peg is under pressure',
  CRITICAL: 'The peg is broken',
}

/** A status in words: how far, which way, and whether more than one class of sources says so. */
export function interpretationOf(status: PegStatusName, peg: PegPrice): string {
  const distanceBps = Math.abs(peg.deviationBps).toFixed(1)
  const side = peg.deviationBps < 0 ? 'below' : 'above'
  const where = `USDC is ${distanceBps} bps ${side} a dollar`
  const witness = peg.isConfirmed
    ? 'borne out by independent sources'
    : 'not borne out by a second class of sources'
  return `${meanings[status]}: ${where}, ${witness}.`
}

import type { BasisReading } from '../../external/basis-reading.ts'
import { bps } from '../../render/significance.ts'
import type { WindowMean } from './window-mean.ts'

/** Farther apart, the two prices are not of one moment. */
export const SKEW_MS_MAX = 5_000
const SIGNIFICANT_BPS = 1
const ALIGNED_BPS = 5
const MILD_BPS = 10
const CONTRARIAN_BPS = 50
const [STRETCHED_Z, DISLOCATED_Z] = [2, 4]

type Judged = Pick<BasisReading, 'basisBps' | 'band'>

/** The basis that is more than noise; null where there is none. */
export type SignificantBasis = number | null

/**
 * The basis of now where it is beyond its own band. Else the mean of the last hour where that is beyond its band,
 * and the basis of now does not contradict it.
 */
export function significantBasis(
  { basisBps, band: { confidenceBps, totalBps } }: Judged,
  { meanBps, bandBps }: WindowMean,
): SignificantBasis {
  if (Math.abs(basisBps) > Math.max(totalBps, SIGNIFICANT_BPS)) return basisBps
  // A confidence may be one and the same error all hour long: readings do not narrow it.
  const isMeanKnown = Math.abs(meanBps) > Math.max(confidenceBps + bandBps, SIGNIFICANT_BPS)
  return isMeanKnown && Math.abs(basisBps - meanBps) <= totalBps ? meanBps : null
}

export function directionOf(significantBps: SignificantBasis) {
  if (significantBps === null || Math.abs(significantBps) <= ALIGNED_BPS) return 'aligned'
  return significantBps > 0 ? 'venue_premium' : 'venue_discount'
}

/** A gap within the band is none, however wide the band is. */
export function signalOf(significantBps: SignificantBasis) {
  const away = Math.abs(significantBps ?? 0)
  if (significantBps === null || away < MILD_BPS) return 'neutral'
  if (away > CONTRARIAN_BPS) return significantBps > 0 ? 'bearish_contrarian' : 'bullish_contrarian'
  return significantBps > 0 ? 'mildly_bullish' : 'mildly_bearish'
}

/** @param zscore in robust deviations of the day; NaN for unknown */
export function regimeOf(significantBps: SignificantBasis, zscore: number) {
  if (significantBps === null) return 'normal'
  const isFar = Math.abs(significantBps) > CONTRARIAN_BPS
  if (isFar || Math.abs(zscore) > DISLOCATED_Z) return 'dislocated'
  return Math.abs(zscore) > STRETCHED_Z ? 'stretched' : 'normal'
}

export function interpretationOf(
  coin: string,
  reading: BasisReading,
  significantBps: SignificantBasis,
): string {
  const { basisBps, premiumBps, band, oracle } = reading
  const stands = directionOf(significantBps) === 'aligned' ? ', aligned with it' : ''
  const isBeyond = significantBps === basisBps
  const byMean =
    significantBps === null || isBeyond
      ? ''
      : `; the mean of the last hour, ${beside(significantBps)} it, is significant`
  return (
    `The venue's oracle of ${coin} stands ${beside(basisBps)} ${oracle.network}${stands},` +
    ` ${isBeyond ? 'beyond' : 'within'} the ${bps(band.totalBps)} bps of noise${byMean};` +
    ` the perpetual trades ${beside(premiumBps)} the venue's oracle.`
  )
}

function beside(valueBps: number): string {
  return `${bps(Math.abs(valueBps))} bps ${valueBps < 0 ? 'below' : 'above'}`
}

export function notesOf(reading: BasisReading, significantBps: SignificantBasis): string[] {
  const { oracle, choice, skewMs, usdt } = reading
  const notes: string[] = []
  if (significantBps !== null)
    notes.push('Both sides follow the same exchanges: a lasting gap is a fault of data first.')
  if (oracle.resolutionBps > 0)
    notes.push(
      `One price of ${oracle.network} may be off by ${bps(oracle.resolutionBps)} bps before it publishes again.`,
    )
  if (choice.weakness === 'late') notes.push(`${oracle.network} is late and nobody stands in.`)
  if (choice.weakness === 'wide_confidence')
    notes.push(`${oracle.network} is unusually unsure and nobody stands in.`)
  if (skewMs > SKEW_MS_MAX) notes.push('The two prices are more than 5 s apart.')
  if (usdt === null) notes.push('The price of USDT is unknown: no correction for it.')
  return notes
}

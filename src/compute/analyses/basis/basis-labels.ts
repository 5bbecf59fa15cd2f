import type { BasisReading } from '../../external/basis-reading.ts'
import { triggerOf } from '../../external/source-error.ts'
import { bps, price } from '../../render/significance.ts'
import type { WindowMean } from './window-mean.ts'

/** Two prices further apart in time are not comparable. */
export const SKEW_MS_MAX = 5_000
const SIGNIFICANT_BPS = 1
const ALIGNED_BPS = 5
const MILD_BPS = 10
const CONTRARIAN_BPS = 50
const [STRETCHED_Z, DISLOCATED_Z] = [2, 4]

type Judged = Pick<BasisReading, 'basisBps' | 'band'>

/** The basis beyond its noise band; null if it is within. */
export type SignificantBasis = number | null

/**
 * All figures are compared as printed, so that a reader comes to the same label.
 * The present basis if it exceeds its band, else the mean of the last hour if that exceeds its own band and the
 * present basis is consistent with it.
 */
export function significantBasis(
  { basisBps, band: { confidenceBps, totalBps } }: Judged,
  { meanBps, bandBps }: WindowMean,
): SignificantBasis {
  if (isBeyond(basisBps, totalBps)) return basisBps
  // A confidence interval may be one constant error for the whole hour, so averaging does not narrow it.
  const isMeanKnown = isBeyond(meanBps, confidenceBps + bandBps)
  const apartBps = bps(Math.abs(bps(basisBps) - bps(meanBps)))
  return isMeanKnown && apartBps <= bps(totalBps) ? meanBps : null
}

function isBeyond(valueBps: number, bandBps: number): boolean {
  return bps(Math.abs(valueBps)) > Math.max(bps(bandBps), SIGNIFICANT_BPS)
}

export function basisDirection(significantBps: SignificantBasis) {
  if (significantBps === null || bps(Math.abs(significantBps)) <= ALIGNED_BPS) return 'aligned'
  return significantBps > 0 ? 'venue_premium' : 'venue_discount'
}

/** A basis within its noise band gives no signal, however large it is. */
export function basisSignal(significantBps: SignificantBasis) {
  const away = bps(Math.abs(significantBps ?? 0))
  if (significantBps === null || away < MILD_BPS) return 'neutral'
  if (away > CONTRARIAN_BPS) return significantBps > 0 ? 'bearish_contrarian' : 'bullish_contrarian'
  return significantBps > 0 ? 'mildly_bullish' : 'mildly_bearish'
}

/** @param zscore robust z-score over 24 h, as printed; null if unknown */
export function basisRegime(significantBps: SignificantBasis, zscore: number | null) {
  if (significantBps === null) return 'normal'
  const isFar = bps(Math.abs(significantBps)) > CONTRARIAN_BPS
  const away = Math.abs(zscore ?? 0)
  if (isFar || away > DISLOCATED_Z) return 'dislocated'
  return away > STRETCHED_Z ? 'stretched' : 'normal'
}

export function basisInterpretation(
  coin: string,
  reading: BasisReading,
  significantBps: SignificantBasis,
): string {
  const { basisBps, premiumBps, band, oracle } = reading
  const isSignificant = significantBps === basisBps
  const byMean =
    significantBps === null || isSignificant
      ? ''
      : `; the mean of the last hour, ${distance(significantBps)} it, is significant`
  return (
    `The venue oracle price of ${coin} is ${distance(basisBps)} ${oracle.network},` +
    ` ${bps(Math.abs(basisBps)) > bps(band.totalBps) ? 'beyond' : 'within'} the noise band of ${bps(band.totalBps)} bps${byMean};` +
    ` the mark price is ${distance(premiumBps)} the venue oracle price.`
  )
}

function causeOf({ basisBps, usdt, usdAdjustedBps, band: { totalBps } }: BasisReading): string {
  const isGone = isBeyond(basisBps, totalBps) && !isBeyond(usdAdjustedBps, totalBps)
  return usdt !== null && isGone
    ? `The venue oracle price follows USDT, which is at ${price(usdt.priceUsd)} USD; adjusted for that, the basis is ${bps(usdAdjustedBps)} bps.`
    : 'Both oracles follow the same exchanges; a persistent gap is more likely a data fault than a price difference.'
}

function distance(valueBps: number): string {
  return `${bps(Math.abs(valueBps))} bps ${valueBps < 0 ? 'below' : 'above'}`
}

export function basisNotes(reading: BasisReading, significantBps: SignificantBasis): string[] {
  const { oracle, choice, skewMs, usdt } = reading
  const notes: string[] = []
  if (significantBps !== null) notes.push(causeOf(reading))
  const { triggerBps } = triggerOf(oracle)
  if (triggerBps > 0)
    notes.push(
      `Between two publications of ${oracle.network} the price may move by up to ${bps(triggerBps)} bps.`,
    )
  if (choice.weakness === 'late')
    notes.push(`${oracle.network} is late and no other oracle network is available.`)
  if (choice.weakness === 'wide_confidence')
    notes.push(
      `The confidence interval of ${oracle.network} is unusually wide and no other oracle network is available.`,
    )
  if (skewMs > SKEW_MS_MAX) notes.push('The two prices are more than 5 s apart in time.')
  if (usdt === null) notes.push('The price of USDT is unknown; basis_usd_adjusted_bps is null.')
  return notes
}

import type { OracleNetwork, OraclePriceEvent } from '../../domain/outside.ts'
import { isSameAsset } from './exchange-reference.ts'
import { apartBps, median } from './median.ts'
import { oracleAgeMsMax, oracleHandoverMs, oracleLateMs, publishedAtMs } from './oracle-age.ts'

/** One network's word about an asset: that of its finest feed. */
export type OracleReading = {
  readonly network: OracleNetwork
  readonly place: string
  readonly asset: string
  readonly priceUsd: number
  readonly confidenceUsd: number | null
  readonly confidenceBps: number | null
  readonly ema: OraclePriceEvent['ema']
  readonly resolutionBps: number
  readonly heartbeatMs: number
  /** When the network stood by it, by our clock. */
  readonly publishedAtMs: number
  readonly ageMs: number
  /** No answer may rest on it when it is older. */
  readonly ageMsMax: number
}

/**
 * Why a network of higher rank is not used. `probation`: it was one of the others a moment ago.
 */
export type OracleDemotion =
  | 'too_old'
  | 'late'
  | 'wide_confidence'
  | 'outvoted'
  | 'wrong_scale'
  | 'probation'

export type OracleChoice = {
  /** null where no network vouches for a price. */
  readonly best: OracleReading | null
  /** Why the best one is not as good as it should be: `late` or `wide_confidence`, for want of another. */
  readonly weakness: OracleDemotion | null
  readonly demoted: readonly { readonly network: OracleNetwork; readonly reason: OracleDemotion }[]
  /** Every network's word, in order of rank, whatever it is worth. */
  readonly readings: readonly OracleReading[]
}

/** What else is known when a choice is made. */
export type OracleEvidence = {
  readonly nowMs: number
  /** By the venue, against mix-ups of assets; NaN for unknown. */
  readonly expectedUsd: number
  /** One of each exchange that can be used, none where they have no reference: their median has a vote. */
  readonly exchangeMidsUsd: readonly number[]
  /** Last instant at which a network was found unfit; NaN for never. */
  readonly unfitAtMs: (network: OracleNetwork) => number
}

/** By what they stream and how finely they publish. */
const RANK = [
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
  'redstone',
  'chainlink',
] as const satisfies OracleNetwork[]

/** A network that was unfit is trusted again after so long without a fault. */
export const PROBATION_MS = 30_000
const CONFIDENCE_BPS_MAX = 100
/** Several times what the network usually says is unusual, from so many bps on. */
const CONFIDENCE_TIMES_MAX = 4
const CONFIDENCE_BPS_NOTABLE = 20
/** Honest prices of one asset differ by this, beside what each says about itself. */
const DISAGREEMENT_BPS = 25
/** So many exchanges that say the same are no error of one. */
const EXCHANGES_AGREED_MIN = 3
/** Of the asset, one deviation a root second: how much older words may be off. */
const DRIFT_BPS_PER_ROOT_SECOND = 1.5

/**
 * The network to believe: the first by rank that is fit, and has been for a while. Where none is, the
 * first one that is late or unsure, but not yet useless, stands in; one that is about to be useless last.
 */
export function chooseOracle(
  feeds: readonly OraclePriceEvent[],
  evidence: OracleEvidence,
): OracleChoice {
  const readings = readingsOf(feeds, evidence.nowMs)
  const judged = judge(readings, evidence)
  const best =
    judged.find(({ reason }) => reason === null) ??
    judged.find(({ reason }) => reason === 'probation') ??
    judged.find((one) => isWeak(one) && one.reading.ageMs <= oracleHandoverMs(one.reading)) ??
    judged.find(isWeak)
  const above = best === undefined ? judged : judged.slice(0, judged.indexOf(best))
  return {
    best: best?.reading ?? null,
    weakness: best !== undefined && isWeak(best) ? best.reason : null,
    demoted: above.flatMap(({ reading, reason }) =>
      reason === null ? [] : [{ network: reading.network, reason }],
    ),
    readings,
  }
}

/** Networks that are unfit now, whatever they were before. */
export function unfitNow(
  feeds: readonly OraclePriceEvent[],
  evidence: Omit<OracleEvidence, 'unfitAtMs'>,
): readonly OracleNetwork[] {
  const judged = judge(readingsOf(feeds, evidence.nowMs), { ...evidence, unfitAtMs: never })
  return judged.flatMap(({ reading, reason }) => (reason === null ? [] : [reading.network]))
}

function never(): number {
  return Number.NaN
}

type Judged = { readonly reading: OracleReading; readonly reason: OracleDemotion | null }

function isWeak({ reason }: Judged): boolean {
  return reason === 'late' || reason === 'wide_confidence'
}

function judge(readings: readonly OracleReading[], evidence: OracleEvidence): readonly Judged[] {
  const alone = readings.map((reading) => ({ reading, reason: faultOf(reading, evidence) }))
  const voters = alone.filter(({ reason }) => reason === null).map(({ reading }) => reading)
  return alone.map(({ reading, reason }) => {
    if (reason !== null) return { reading, reason }
    if (isOutvoted(reading, voters, evidence.exchangeMidsUsd))
      return { reading, reason: 'outvoted' }
    const cleanMs = evidence.nowMs - evidence.unfitAtMs(reading.network)
    return { reading, reason: cleanMs < PROBATION_MS ? 'probation' : null }
  })
}

/** What is wrong with it by itself. */
function faultOf(reading: OracleReading, evidence: OracleEvidence): OracleDemotion | null {
  const { ageMs, ageMsMax, priceUsd, confidenceBps } = reading
  if (!(priceUsd > 0 && priceUsd < Number.POSITIVE_INFINITY)) return 'wrong_scale'
  if (!isSameAsset(priceUsd, evidence.expectedUsd)) return 'wrong_scale'
  if (ageMs > ageMsMax) return 'too_old'
  if (ageMs > oracleLateMs(reading)) return 'late'
  if (confidenceBps === null) return null
  return confidenceBps > confidenceBpsMax(reading.ema) ? 'wide_confidence' : null
}

function confidenceBpsMax(ema: OracleReading['ema']): number {
  if (ema === null || !(ema.priceUsd > 0)) return CONFIDENCE_BPS_MAX
  const usualBps = (ema.confidenceUsd / ema.priceUsd) * 10_000
  const unusualBps = Math.max(CONFIDENCE_BPS_NOTABLE, CONFIDENCE_TIMES_MAX * usualBps)
  return Math.min(CONFIDENCE_BPS_MAX, unusualBps)
}

/**
 * Two others agree with each other, and neither agrees with this one; or exchanges that agree with each
 * other do not with it, and are more than the networks that do.
 */
function isOutvoted(
  reading: OracleReading,
  voters: readonly OracleReading[],
  exchangeMidsUsd: readonly number[],
): boolean {
  const own = opinionOf(reading)
  const others = voters.filter((other) => other !== reading).map(opinionOf)
  const against = others.filter((other) => !doAgree(own, other))
  const networks = 1 + others.length - against.length
  const exchanges = { priceUsd: median(exchangeMidsUsd), bandBps: 0 }
  if (exchangeMidsUsd.length > 0 && !doAgree(own, exchanges)) {
    if (agreed(exchangeMidsUsd) > networks) return true
    against.push(exchanges)
  }
  return against.some((one, at) => against.slice(at + 1).some((other) => doAgree(one, other)))
}

type Opinion = { readonly priceUsd: number; readonly bandBps: number }

function opinionOf(reading: OracleReading): Opinion {
  return { priceUsd: reading.priceUsd, bandBps: ownBandBps(reading) }
}

/** Number of exchanges that stand where the middle one does; 0 where they are too few to be independent. */
function agreed(midsUsd: readonly number[]): number {
  const middleUsd = median(midsUsd)
  const near = midsUsd.filter((midUsd) => apartBps(midUsd, middleUsd) <= DISAGREEMENT_BPS)
  return near.length >= EXCHANGES_AGREED_MIN ? near.length : 0
}

function doAgree(one: Opinion, other: Opinion): boolean {
  const bandBps = DISAGREEMENT_BPS + one.bandBps + other.bandBps
  return apartBps(one.priceUsd, other.priceUsd) <= bandBps
}

/** What a reading says about itself, and what may have happened since: a push feed moves beyond its trigger. */
function ownBandBps({ confidenceBps, resolutionBps, ageMs }: OracleReading): number {
  const driftBps = DRIFT_BPS_PER_ROOT_SECOND * Math.sqrt(ageMs / 1_000)
  // A feed that publishes on a move is no farther away than that move.
  const sinceBps = resolutionBps > 0 ? resolutionBps : driftBps
  return (confidenceBps ?? 0) + sinceBps
}

/** One reading of each network, by rank. */
function readingsOf(feeds: readonly OraclePriceEvent[], nowMs: number): readonly OracleReading[] {
  return RANK.flatMap((network) => {
    const [first, ...rest] = feeds.filter((feed) => feed.network === network)
    if (first === undefined) return []
    const best = rest.reduce((known, feed) => (isBetter(feed, known, nowMs) ? feed : known), first)
    return [readingOf(best, nowMs)]
  })
}

/** Alive before late, then the finer one, then the younger one. */
function isBetter(feed: OraclePriceEvent, known: OraclePriceEvent, nowMs: number): boolean {
  const isLate = (one: OraclePriceEvent) => nowMs - publishedAtMs(one) > oracleLateMs(one)
  if (isLate(feed) !== isLate(known)) return isLate(known)
  if (feed.resolutionBps !== known.resolutionBps) return feed.resolutionBps < known.resolutionBps
  return publishedAtMs(feed) > publishedAtMs(known)
}

function readingOf(feed: OraclePriceEvent, nowMs: number): OracleReading {
  const { network, place, asset, priceUsd, confidenceUsd, ema, resolutionBps, heartbeatMs } = feed
  const atMs = publishedAtMs(feed)
  return {
    network,
    place,
    asset,
    priceUsd,
    confidenceUsd,
    confidenceBps: confidenceUsd === null ? null : (confidenceUsd / priceUsd) * 10_000,
    ema,
    resolutionBps,
    heartbeatMs,
    publishedAtMs: atMs,
    ageMs: Math.max(0, nowMs - atMs),
    ageMsMax: oracleAgeMsMax(feed),
  }
}

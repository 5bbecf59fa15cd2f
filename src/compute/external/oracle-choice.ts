import type { OracleNetwork, OraclePriceEvent } from '../../domain/external.ts'
import { apartBps, median } from '../statistics/median.ts'
import { isSameAsset } from './exchange-reference.ts'
import { oracleAgeMsMax, oracleHandoverMs, oracleLateMs, publishedAtMs } from './oracle-age.ts'
import { expectedErrorBps, triggerOf } from './source-error.ts'

/** One network's price of an asset: that of its feed with the smallest expected error. */
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
  /** When it was read last, changed or not. */
  readonly receivedAtMs: number
  readonly ageMs: number
  /** No answer may rest on it when it is older. */
  readonly ageMsMax: number
  /** One deviation of its error now, bps. */
  readonly expectedErrorBps: number
}

/**
 * Why a network is not used. `probation`: it was one of the others a moment ago. `larger_error`: nothing is wrong
 * with it, and another is expected to be nearer.
 */
export type OracleDemotion =
  | 'too_old'
  | 'late'
  | 'wide_confidence'
  | 'outvoted'
  | 'wrong_scale'
  | 'probation'
  | 'larger_error'

export type OracleChoice = {
  /** null where no network vouches for a price. */
  readonly best: OracleReading | null
  /** Why the best one is not as good as it should be: `late` or `wide_confidence`, for want of another. */
  readonly weakness: OracleDemotion | null
  readonly demoted: readonly { readonly network: OracleNetwork; readonly reason: OracleDemotion }[]
  /** Those that nothing is wrong with, the best among them. */
  readonly fit: readonly OracleReading[]
  /** Every network's price, in a fixed order, fit or not. */
  readonly readings: readonly OracleReading[]
}

/** What else is known when a choice is made. */
export type OracleEvidence = {
  readonly nowMs: number
  /** By the venue, against mix-ups of assets; NaN for unknown. */
  readonly expectedUsd: number
  /** One of each exchange that can be used, none where they have no reference: their median has a vote. */
  readonly exchangeMidsUsd: readonly number[]
  /** One deviation of the asset's price in one second, bps. */
  readonly driftBps: number
  /** Last instant at which a network was found unfit; NaN for never. */
  readonly unfitAtMs: (network: OracleNetwork) => number
}

/** The order in which they are listed; it decides only between equal expected errors. */
const ORDER = [
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
/** Of a network that states no confidence: what Pyth states of BTC in `pyth-hermes-samples`. */
const UNSTATED_BPS = 5
/**
 * Pyth's confidence is how far its publishers' markets are apart. RedStone's nodes run one program, and Chainlink
 * states none, so that theirs cannot be smaller.
 */
const MEASURES_MARKETS: ReadonlySet<OracleNetwork> = new Set([
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
])

/**
 * The network with the smallest expected error of those that are fit, and have been for a while. Where none is,
 * the best one that is late or unsure, but not yet too old, stands in; one that is about to be too old last.
 */
export function chooseOracle(
  feeds: readonly OraclePriceEvent[],
  evidence: OracleEvidence,
): OracleChoice {
  const readings = readingsOf(feeds, evidence)
  const judged = judge(readings, evidence)
  const fit = judged.filter(({ reason }) => reason === null)
  const best =
    nearest(fit) ??
    nearest(judged.filter(({ reason }) => reason === 'probation')) ??
    nearest(
      judged.filter((one) => isWeak(one) && one.reading.ageMs <= oracleHandoverMs(one.reading)),
    ) ??
    nearest(judged.filter(isWeak))
  return {
    best: best?.reading ?? null,
    weakness: best !== undefined && isWeak(best) ? best.reason : null,
    demoted: judged
      .filter((one) => one !== best)
      .map(({ reading, reason }) => ({
        network: reading.network,
        reason: reason ?? 'larger_error',
      })),
    fit: fit.map(({ reading }) => reading),
    readings,
  }
}

/** An error that is larger by this is never the smallest one by a change of ages alone. */
const COMPARABLE_TIMES = 2

/** The best reading, and those whose expected error is at most twice as large: any of them may be the next best. */
export function comparableOracles({ best, fit }: OracleChoice): readonly OracleReading[] {
  if (best === null) return []
  const limitBps = COMPARABLE_TIMES * best.expectedErrorBps
  return [best, ...fit.filter((one) => one !== best && one.expectedErrorBps <= limitBps)]
}

/** Networks that are unfit now, whatever they were before. */
export function unfitNow(
  feeds: readonly OraclePriceEvent[],
  evidence: Omit<OracleEvidence, 'unfitAtMs'>,
): readonly OracleNetwork[] {
  const judged = judge(readingsOf(feeds, evidence), { ...evidence, unfitAtMs: never })
  return judged.flatMap(({ reading, reason }) => (reason === null ? [] : [reading.network]))
}

function never(): number {
  return Number.NaN
}

type Judged = { readonly reading: OracleReading; readonly reason: OracleDemotion | null }

function nearest(judged: readonly Judged[]): Judged | undefined {
  return judged.toSorted((a, b) => a.reading.expectedErrorBps - b.reading.expectedErrorBps)[0]
}

function isWeak({ reason }: Judged): boolean {
  return reason === 'late' || reason === 'wide_confidence'
}

function judge(readings: readonly OracleReading[], evidence: OracleEvidence): readonly Judged[] {
  const alone = readings.map((reading) => ({ reading, reason: faultOf(reading, evidence) }))
  const voters = alone.filter(({ reason }) => reason === null).map(({ reading }) => reading)
  return alone.map(({ reading, reason }) => {
    if (reason !== null) return { reading, reason }
    if (isOutvoted(reading, voters, evidence)) return { reading, reason: 'outvoted' }
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
  { exchangeMidsUsd, driftBps }: OracleEvidence,
): boolean {
  const own = opinionOf(reading, driftBps)
  const others = voters
    .filter((other) => other !== reading)
    .map((other) => opinionOf(other, driftBps))
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

function opinionOf(reading: OracleReading, driftBps: number): Opinion {
  return { priceUsd: reading.priceUsd, bandBps: ownBandBps(reading, driftBps) }
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
function ownBandBps(
  { confidenceBps, resolutionBps, ageMs }: OracleReading,
  driftBps: number,
): number {
  // A feed that publishes on a move is no farther away than that move.
  const sinceBps = resolutionBps > 0 ? resolutionBps : driftBps * Math.sqrt(ageMs / 1_000)
  return (confidenceBps ?? 0) + sinceBps
}

/** One reading of each network. */
function readingsOf(
  feeds: readonly OraclePriceEvent[],
  evidence: Pick<OracleEvidence, 'nowMs' | 'driftBps'>,
): readonly OracleReading[] {
  const marketBps = marketBpsOf(feeds, evidence.nowMs)
  return ORDER.flatMap((network) => {
    const [first, ...others] = feeds
      .filter((feed) => feed.network === network)
      .map((feed) => readingOf(feed, marketBps, evidence))
    if (first === undefined) return []
    return [others.reduce((known, other) => (isBetter(other, known) ? other : known), first)]
  })
}

/** What no network can know better: how far the markets are apart by the surest feed that measures it and is not late. */
function marketBpsOf(feeds: readonly OraclePriceEvent[], nowMs: number): number {
  const stated = feeds.flatMap((feed) => {
    const isLate = nowMs - publishedAtMs(feed) > oracleLateMs(feed)
    const confidenceBps = confidenceBpsOf(feed)
    return MEASURES_MARKETS.has(feed.network) && !isLate && confidenceBps !== null
      ? [confidenceBps]
      : []
  })
  return stated.length === 0 ? 0 : Math.min(...stated)
}

/** One deviation of the error of one feed now, bps, by all that is known of the asset. */
export function oracleErrorBps(
  feed: OraclePriceEvent,
  feeds: readonly OraclePriceEvent[],
  evidence: Pick<OracleEvidence, 'nowMs' | 'driftBps'>,
): number {
  return readingOf(feed, marketBpsOf(feeds, evidence.nowMs), evidence).expectedErrorBps
}

/** Alive before late, then the smaller expected error, then the younger one. */
function isBetter(one: OracleReading, known: OracleReading): boolean {
  const isLate = (reading: OracleReading) => reading.ageMs > oracleLateMs(reading)
  if (isLate(one) !== isLate(known)) return isLate(known)
  if (one.expectedErrorBps !== known.expectedErrorBps)
    return one.expectedErrorBps < known.expectedErrorBps
  return one.publishedAtMs > known.publishedAtMs
}

function readingOf(
  feed: OraclePriceEvent,
  marketBps: number,
  { nowMs, driftBps }: Pick<OracleEvidence, 'nowMs' | 'driftBps'>,
): OracleReading {
  const { network, place, asset, priceUsd, confidenceUsd, ema, resolutionBps, heartbeatMs } = feed
  const atMs = publishedAtMs(feed)
  const ageMs = Math.max(0, nowMs - atMs)
  const confidenceBps = confidenceBpsOf(feed)
  const statedBps = confidenceBps ?? UNSTATED_BPS
  const ownBps = MEASURES_MARKETS.has(network) ? statedBps : Math.max(statedBps, marketBps)
  const unreadMs = Math.max(0, nowMs - feed.timeReceivedMs)
  return {
    network,
    place,
    asset,
    priceUsd,
    confidenceUsd,
    confidenceBps,
    ema,
    resolutionBps,
    heartbeatMs,
    publishedAtMs: atMs,
    receivedAtMs: feed.timeReceivedMs,
    ageMs,
    ageMsMax: oracleAgeMsMax(feed),
    expectedErrorBps: expectedErrorBps(ownBps, driftBps, { ageMs, unreadMs, ...triggerOf(feed) }),
  }
}

function confidenceBpsOf({ confidenceUsd, priceUsd }: OraclePriceEvent): number | null {
  return confidenceUsd === null ? null : (confidenceUsd / priceUsd) * 10_000
}

import { weightedMedian } from '../../statistics/median.ts'
import { bracketOf } from './peg-level.ts'

/** Independent classes of evidence: networks, exchanges for USD, markets against USDT. */
export const pegClasses = ['oracle', 'exchange', 'cross'] as const
export type PegClass = (typeof pegClasses)[number]

/** One source's price of a stablecoin, and its weight within its class. */
export type PegVote = {
  readonly priceUsd: number
  /** null where the source states none. */
  readonly confidenceBps: number | null
  /** Price move that makes the source publish again. */
  readonly resolutionBps: number
  /** Part of the resolution that is possible at its age: two standard deviations of the price move. */
  readonly unseenBps: number
  /** Standard deviation of its error now; null in a class whose votes do not differ by it. */
  readonly expectedErrorBps: number | null
  readonly weight: number
  /** Network, exchange or chain behind it; several votes of one provider count as one witness. */
  readonly provider: string
}

export type ClassPrice = {
  readonly class: PegClass
  readonly priceUsd: number
  readonly confidenceBps: number
  /** Possible unpublished price move, by the age of the votes. */
  readonly resolutionBps: number
  /** Class that its price depends on, which thus cannot confirm it; null for none. */
  readonly leansOn: PegClass | null
  /** Providers within 20 bps of its price, minus those of its own class that contradict it; at least 0. */
  readonly providers: number
}

/** Price of a stablecoin by all classes at one instant. */
export type PegPrice = {
  readonly priceUsd: number
  readonly deviationBps: number
  readonly confidenceBps: number
  readonly resolutionBps: number
  /** Part of the deviation beyond confidence and resolution, signed. */
  readonly adjustedBps: number
  /** The same with the confidence at 95 %. */
  readonly adjusted95Bps: number
  /** Highest minus lowest class. */
  readonly dispersionBps: number
  readonly classes: readonly ClassPrice[]
  /** Classes behind the price. */
  readonly usedClasses: readonly PegClass[]
  /** Classes further than 20 bps from the price. */
  readonly disagreeing: readonly PegClass[]
  /** Two independent classes confirm the deviation. */
  readonly isConfirmed: boolean
  /** Level of this instant alone. */
  readonly calledLevel: number
}

/** 95 % bound of a Laplace distribution, in scales. */
const CONFIDENCE_95 = 2.12
const AGREEMENT_BPS = 20
/** Expected errors within this factor are equal. */
export const EQUAL_ERROR_TIMES = 1.05
/** Highest level by a single class. */
const UNCONFIRMED_LEVEL_MAX = 1
/** Two equal classes that both reach this level give a price however far apart they are. */
const SHARED_LEVEL_MIN = 2

/** Deviation from one dollar, signed; to a millionth, so that 0.999 and 1.001 are equally far. */
export function deviationBpsOf(priceUsd: number): number {
  return Math.round((priceUsd - 1) * 1e10) / 1e6
}

/**
 * The vote of a class. Price, confidence and resolution are weighted medians, each by itself, of the votes with the
 * smallest expected error that agree with the median of all.
 * @returns null for a class without a vote
 */
export function classPriceOf(
  name: PegClass,
  votes: readonly PegVote[],
  leansOn: PegClass | null = null,
): ClassPrice | null {
  if (votes.length === 0) return null
  const medianOf = (of: readonly PegVote[], value: (vote: PegVote) => number) =>
    weightedMedian(of.map((vote) => ({ value: value(vote), weight: vote.weight })))
  const nearest = nearestOf(votes, medianOf)
  const sure = nearest.filter(({ confidenceBps }) => confidenceBps !== null)
  const priceUsd = medianOf(nearest, (vote) => vote.priceUsd)
  return {
    class: name,
    priceUsd,
    confidenceBps:
      sure.length === 0 ? 0 : medianOf(sure, ({ confidenceBps }) => confidenceBps ?? 0),
    resolutionBps: medianOf(nearest, ({ unseenBps }) => unseenBps),
    leansOn,
    providers: providersOf(votes, deviationBpsOf(priceUsd)),
  }
}

/**
 * The majority identifies wrong votes, and of the others those with the smallest error give the price. All votes where
 * they do not differ in error, or where none agrees with the median.
 */
function nearestOf(
  votes: readonly PegVote[],
  medianOf: (of: readonly PegVote[], value: (vote: PegVote) => number) => number,
): readonly PegVote[] {
  const ownBps = ({ confidenceBps, resolutionBps }: PegVote) => (confidenceBps ?? 0) + resolutionBps
  const middleBps = deviationBpsOf(medianOf(votes, ({ priceUsd }) => priceUsd))
  const middleOwnBps = medianOf(votes, ownBps)
  const errors = votes.flatMap((vote) => {
    const awayBps = Math.abs(deviationBpsOf(vote.priceUsd) - middleBps)
    const isBorneOut = awayBps <= Math.max(AGREEMENT_BPS, ownBps(vote) + middleOwnBps)
    return isBorneOut && vote.expectedErrorBps !== null
      ? [{ vote, errorBps: vote.expectedErrorBps }]
      : []
  })
  const limitBps = EQUAL_ERROR_TIMES * Math.min(...errors.map(({ errorBps }) => errorBps))
  const nearest = errors.filter(({ errorBps }) => errorBps <= limitBps)
  return nearest.length === 0 ? votes : nearest.map(({ vote }) => vote)
}

/** Providers that agree, minus those that contradict by more than their resolution; 0 without a majority. */
function providersOf(votes: readonly PegVote[], classBps: number): number {
  const awayBps = ({ priceUsd }: PegVote) => Math.abs(deviationBpsOf(priceUsd) - classBps)
  const agreeing = new Set(
    votes.filter((vote) => awayBps(vote) <= AGREEMENT_BPS).map(({ provider }) => provider),
  )
  const contradicting = votes
    .filter((vote) => awayBps(vote) > AGREEMENT_BPS + vote.resolutionBps)
    .map(({ provider }) => provider)
    .filter((provider) => !agreeing.has(provider))
  return Math.max(0, agreeing.size - new Set(contradicting).size)
}

/** Median of the classes, one vote each, for each figure (`docs/numbers/depeg.md`). NaN for none. */
export function middleOf(
  classes: readonly ClassPrice[],
): Pick<ClassPrice, 'priceUsd' | 'confidenceBps' | 'resolutionBps'> {
  const medianOf = (value: (one: ClassPrice) => number) =>
    weightedMedian(classes.map((one) => ({ value: value(one), weight: 1 })))
  return {
    priceUsd: medianOf((one) => one.priceUsd),
    confidenceBps: medianOf((one) => one.confidenceBps),
    resolutionBps: medianOf((one) => one.resolutionBps),
  }
}

/** Highest minus lowest; 0 for fewer than two. */
export function dispersionBpsOf(classes: readonly ClassPrice[]): number {
  const deviations = classes.map(({ priceUsd }) => deviationBpsOf(priceUsd))
  return classes.length < 2 ? 0 : Math.max(...deviations) - Math.min(...deviations)
}

/**
 * The median of the classes; of two, the one with more providers.
 * @returns null for no class, and for two that contradict each other with equally many providers
 */
export function pegPriceOf(classes: readonly ClassPrice[]): PegPrice | null {
  const used = usedClassesOf(classes)
  if (used.length === 0) return null
  const { priceUsd, confidenceBps, resolutionBps } = middleOf(used)
  const deviationBps = deviationBpsOf(priceUsd)
  const adjusted = (scales: number) =>
    Math.sign(deviationBps) *
    Math.max(0, Math.abs(deviationBps) - scales * confidenceBps - resolutionBps)
  const adjustedBps = adjusted(1)
  const isAgreeing = (one: ClassPrice) => isNear(deviationBpsOf(one.priceUsd), deviationBps)
  const near = classes.filter(isAgreeing)
  const seen = bracketOf(Math.abs(adjustedBps))
  const borneOut = confirmedLevel(classes, Math.sign(deviationBps))
  return {
    priceUsd,
    deviationBps,
    confidenceBps,
    resolutionBps,
    adjustedBps,
    adjusted95Bps: adjusted(CONFIDENCE_95),
    dispersionBps: dispersionBpsOf(classes),
    classes,
    usedClasses: used.map((one) => one.class),
    disagreeing: classes.filter((one) => !isAgreeing(one)).map((one) => one.class),
    isConfirmed: seen === 0 ? areTwoFree(near) : borneOut >= seen,
    calledLevel: Math.min(seen, Math.max(UNCONFIRMED_LEVEL_MAX, borneOut)),
  }
}

/**
 * The classes behind the price. Two have no majority, and the mean of a wrong and a correct one is wrong. So the one
 * with more providers counts, whether they agree or not: otherwise the price could rise when a class falls.
 */
function usedClassesOf(classes: readonly ClassPrice[]): readonly ClassPrice[] {
  const [one, other] = classes
  if (one === undefined || other === undefined || classes.length > 2) return classes
  if (one.providers !== other.providers) return [one.providers > other.providers ? one : other]
  if (isNear(deviationBpsOf(one.priceUsd), deviationBpsOf(other.priceUsd))) return classes
  const side = Math.sign(deviationBpsOf(middleOf(classes).priceUsd))
  return confirmedLevel(classes, side) >= SHARED_LEVEL_MIN ? classes : []
}

function isNear(deviationBps: number, ofBps: number): boolean {
  return Math.abs(deviationBps - ofBps) <= AGREEMENT_BPS
}

/** Highest level that two classes reach by themselves, on one side of one dollar. */
function confirmedLevel(classes: readonly ClassPrice[], side: number): number {
  const levels = classes.map(({ priceUsd, confidenceBps }) =>
    bracketOf(Math.max(0, side * deviationBpsOf(priceUsd) - confidenceBps)),
  )
  const reached = (level: number) => classes.filter((_, at) => (levels[at] ?? 0) >= level)
  return Math.max(0, ...levels.filter((level) => areTwoFree(reached(level))))
}

/** Whether two of them are independent of each other. */
function areTwoFree(classes: readonly ClassPrice[]): boolean {
  return classes.some((one) =>
    classes.some(
      (other) => other !== one && one.leansOn !== other.class && other.leansOn !== one.class,
    ),
  )
}

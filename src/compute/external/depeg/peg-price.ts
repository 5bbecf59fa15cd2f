import { weightedMedian } from '../../statistics/median.ts'
import { bracketOf } from './peg-level.ts'

/** Kinds of evidence that do not rest on each other: networks, exchanges for USD, markets against USDT. */
export const pegClasses = ['oracle', 'exchange', 'cross'] as const
export type PegClass = (typeof pegClasses)[number]

/** What one source says a stablecoin is worth, and how much it counts within its class. */
export type PegVote = {
  readonly priceUsd: number
  /** null where the source does not say how sure it is. */
  readonly confidenceBps: number | null
  /** How far the truth may be away before the source speaks again. */
  readonly resolutionBps: number
  /** How much of that can be, by its age: two deviations of what the price moved since. */
  readonly unseenBps: number
  /** One deviation of its error now; null in a class whose votes do not differ by what they can know. */
  readonly expectedErrorBps: number | null
  readonly weight: number
  /** Whoever stands behind it, and is one witness however often it speaks. */
  readonly provider: string
}

export type ClassPrice = {
  readonly class: PegClass
  readonly priceUsd: number
  readonly confidenceBps: number
  /** How far the truth may be away without the source having published, by its age. */
  readonly resolutionBps: number
  /** The class that it rests on itself, and so cannot bear out; null for none. */
  readonly leansOn: PegClass | null
  /** Providers within 20 bps of its price, less those of its own that contradict it; 0 at the least. */
  readonly providers: number
}

/** What a stablecoin is worth by all that is known of it at one instant. */
export type PegPrice = {
  readonly priceUsd: number
  readonly deviationBps: number
  readonly confidenceBps: number
  readonly resolutionBps: number
  /** The part of the deviation that confidence and resolution do not explain, signed. */
  readonly adjustedBps: number
  /** The same with the confidence at 95 %. */
  readonly adjusted95Bps: number
  /** Highest less lowest class. */
  readonly dispersionBps: number
  readonly classes: readonly ClassPrice[]
  /** Those of them that the price is made of. */
  readonly told: readonly PegClass[]
  /** Those further than 20 bps from the price. */
  readonly disagreeing: readonly PegClass[]
  /** Two classes that do not lean on each other bear the deviation out. */
  readonly isConfirmed: boolean
  /** The level that this instant by itself calls for. */
  readonly calledLevel: number
}

/** Of Laplace's distribution, in scales. */
const CONFIDENCE_95 = 2.12
const AGREEMENT_BPS = 20
/** Expected errors that differ by less are equal. */
export const EQUAL_ERROR_TIMES = 1.05
/** What one class sees alone calls for no more. */
const UNCONFIRMED_LEVEL_MAX = 1
/** Two equal classes that both see as much are told however far they are apart: it is a break all the same. */
const SHARED_LEVEL_MIN = 2

/** From a dollar, signed; to a millionth, so that 0.999 and 1.001 are equally far away. */
export function deviationBpsOf(priceUsd: number): number {
  return Math.round((priceUsd - 1) * 1e10) / 1e6
}

/**
 * The one vote of a class. Price, confidence and resolution are weighted medians, each by itself, of the votes with
 * the smallest expected error that the middle of all bears out.
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
 * The majority decides what is a lie, and of the others those that know best tell the price. All of them where they do
 * not differ by what they can know, or where nobody stands by the middle.
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

/** Who agrees, less who contradicts by more than a feed's resolution explains; 0 for no majority. */
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

/** Median of the classes, one vote each (`docs/numbers/depeg.md`): of each figure on its own. NaN for none. */
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

/** Highest less lowest; 0 for fewer than two. */
export function dispersionBpsOf(classes: readonly ClassPrice[]): number {
  const deviations = classes.map(({ priceUsd }) => deviationBpsOf(priceUsd))
  return classes.length < 2 ? 0 : Math.max(...deviations) - Math.min(...deviations)
}

/**
 * The middle of the classes, of two the one that more stand behind.
 * @returns null for no class, and for two that contradict each other with as many behind the one as the other
 */
export function pegPriceOf(classes: readonly ClassPrice[]): PegPrice | null {
  const told = toldOf(classes)
  if (told.length === 0) return null
  const { priceUsd, confidenceBps, resolutionBps } = middleOf(told)
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
    told: told.map((one) => one.class),
    disagreeing: classes.filter((one) => !isAgreeing(one)).map((one) => one.class),
    isConfirmed: seen === 0 ? areTwoFree(near) : borneOut >= seen,
    calledLevel: Math.min(seen, Math.max(UNCONFIRMED_LEVEL_MAX, borneOut)),
  }
}

/**
 * The classes whose middle is told. Of two there is no majority, and half of a lie is none the better: so it is
 * the one that more stand behind, whether they agree or not, because else a price could rise when a class falls.
 */
function toldOf(classes: readonly ClassPrice[]): readonly ClassPrice[] {
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

/** The highest level that two classes reach by themselves, on one side of a dollar. */
function confirmedLevel(classes: readonly ClassPrice[], side: number): number {
  const levels = classes.map(({ priceUsd, confidenceBps }) =>
    bracketOf(Math.max(0, side * deviationBpsOf(priceUsd) - confidenceBps)),
  )
  const reached = (level: number) => classes.filter((_, at) => (levels[at] ?? 0) >= level)
  return Math.max(0, ...levels.filter((level) => areTwoFree(reached(level))))
}

/** Whether there are two of which neither leans on the other. */
function areTwoFree(classes: readonly ClassPrice[]): boolean {
  return classes.some((one) =>
    classes.some(
      (other) => other !== one && one.leansOn !== other.class && other.leansOn !== one.class,
    ),
  )
}

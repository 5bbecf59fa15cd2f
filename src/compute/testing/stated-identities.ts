/** Value at a path such as `spread.best_bid`; NaN for null and where there is none. */
type Part = (path: string) => number

/** A member of an answer that follows from others, by its description, and half a unit of its last printed digit. */
export type Identity = readonly [
  member: string,
  tolerance: number,
  from: (of: Part, answer: object) => number,
]

const HOURS_PER_YEAR = 24 * 365
const YEARLY_PCT = HOURS_PER_YEAR * 100
const [CENTS, THOUSANDTHS, FOUR_DIGITS] = [0.5e-2, 0.5e-3, 0.5e-4]
/** At most 14 clusters, seven bands on each of two sides, each rounded down to whole dollars. */
const CLUSTERS_USD = 14

export const identities: readonly Identity[] = [
  ['net_bps', CENTS, (of) => of('gross_bps') - of('fee_bps') - of('gas_bps')],
  ['net_bps', CENTS, (of) => of('gross_bps') - of('est_cost_bps')],
  ['total_bps', CENTS, (of) => of('confidence_bps') + of('age_bps')],
  ['band.ratio', THOUSANDTHS, (of) => of('basis_bps') / of('band.total_bps')],
  [
    'premium_funding_apr_pct',
    FOUR_DIGITS,
    (of) => of('premium_funding_hourly_pct') * HOURS_PER_YEAR,
  ],
  ['basis_pct', FOUR_DIGITS, (of) => of('basis_bps') / 100],
  ['divergence_pct', FOUR_DIGITS, (of) => of('divergence_bps') / 100],
  ['deviation_pct', FOUR_DIGITS, (of) => of('signed_deviation_bps') / 100],
  ['deviation_bps', CENTS, (of) => Math.abs(of('signed_deviation_bps'))],
  ['ema.momentum_bps', CENTS, (of) => of('usdc.signed_deviation_bps') - of('ema.deviation_bps')],
  ['confidence', THOUSANDTHS, (of, answer) => totalWeight(answer) * (1 - of('dispersion'))],
  ['annualized_pct', FOUR_DIGITS, (of) => of('current_rate') * YEARLY_PCT],
  ['average_annualized_pct', FOUR_DIGITS, (of) => of('average_rate') * YEARLY_PCT],
  ['funding_annualized_pct', FOUR_DIGITS, (of) => of('funding_rate') * YEARLY_PCT],
  ['change.delta_24h', THOUSANDTHS, (of) => of('avg_correlation') - of('change.avg_24h_ago')],
  ...[1, 2, 5].map(
    (pct): Identity => [
      `total_at_risk_usd.within_${pct}pct`,
      CLUSTERS_USD,
      (_, answer) => clustersWithin(answer, pct),
    ],
  ),
]

/**
 * Identities that the members of an answer, or of an object in it, do not fulfil.
 * @param evaluated receives those whose members the answer has
 */
export function brokenIdentities(
  answer: unknown,
  evaluated = new Set<Identity>(),
): readonly string[] {
  if (typeof answer !== 'object' || answer === null) return []
  const part: Part = (path) => {
    const value = at(answer, path)
    return typeof value === 'number' ? value : Number.NaN
  }
  const own = identities.flatMap((identity) => {
    const [member, tolerance, from] = identity
    const [shown, expected] = [part(member), from(part, answer)]
    if (!Number.isNaN(shown - expected)) evaluated.add(identity)
    const isBroken = Math.abs(shown - expected) > tolerance * (1 + 1e-6)
    return isBroken ? [`${member} ${shown}, not ${expected}`] : []
  })
  const inner = Object.values(answer).flatMap((value) => brokenIdentities(value, evaluated))
  return [...own, ...inner]
}

function at(of: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], of)
}

function totalWeight(answer: object): number {
  const components = at(answer, 'components')
  if (!Array.isArray(components)) return Number.NaN
  return components.reduce<number>((sum, component) => sum + Number(at(component, 'weight')), 0)
}

function clustersWithin(answer: object, pct: number): number {
  const sides = ['longs', 'shorts'].map((side) => at(answer, `clusters.${side}`))
  if (!sides.every(Array.isArray)) return Number.NaN
  return sides
    .flat()
    .filter((cluster) => Number(at(cluster, 'distance_pct')) <= pct)
    .reduce((sum, cluster) => sum + Number(at(cluster, 'estimated_notional')), 0)
}

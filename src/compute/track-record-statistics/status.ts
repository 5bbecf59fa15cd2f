import type { Form, RecordFigures } from './figures.ts'

/** What the record of a rule shows. */
export const recordStatuses = ['measuring', 'supported', 'not_supported', 'inverted'] as const
export type RecordStatus = (typeof recordStatuses)[number]

/** A change of status, kept permanently. */
export type StatusChange = Pick<
  RecordFigures,
  'effective' | 'rate' | 'controlRate' | 'lift' | 'liftLow' | 'liftHigh' | 'skill'
> & {
  /** First day since the Unix epoch that is not in the figures. */
  readonly day: number
  readonly status: RecordStatus
  /** E-value that caused the change; 1 where only the number of observations did. */
  readonly evidence: number
  /** E-value that was needed: 20 for each watched cell. */
  readonly needed: number
}

/** E-values of the tests of a cell. */
export type Tests = {
  /** Against: not better than the control, in lift or in skill. */
  readonly isBetter: number
  /** Against: not worse than the control in lift. */
  readonly isWorse: number
  /** Against: at least half of the advantage that the status rests on remains. */
  readonly hasEnded: number
}

/** Effective observations below which a rule is measured. */
const EFFECTIVE_MIN = 200
/** E-value of one test, a false positive in at most one of twenty; multiplied by the number of watched cells. */
const EVIDENCE_MIN = 20

/**
 * Status after a day. Only {@link Tests} change it, and where nothing is shown a measured rule is `not_supported`. An
 * order or an interval that is worse than the control is `not_supported`: only events have an opposite.
 */
export function nextStatus(
  status: RecordStatus,
  tests: Tests,
  { day, form, watchedCells, effective, figures }: ChangeInputs,
): StatusChange | null {
  const needed = EVIDENCE_MIN * watchedCells
  const change = (next: RecordStatus, evidence: number, found: RecordFigures): StatusChange => ({
    ...{ day, status: next, evidence, needed, effective: found.effective },
    ...{ rate: found.rate, controlRate: found.controlRate, lift: found.lift },
    ...{ liftLow: found.liftLow, liftHigh: found.liftHigh, skill: found.skill },
  })
  if (status === 'supported' || status === 'inverted')
    return tests.hasEnded >= needed ? change('not_supported', tests.hasEnded, figures()) : null
  const isShown = tests.isBetter >= needed || tests.isWorse >= needed
  if (status === 'not_supported' && !isShown) return null
  if (effective() < EFFECTIVE_MIN) return null
  const found = figures()
  if (tests.isBetter >= needed && found.liftLow > 1 && found.skill > 0)
    return change('supported', tests.isBetter, found)
  if (form === 'event' && tests.isWorse >= needed && found.liftHigh < 1)
    return change('inverted', tests.isWorse, found)
  return status === 'measuring' ? change('not_supported', 1, found) : null
}

type ChangeInputs = {
  readonly day: number
  readonly form: Form
  readonly watchedCells: number
  readonly effective: () => number
  /** Costs a bootstrap. */
  readonly figures: () => RecordFigures
}

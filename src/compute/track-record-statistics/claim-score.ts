import type { ResolvedClaim, Statement } from '../../domain/track-record.ts'
import { quantileLevels } from '../../domain/track-record.ts'

/** What one observed claim adds to the sums of its day. Rank claims are scored together, by day. */
export type ClaimScore = {
  /** Events: 1 for a hit, else 0. Quantiles: pinball loss. */
  readonly own: number
  /** Events: probability of the control, or whether its own event happened. Quantiles: pinball loss of the control. */
  readonly control: number
  /** Events: Brier loss. Quantiles: pinball loss. */
  readonly loss: number
  /** The same of the control; NaN where the control is an event of its own. */
  readonly controlLoss: number
  /** Whether the value is inside the central intervals of 50, 80 and 95 %; none for events. */
  readonly inside: readonly boolean[]
}

/** Positions in `quantileLevels` of the bounds of the central intervals of 50, 80 and 95 %. */
const intervals = [
  [2, 4],
  [1, 5],
  [0, 6],
] as const

/** @returns null for a void claim and for a rank claim */
export function scoreOf({ statement, outcome }: ResolvedClaim): ClaimScore | null {
  if (statement.form === 'event' && outcome.kind === 'event') {
    const own = outcome.happened ? 1 : 0
    const { probability, control } = statement
    return {
      own,
      control: control ?? (outcome.controlHappened === true ? 1 : 0),
      loss: (probability - own) ** 2,
      controlLoss: control === null ? Number.NaN : (control - own) ** 2,
      inside: [],
    }
  }
  if (statement.form !== 'quantiles' || outcome.kind !== 'value') return null
  return quantileScore(statement, outcome.value)
}

function quantileScore(
  { values, control }: Extract<Statement, { form: 'quantiles' }>,
  value: number,
): ClaimScore {
  const [own, controlLoss] = [pinballLoss(values, value), pinballLoss(control, value)]
  return {
    ...{ own, control: controlLoss, loss: own, controlLoss },
    inside: intervals.map(
      ([low, high]) => (values[low] as number) <= value && value <= (values[high] as number),
    ),
  }
}

/** Mean pinball (quantile) loss over `quantileLevels`, in the unit of the value. */
export function pinballLoss(quantiles: readonly number[], value: number): number {
  const losses = quantileLevels.map((level, at) => {
    const above = value - (quantiles[at] as number)
    return above >= 0 ? level * above : (level - 1) * above
  })
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}

import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { claimFamilies, coinClasses } from '../../domain/track-record.ts'
import { count, nonNegative, nullable, number, oneOf, text } from '../render/answer-schema.ts'
import { recordStatuses } from './status.ts'

const figure = (description: string) => nullable(number(description))
const day = (description: string) => text(`${description}, UTC.`)
const listOf = (item: TSchema, description: string) =>
  Type.Optional(Type.Array(item, { description }))

const figureMembers = {
  n: count('Resolved claims.'),
  void: count('Claims whose outcome was not observed: neither hits nor misses.'),
  abstained: count('Occasions on which the rule made no claim.'),
  n_eff: nonNegative('n / design effect of days; the days, if below 10 or all alike.'),
  days: count('Days with an outcome in these figures.'),
  rate: figure(
    'event: share that happened. quantiles: share inside the 80 % interval. rank: mean Spearman correlation by day.',
  ),
  rate_low: figure('Lower end of the 95 % interval of rate: Wilson on n_eff; Fisher for rank.'),
  rate_high: figure('Upper end.'),
  control_rate: figure('rate of the control; null for quantiles.'),
  lift: figure(
    'event: rate / control_rate. quantiles: control_loss / loss. rank: (1 + rate) / (1 + control_rate).',
  ),
  lift_low: figure('Lower end of the 95 % percentile interval, bootstrap of days.'),
  lift_high: figure('Upper end.'),
  loss: figure('event: mean Brier loss. quantiles: mean pinball loss. null for rank.'),
  control_loss: figure('loss of the control.'),
  skill: figure(
    '1 - loss / control_loss; rank: (rate - control_rate) / (1 - control_rate). 1 perfect, 0 like the control.',
  ),
  coverage_50: figure('Share of values inside the stated 50 % interval; quantiles only.'),
  coverage_80: figure('The same for 80 %.'),
  coverage_95: figure('The same for 95 %.'),
}

const windowMember = Type.Object({
  window: oneOf(
    ['7d', '30d', '90d', 'since'] as const,
    'Days before as_of; 90d: whole weeks, 84 to 90 days.',
  ),
  ...figureMembers,
})

const changeMember = Type.Object({
  as_of: day('Day before which the claims are counted'),
  status: oneOf(recordStatuses, 'After the change.'),
  e_value: figure('Evidence of the test that caused the change; 1 where n_eff reached 200.'),
  e_value_needed: figure('20 x number of watched cells.'),
  n_eff: figure('At the change.'),
  rate: figure('At the change.'),
  control_rate: figure('At the change.'),
  lift: figure('At the change.'),
  lift_low: figure('At the change.'),
  lift_high: figure('At the change.'),
  skill: figure('At the change.'),
})

const RecordRow = Type.Object(
  {
    rule: text('family.name@version'),
    horizon_hours: number('Hours after which a claim is resolved.'),
    coin_class: oneOf(coinClasses, 'Size class of the coin when the claim was made.'),
    form: oneOf(['event', 'quantiles', 'rank'] as const, 'What a claim states.'),
    status: oneOf(
      recordStatuses,
      'measuring: n_eff has never reached 200. supported, inverted: shown by an e-value of 20 x watched cells, with lift_low above 1 and skill above 0, or lift_high below 1 (event only). not_supported: otherwise.',
    ),
    since: day('First day of the record'),
    as_of: nullable(day('Claims made before this day are counted; null before any')),
    claimed_until_iso: nullable(
      text(
        'Time of the newest claim of a rule that has made none for 2 days: it is not claimed now, such as zone.liquidated without a source of all liquidations. null while it is claimed.',
      ),
    ),
    open: count('Claims without an outcome yet.'),
    windows: Type.Array(windowMember, {
      description: 'Figures over the last days; since alone in the list of all families.',
    }),
    reliability: listOf(
      Type.Object({
        from: Type.Number(),
        to: Type.Number(),
        n: count('Claims with a stated probability in this range.'),
        stated: number('Their mean stated probability.'),
        happened: number('Share of them that happened.'),
      }),
      'Stated probability against outcome, all resolved claims, including those from as_of on; ranges with claims; event only.',
    ),
    changes: listOf(changeMember, 'Every change of status, oldest first.'),
  },
  { description: 'Record of one rule, horizon and class of coin.' },
)

const BaselineRow = Type.Object({
  rule: Type.String(),
  horizon_hours: Type.Number(),
  coin_class: oneOf(coinClasses),
  status: oneOf(recordStatuses, 'As in records.'),
  n_eff: figure('As in records.'),
  rate: figure('As in records.'),
  lift: figure('As in records.'),
  lift_low: figure('As in records.'),
  lift_high: figure('As in records.'),
  skill: figure('As in records.'),
  from_iso: day('First day of the data'),
  until_iso: day('Last day of the data'),
  source: text('The recorded data.'),
})

/** `/track-record`, `/track-record/{family}` and `/track-record/graveyard`. */
export const TrackRecordAnswer = Type.Object(
  {
    timestamp_iso: text('Time of this rendering, UTC, ISO 8601.'),
    as_of: nullable(day('Newest as_of of the records')),
    families: Type.Array(oneOf(claimFamilies), {
      description: 'Estimates with a record here: /track-record/{family} has windows and changes.',
    }),
    watched_cells: count('Cells by whose number the evidence for a status is corrected.'),
    records: Type.Array(RecordRow),
    backtests: Type.Array(BaselineRow, {
      description:
        'RecordFigures of recorded data, shown in answers while the live record is measuring; never added to it.',
    }),
  },
  { description: 'What became of the estimates of this service, against a control.' },
)

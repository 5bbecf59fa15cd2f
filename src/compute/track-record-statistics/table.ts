import type { ResolvedClaim } from '../../domain/track-record.ts'
import { DAY_MS } from './blocks.ts'
import { TrackRecord } from './track-record.ts'

/**
 * The record of any claims, by the same sums and tests as the live one.
 * @param watchedCellsMin cells of the whole record, where the claims are a part of it
 */
export function tableOf(claims: Iterable<ResolvedClaim>, watchedCellsMin = 0): TrackRecord {
  const record = new TrackRecord(watchedCellsMin)
  const sorted = [...claims].sort(
    (one, other) => one.madeAtMs - other.madeAtMs || one.resolvedAtMs - other.resolvedAtMs,
  )
  for (const claim of sorted) {
    record.made(claim)
    record.resolved(claim)
    record.advance({ venueMs: claim.madeAtMs })
  }
  const last = sorted.at(-1)
  if (last !== undefined)
    record.advance({ venueMs: last.madeAtMs + last.horizonMs + CLOSED_AFTER_MS })
  return record
}

/** Longer than any outcome takes after its horizon. */
const CLOSED_AFTER_MS = 3 * DAY_MS

/** One line for each rule, horizon and class, as text. */
export function renderedTable({ cells }: Pick<TrackRecord, 'cells'>): string {
  const rows = cells.map(({ key, status, figures, form }) => [
    key.rule,
    `${key.horizonMs / 3_600_000} h`,
    key.coinClass,
    form,
    String(figures.observed),
    String(figures.voids),
    String(Math.floor(figures.effective)),
    cellText(figures.rate),
    cellText(figures.controlRate),
    `${cellText(figures.lift)} [${cellText(figures.liftLow)}, ${cellText(figures.liftHigh)}]`,
    cellText(figures.skill),
    status,
  ])
  const all = [columns, ...rows]
  const widths = columns.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)))
  return `${all
    .map((row) =>
      row
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`
}

const columns = [
  ...['rule', 'horizon', 'class', 'form', 'n', 'void', 'n_eff', 'rate', 'control'],
  ...['lift [95 %]', 'skill', 'status'],
]

function cellText(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(3)
}

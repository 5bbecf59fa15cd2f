import type { Warning } from '../../domain/document.ts'

/** Available and required amount, in one unit. */
type Share = { readonly have: number; readonly need: number }

/** Share of members below which an answer warns. */
const COVERAGE_MIN = 0.8

/**
 * Data behind an answer: `history` its time window, `records` the rows within it, `members` the coins or sources of an
 * answer about several.
 */
export type Completeness = {
  readonly history?: Share
  readonly records?: Share
  readonly members?: Share
}

/** Warnings of the engine; the gateway adds those that depend on time. */
export function completenessWarnings({ history, records, members }: Completeness): Warning[] {
  const warnings: Warning[] = []
  if (records !== undefined && records.have < records.need) warnings.push('partial_data')
  if (history !== undefined && history.have < history.need) warnings.push('short_history')
  if (members !== undefined && members.have < COVERAGE_MIN * members.need)
    warnings.push('low_coverage')
  return warnings
}

/** `coverage_pct` of a share; 100 where nothing was required. */
export function coveragePct({ have, need }: Share): number {
  return need <= 0 ? 100 : Math.min(100, (100 * Math.max(0, have)) / need)
}

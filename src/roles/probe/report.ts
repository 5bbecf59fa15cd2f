import Table from 'cli-table3'
import { isoInstant } from '../../domain/instant.ts'
import type { CheckFigures, Quantiles } from './check-window.ts'

/** One result with the figures of its check, as a line of JSON. */
export function reportLine({ last, ...figures }: CheckFigures): string {
  return JSON.stringify({
    time_iso: isoInstant(last.atMs),
    check: last.check,
    outcome: last.outcome,
    latency_ms: rounded(last.latencyMs),
    age_seconds: last.ageSeconds,
    reason: last.reason,
    checks: figures.checks,
    availability_pct: figures.availabilityPct,
    latency_quantiles_ms: quantiles(figures.latencyMs),
    age_quantiles_seconds: quantiles(figures.ageSeconds),
  })
}

/** All checks as a table for a terminal. */
export function reportTable(url: string, figures: readonly CheckFigures[]): string {
  const table = new Table({
    head: [
      'check',
      'last',
      'checks',
      'available',
      'p50 ms',
      'p95',
      'p99',
      'age s p50',
      'p95',
      'p99',
    ],
    style: { head: [], border: [] },
  })
  for (const { check, last, checks, availabilityPct, latencyMs, ageSeconds } of figures)
    table.push([
      check,
      last.outcome,
      checks,
      availabilityPct === null ? '–' : `${availabilityPct} %`,
      ...cells(latencyMs),
      ...cells(ageSeconds),
    ])
  const reasons = figures.flatMap(({ check, last: { reason } }) =>
    reason === null ? [] : [`${check}: ${reason}`],
  )
  const atMs = Math.max(...figures.map(({ last }) => last.atMs))
  return [`${isoInstant(atMs)} ${url}`, table.toString(), ...reasons].join('\n')
}

function cells(of: Quantiles | null): readonly string[] {
  return of === null
    ? ['–', '–', '–']
    : [of.p50, of.p95, of.p99].map((value) => String(rounded(value)))
}

function quantiles(of: Quantiles | null) {
  return of && { p50: rounded(of.p50), p95: rounded(of.p95), p99: rounded(of.p99) }
}

/** Tenths. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10
}

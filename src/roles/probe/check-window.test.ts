import { expect, test } from 'vitest'
import type { CheckResult } from './check-window.ts'
import { CheckWindow } from './check-window.ts'
import { reportLine, reportTable } from './report.ts'

function result(more: Partial<CheckResult> = {}): CheckResult {
  return {
    ...{ check: 'quote', atMs: 0, outcome: 'ok', latencyMs: 10, ageSeconds: 1, reason: null },
    ...more,
  }
}

test('quantiles are measured values, of successful checks alone', () => {
  const window = new CheckWindow()
  for (let ms = 1; ms <= 100; ms += 1) window.add(result({ latencyMs: ms, ageSeconds: 1_000 - ms }))
  const figures = window.add(
    result({ outcome: 'failed', latencyMs: 9_999, ageSeconds: null, reason: '503 data_stale' }),
  )
  expect(figures).toMatchObject({
    ...{ checks: 101, availabilityPct: 99 },
    latencyMs: { p50: 50, p95: 95, p99: 99 },
    ageSeconds: { p50: 949, p95: 994, p99: 998 },
  })
})

test('one failure in many is not rounded away, and skipped checks count for nothing', () => {
  const window = new CheckWindow()
  window.add(result({ check: 'buy', outcome: 'failed', latencyMs: null, ageSeconds: null }))
  for (let check = 0; check < 1_400; check += 1) window.add(result({ check: 'buy' }))
  const figures = window.add(
    result({ check: 'buy', outcome: 'skipped', latencyMs: null, ageSeconds: null }),
  )
  expect(figures.availabilityPct).toBe(99.92)
  expect(figures.checks).toBe(1_401)
})

test('forgets what is older than a day of one check a minute', () => {
  const window = new CheckWindow()
  window.add(result({ outcome: 'failed' }))
  for (let check = 0; check < 1_440; check += 1) window.add(result())
  expect(window.figures()[0]).toMatchObject({ checks: 1_440, availabilityPct: 100 })
})

test('is a line of JSON for a program and a table for a person', () => {
  const window = new CheckWindow()
  window.add(result())
  const figures = window.add(
    result({ outcome: 'failed', latencyMs: null, ageSeconds: null, reason: 'fetch failed' }),
  )
  expect(JSON.parse(reportLine(figures))).toEqual({
    ...{ time_iso: '1970-01-01T00:00:00.000Z', check: 'quote', outcome: 'failed' },
    ...{ latency_ms: null, age_seconds: null, reason: 'fetch failed' },
    ...{ checks: 2, availability_pct: 50 },
    latency_quantiles_ms: { p50: 10, p95: 10, p99: 10 },
    age_quantiles_seconds: { p50: 1, p95: 1, p99: 1 },
  })
  const table = reportTable('http://a', window.figures())
  expect(table).toContain('50 %')
  expect(table).toContain('quote: fetch failed')
})

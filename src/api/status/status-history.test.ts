import { describe, expect, test } from 'vitest'
import { savedStatusFrom } from './saved-status.ts'
import type { Observation, SavedStatus } from './status-history.ts'
import { INCIDENT_MS_MIN, NOT_RUNNING_MS_MIN, StatusHistory } from './status-history.ts'

const DAY_MS = 86_400_000
/** A midnight in UTC. */
const BEGIN_MS = Date.parse('2026-11-01T00:00:00Z')

const WELL: Observation = {
  engine: 'available',
  engineStartedAtMs: BEGIN_MS,
  isMaintenance: false,
  coinsReady: 5,
  checks: { ledger_writable: true, clock: true },
  sources: [
    { source: 'venue', state: 'up', isUp: true },
    { source: 'okx', state: 'up', isUp: true },
  ],
}
const OKX_DOWN: Observation = {
  ...WELL,
  sources: [
    { source: 'venue', state: 'up', isUp: true },
    { source: 'okx', state: 'down', isUp: false },
  ],
}

/** Observes once a second for `seconds`. @returns the time afterwards */
function during(history: StatusHistory, seen: Observation, fromMs: number, seconds: number) {
  let nowMs = fromMs
  for (let second = 0; second < seconds; second += 1) {
    nowMs += 1_000
    history.observe(seen, nowMs)
  }
  return nowMs
}

/** A history with its first observation at `BEGIN_MS`. */
function begun(): StatusHistory {
  const history = new StatusHistory(null, BEGIN_MS)
  history.observe(WELL, BEGIN_MS)
  return history
}

describe('the history of the status', () => {
  test('has the state, and no incident while all is well', () => {
    const history = begun()
    const nowMs = during(history, WELL, BEGIN_MS, 60)
    expect(history.report(nowMs)).toMatchObject({
      ...{ status: 'ok', engine: 'available', coins_ready: 5, availability_pct: 100 },
      observed_since_iso: '2026-11-01T00:00:00.000Z',
      days: [{ day: '2026-11-01', availability_pct: 100 }],
      sources: [
        { source: 'venue', coverage_pct: 100 },
        { source: 'okx', coverage_pct: 100 },
      ],
      incidents: [],
    })
  })

  test('records a source that is down, from its begin to its end, and counts its coverage', () => {
    const history = begun()
    let nowMs = during(history, WELL, BEGIN_MS, 60)
    nowMs = during(history, OKX_DOWN, nowMs, 30)
    expect(history.report(nowMs)).toMatchObject({
      status: 'degraded',
      since_iso: '2026-11-01T00:01:01.000Z',
      incidents: [
        {
          ...{ kind: 'source_down', subject: 'okx', begin_iso: '2026-11-01T00:01:01.000Z' },
          ...{ end_iso: null, duration_seconds: 29 },
        },
      ],
    })
    nowMs = during(history, WELL, nowMs, 10)
    const { incidents, sources, availability_pct } = history.report(nowMs)
    expect(incidents[0]).toMatchObject({
      end_iso: '2026-11-01T00:01:31.000Z',
      duration_seconds: 30,
    })
    expect(sources.map(({ coverage_pct }) => coverage_pct)).toEqual([100, 70])
    expect(availability_pct).toBe(100)
  })

  test('records no fault that is shorter than an incident', () => {
    const history = begun()
    let nowMs = during(history, OKX_DOWN, BEGIN_MS, INCIDENT_MS_MIN / 1_000)
    nowMs = during(history, WELL, nowMs, 5)
    expect(history.report(nowMs).incidents).toEqual([])
  })

  test('a fault that returns within a minute is the same incident', () => {
    const history = begun()
    let nowMs = during(history, OKX_DOWN, BEGIN_MS, 30)
    nowMs = during(history, WELL, nowMs, 20)
    nowMs = during(history, OKX_DOWN, nowMs, 30)
    nowMs = during(history, WELL, nowMs, 1)
    expect(history.report(nowMs).incidents).toMatchObject([
      { begin_iso: '2026-11-01T00:00:01.000Z', end_iso: '2026-11-01T00:01:21.000Z' },
    ])
  })

  test.each([
    ['engine_unavailable', null, { engine: 'silent' as const }],
    ['maintenance', null, { isMaintenance: true }],
    ['not_ready', 'clock', { checks: { ledger_writable: true, clock: false } }],
  ])('%s: nothing is sold', (kind, subject, fault) => {
    const history = begun()
    const nowMs = during(history, { ...WELL, ...fault }, BEGIN_MS, 20)
    const { status, incidents, availability_pct } = history.report(nowMs)
    expect({ status, availability_pct }).toEqual({ status: 'unavailable', availability_pct: 0 })
    expect(incidents).toMatchObject([{ kind, subject }])
  })

  test('records each restart of the engine, however short', () => {
    const history = begun()
    let nowMs = during(history, { ...WELL, engine: 'unavailable' }, BEGIN_MS, 2)
    nowMs = during(history, { ...WELL, engineStartedAtMs: nowMs }, nowMs, 3)
    expect(history.report(nowMs).incidents).toMatchObject([
      { kind: 'engine_restarted', begin_iso: '2026-11-01T00:00:02.000Z' },
    ])
  })

  test('a standby that takes over within a second is no outage of hours', () => {
    const history = begun()
    let nowMs = during(history, { ...WELL, engineStartedAtMs: BEGIN_MS - 36_000_000 }, BEGIN_MS, 60)
    nowMs = during(history, { ...WELL, engineStartedAtMs: BEGIN_MS - 18_000_000 }, nowMs, 3)
    const [incident] = history.report(nowMs).incidents
    expect(incident).toMatchObject({ kind: 'engine_restarted' })
    expect(Date.parse(incident?.begin_iso ?? '')).toBeGreaterThanOrEqual(BEGIN_MS + 60_000)
  })

  test('a time without observations is a time in which the service did not run', () => {
    const before = begun()
    const endMs = during(before, WELL, BEGIN_MS, 60)
    const againMs = endMs + 60_000
    const history = new StatusHistory(restored(before), againMs)
    history.observe(WELL, againMs)
    const { incidents, availability_pct, sources } = history.report(againMs)
    expect(incidents).toMatchObject([
      {
        ...{ kind: 'service_not_running', begin_iso: '2026-11-01T00:01:00.000Z' },
        ...{ end_iso: '2026-11-01T00:02:00.000Z', duration_seconds: 60 },
      },
    ])
    expect(availability_pct).toBe(50)
    expect(sources[0]?.coverage_pct).toBe(50)
  })

  test('a source that is new after a gap has no time in it', () => {
    const before = begun()
    const endMs = during(before, WELL, BEGIN_MS, 60)
    const history = new StatusHistory(restored(before), endMs + 60_000)
    const sources = [...WELL.sources, { source: 'kraken', state: 'up', isUp: true }]
    history.observe({ ...WELL, sources }, endMs + 60_000)
    during(history, { ...WELL, sources }, endMs + 60_000, 60)
    expect(
      history
        .report(endMs + 120_000)
        .sources.map(({ source, coverage_pct }) => [source, coverage_pct]),
    ).toEqual([
      ['venue', 66.66],
      ['okx', 66.66],
      ['kraken', 100],
    ])
  })

  test('a quick restart is no incident, and an open incident ends with its process', () => {
    const before = begun()
    const endMs = during(before, OKX_DOWN, BEGIN_MS, 30)
    const againMs = endMs + NOT_RUNNING_MS_MIN - 1
    const history = new StatusHistory(restored(before), againMs)
    history.observe(WELL, againMs)
    expect(history.report(againMs).incidents).toMatchObject([
      { kind: 'source_down', end_iso: '2026-11-01T00:00:30.000Z' },
    ])
  })

  test('a process that was frozen reports the gap too', () => {
    const history = begun()
    history.observe(WELL, BEGIN_MS + 120_000)
    expect(history.report(BEGIN_MS + 120_000).incidents).toMatchObject([
      { kind: 'service_not_running', duration_seconds: 120 },
    ])
  })

  test('splits a gap over midnight, and forgets what is older than 30 days', () => {
    const history = begun()
    history.observe(WELL, BEGIN_MS + DAY_MS + DAY_MS / 2)
    const { days } = history.report(BEGIN_MS + DAY_MS)
    expect(days.map(({ day }) => day)).toEqual(['2026-11-01', '2026-11-02'])
    const laterMs = BEGIN_MS + 40 * DAY_MS
    history.observe(WELL, laterMs)
    history.observe(WELL, laterMs + 1_000)
    const later = history.report(laterMs + 1_000)
    expect(later.days).toHaveLength(30)
    expect(later.days[0]?.day).toBe('2026-11-12')
    expect(later.observed_since_iso).toBe('2026-11-12T00:00:00.000Z')
    // The long gap reaches into the window, the short one before it does not.
    expect(later.incidents).toHaveLength(1)
  })

  test('stays bounded while a source flaps', () => {
    const history = begun()
    let nowMs = BEGIN_MS
    for (let round = 0; round < 300; round += 1) {
      nowMs = during(history, OKX_DOWN, nowMs, 20)
      nowMs = during(history, WELL, nowMs, 61)
    }
    expect(history.report(nowMs).incidents).toHaveLength(200)
    expect(JSON.stringify(history.saved()).length).toBeLessThan(100_000)
  })

  test('correcting a slow clock is not an outage as long as its offset', () => {
    const history = begun()
    during(history, WELL, BEGIN_MS - DAY_MS, 60)
    history.observe(WELL, BEGIN_MS + 60_000)
    const { incidents, availability_pct } = history.report(BEGIN_MS + 60_000)
    expect(incidents).toMatchObject([{ kind: 'service_not_running', duration_seconds: 60 }])
    expect(availability_pct).toBeGreaterThan(45)
  })

  test('a history from the far future is discarded', () => {
    const history = new StatusHistory(restored(begun()), BEGIN_MS - 31 * DAY_MS)
    expect(history.report(0).observed_since_iso).toBe('2026-10-01T00:00:00.000Z')
  })

  test('a clock that is set back adds no time, and nothing is negative', () => {
    const history = begun()
    const nowMs = during(history, WELL, BEGIN_MS, 60)
    history.observe(WELL, nowMs - 30_000)
    history.observe(WELL, nowMs - 29_000)
    expect(history.report(nowMs - 29_000)).toMatchObject({ availability_pct: 100, incidents: [] })
  })
})

/** As an earlier process saved it. */
function restored(history: StatusHistory): SavedStatus | null {
  const saved = savedStatusFrom(JSON.parse(JSON.stringify(history.saved())))
  expect(saved).not.toBeNull()
  return saved
}

test.each([
  ['nothing', undefined],
  ['a text', 'status'],
  ['a list', []],
  ['no days', { sinceMs: 1, lastMs: 2, incidents: [] }],
  ['a time beyond dates', { sinceMs: 1e300, lastMs: 2, days: [], incidents: [] }],
  ['a day of another form', { sinceMs: 1, lastMs: 2, days: [{ day: 1 }], incidents: [] }],
  [
    'an incident without a begin',
    { sinceMs: 1, lastMs: 2, days: [], incidents: [{ kind: 'x', subject: null, endMs: null }] },
  ],
])('a saved history with %s is not read', (_, document) => {
  expect(savedStatusFrom(document)).toBeNull()
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { FEED_UP, gatewayFixture } from '../../api/testing/gateway-fixture.ts'
import type { StatusReport } from '../../domain/status-report.ts'
import type { FeedHealth, Heartbeat, SourceHealth } from '../../link/message.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import { statusKeeping } from './status-keeping.ts'

/** The report after a minute with these feeds and sources, by the second. */
function reportOf(at: (second: number) => Pick<Heartbeat, 'feeds' | 'sources'>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-status-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const { clock, engine, maintenance, deliver } = gatewayFixture()
  const observed = { engine, maintenance, checks: () => [] }
  const status = statusKeeping(dataDir, observed, { clock, log: pino({ level: 'silent' }) })
  status.start?.()
  onTestFinished(() => void status.stop())
  for (let second = 0; second < 60; second += 1) {
    deliver({
      kind: 'heartbeat',
      heartbeat: { startedAtMs: 0, ...at(second), store: STORE_OK, counts: {} },
    })
    clock.advance(1_000)
  }
  return JSON.parse(status.document.bytes().toString()) as StatusReport
}

test.each<[FeedHealth['state'], string[]]>([
  ['degraded', []],
  ['down', ['source_down']],
])('a feed that is %s for a minute: incidents %j', (state, kinds) => {
  const feeds = [{ feed: 'venue', state, sinceMs: 0, reason: 'clock_offset' }]
  const report = reportOf(() => ({ feeds, sources: [] }))
  expect(report.sources).toMatchObject([{ source: 'venue', state }])
  expect(report.incidents.map(({ kind }) => kind)).toEqual(kinds)
})

test.each<[SourceHealth['state'], string, string[], number]>([
  ['degraded', 'ok', [], 100],
  ['down', 'degraded', ['source_down'], 0],
  ['blocked', 'degraded', ['source_down'], 0],
])('a source that is %s: %s, incidents %j, coverage %s', (state, word, kinds, coverage) => {
  const sources = [{ source: 'pyth-evm' as const, state, sinceMs: 0, reason: 'in part' }]
  const report = reportOf(() => ({ feeds: [FEED_UP], sources }))
  expect(report.status).toBe(word)
  expect(report.incidents.map(({ kind }) => kind)).toEqual(kinds)
  expect(report.sources[1]).toMatchObject({ source: 'pyth-evm', state, coverage_pct: coverage })
})

test('a source that needs a key, and so is off after its first attempt, is not listed', () => {
  const report = reportOf((second) => {
    const state = second === 0 ? 'down' : 'off'
    const sources = [{ source: 'pyth-hermes' as const, state, sinceMs: 0, reason: '' } as const]
    return { feeds: [FEED_UP], sources }
  })
  expect(report).toMatchObject({ status: 'ok', sources: [{ source: 'venue' }] })
  expect(report.sources).toHaveLength(1)
})

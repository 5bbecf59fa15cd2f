import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { gatewayFixture } from '../../api/testing/gateway-fixture.ts'
import type { FeedHealth } from '../../link/message.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import { statusKeeping } from './status-keeping.ts'

test.each<[FeedHealth['state'], string[]]>([
  ['degraded', []],
  ['down', ['source_down']],
])('a feed that is %s for a minute: incidents %j', (state, kinds) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-status-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const { clock, engine, maintenance, deliver } = gatewayFixture()
  const observed = { engine, maintenance, checks: () => [] }
  const status = statusKeeping(dataDir, observed, { clock, log: pino({ level: 'silent' }) })
  status.start?.()
  onTestFinished(() => void status.stop())
  const feeds = [{ feed: 'venue', state, sinceMs: 0, reason: 'clock_offset' }]
  for (let second = 0; second < 60; second += 1) {
    deliver({
      kind: 'heartbeat',
      heartbeat: { startedAtMs: 0, feeds, sources: [], store: STORE_OK, counts: {} },
    })
    clock.advance(1_000)
  }
  const report = JSON.parse(status.document.bytes.toString())
  expect(report.sources).toMatchObject([{ source: 'venue', state }])
  expect(report.incidents.map(({ kind }: { kind: string }) => kind)).toEqual(kinds)
})

import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { EngineReplica } from '../../link/engine-replica.ts'
import { gatewayFixture } from '../testing/gateway-fixture.ts'
import { pulseLike } from '../testing/pulse-like.ts'
import { LiveDocuments } from './live-documents.ts'

test('a document can be followed while the engine starts, and after it has ended', () => {
  const engine = new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView })
  const documents = new LiveDocuments({
    ...{ contracts: [pulseLike], charts: [], engine, clock: new ManualClock() },
    isClockOff: () => false,
  })
  const versionOf = () => {
    const opened = documents.open('/pulse/BTC')
    if (opened.kind !== 'document') throw new Error(`refused: ${opened.code}`)
    return opened.newest()
  }
  expect(versionOf()?.version, 'it starts').toMatch(/^refused-data_stale-/)
  engine.disconnected()
  expect(versionOf()?.version, 'it has ended').toMatch(/^refused-engine_unavailable-/)
  expect(documents.open('/pulse/BTC?timeframes=9w')).toMatchObject({ kind: 'refusal' })
})

test('a document whose inputs become late is another version, once', () => {
  const { engine, clock } = gatewayFixture()
  const documents = new LiveDocuments({
    ...{ contracts: [pulseLike], charts: [], engine, clock },
    isClockOff: () => false,
  })
  const opened = documents.open('/pulse/BTC')
  const shown = () => {
    const newest = opened.kind === 'document' ? opened.newest() : null
    const text = newest !== null && 'answer' in newest.body ? newest.body.answer : '{}'
    return { version: newest?.version, grade: JSON.parse(text).meta?.quality.grade }
  }
  const fresh = shown()
  expect(fresh.grade).toBe('A')
  clock.advance(9_000)
  expect(shown().version).toBe(fresh.version)
  clock.advance(1_000)
  const late = shown()
  expect(late.grade).toBe('C')
  expect(late.version).not.toBe(fresh.version)
  clock.advance(1_000)
  expect(shown().version).toBe(late.version)
})

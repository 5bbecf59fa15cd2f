import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { EngineReplica } from '../../link/engine-replica.ts'
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

import { expect, test } from 'vitest'
import type { Document } from '../../domain/document.ts'
import { EngineReplica } from '../../link/engine-replica.ts'
import type { FeedHealth } from '../../link/message.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import { EngineFitness } from './engine-fitness.ts'

const NOW_MS = 1_000_000

test('an engine may lead once it is fed and has a coin, until it ends, and then again', () => {
  const engine = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  const fitness = new EngineFitness(engine, NOW_MS)
  expect(fitness.fault(NOW_MS)).toMatchObject({ sinceMs: NOW_MS })
  engine.apply({ kind: 'documents', documents: [pulse] }, NOW_MS)
  expect(fitness.isFit(NOW_MS), 'documents of an earlier run alone').toBe(false)
  engine.apply(heartbeat('down'), NOW_MS)
  expect(fitness.isFit(NOW_MS)).toBe(false)
  engine.apply(heartbeat('up'), NOW_MS)
  expect(fitness.isFit(NOW_MS)).toBe(true)
  engine.apply(heartbeat('down'), NOW_MS)
  expect(fitness.isFit(NOW_MS), 'a failure of the venue is the same for every engine').toBe(true)
  engine.disconnected()
  expect(fitness.fault(NOW_MS + 5)).toMatchObject({ sinceMs: NOW_MS + 5 })
  engine.apply(heartbeat('down'), NOW_MS + 9)
  expect(fitness.isFit(NOW_MS + 9)).toBe(false)
  engine.apply(heartbeat('up'), NOW_MS + 10)
  expect(fitness.fault(NOW_MS + 10)).toBeNull()
})

const pulse: Document = {
  ...{ key: 'pulse/BTC', version: 1, renderedAtMs: NOW_MS, bytes: new Uint8Array(), parts: [] },
  views: { '1h,4h': { kind: 'answer', parts: [], inputs: [], coveragePct: 100, warnings: [] } },
}

function heartbeat(state: FeedHealth['state']) {
  const feeds = [{ feed: 'venue', state, sinceMs: NOW_MS, reason: 'test' }]
  return {
    kind: 'heartbeat',
    heartbeat: { startedAtMs: NOW_MS, feeds, sources: [], store: STORE_OK, counts: {} },
  } as const
}

import { expect, test } from 'vitest'
import type { Document } from '../../domain/document.ts'
import type { StoreHealth } from '../../domain/history.ts'
import type { Heartbeat } from '../../link/message.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import { adminFixture, USAGE } from '../testing/admin-fixture.ts'
import { layOut, pulseLike } from '../testing/pulse-like.ts'

const STARTED_MS = Date.UTC(2026, 0, 1)

async function reportOf({ admin }: ReturnType<typeof adminFixture>) {
  return (await admin.inject('/desk/health')).json()
}

function heartbeat(members: Partial<Heartbeat> = {}): Heartbeat {
  return {
    startedAtMs: STARTED_MS,
    feeds: [],
    sources: [],
    store: STORE_OK,
    counts: {},
    ...members,
  }
}

test('the report has engine, threads, memory, disk and store', async () => {
  const fixture = adminFixture()
  const store: StoreHealth = {
    ...{ state: 'degraded', reason: 'SQLITE_FULL', sinceMs: 1 },
    ...{ droppedRows: 7, damagedBlocks: 2, setAsideFiles: 1 },
  }
  const recording = { state: 'on', reason: null, sinceMs: 2 } as const
  const thread = { ...USAGE, heapUsedBytes: 9 }
  fixture.deliver({
    kind: 'heartbeat',
    heartbeat: heartbeat({ store, recording, thread, venueAheadMs: -40 }),
  })
  fixture.clock.advance(1_500)
  expect(await reportOf(fixture)).toMatchObject({
    ...{ nowMs: STARTED_MS + 1_500, version: '0.1.0', role: 'all', startedAtMs: STARTED_MS },
    engine: {
      ...{ state: 'available', startedAtMs: STARTED_MS },
      ...{ heartbeatAgeMs: 1_500, venueAheadMs: -40 },
    },
    threads: [
      { thread: 'gateway', ...USAGE },
      { thread: 'engine', ...USAGE, heapUsedBytes: 9 },
    ],
    ...{ residentBytes: 5, disk: { freeBytes: 6, totalBytes: 7 }, store, recording, checks: [] },
  })
  fixture.clock.advance(20_000)
  expect((await reportOf(fixture)).engine).toMatchObject({ state: 'silent' })
  fixture.engine.disconnected()
  fixture.clock.advance(1_000)
  expect((await reportOf(fixture)).engine).toMatchObject({ state: 'unavailable' })
})

test('sources have state, lag, lost connections and gaps by their own notices', async () => {
  const fixture = adminFixture()
  const { clock } = fixture
  fixture.deliver({
    kind: 'heartbeat',
    heartbeat: heartbeat({
      feeds: [
        { feed: 'venue', state: 'up', sinceMs: 3, reason: 'connected', newestMs: clock.nowMs() },
      ],
      sources: [
        { source: 'okx', state: 'degraded', sinceMs: 4, reason: 'partly', newestMs: clock.nowMs() },
        { source: 'solana', state: 'down', sinceMs: 5, reason: 'request_failed' },
      ],
      counts: {
        ...{ 'reconnect:closed 1006': 2, 'coin-silent:trades': 3, 'request-failed:candles': 1 },
        ...{ 'trades-bridged': 5, 'okx:reconnect': 4, 'solana:node_failed': 6 },
      },
    }),
  })
  clock.advance(250)
  expect((await reportOf(fixture)).sources).toEqual([
    {
      ...{ source: 'venue', state: 'up', reason: 'connected', sinceMs: 3, lagMs: 250 },
      ...{ reconnects: 2, gaps: 4 },
      notices: {
        ...{ 'reconnect:closed 1006': 2, 'coin-silent:trades': 3 },
        ...{ 'request-failed:candles': 1, 'trades-bridged': 5 },
      },
    },
    {
      ...{ source: 'okx', state: 'degraded', reason: 'partly', sinceMs: 4, lagMs: 250 },
      ...{ reconnects: 4, gaps: 0, notices: { 'okx:reconnect': 4 } },
    },
    {
      ...{ source: 'solana', state: 'down', reason: 'request_failed', sinceMs: 5, lagMs: null },
      ...{ reconnects: 0, gaps: 6, notices: { 'solana:node_failed': 6 } },
    },
  ])
})

test('a coin that an analysis does not cover is no document without an answer', async () => {
  const fixture = adminFixture()
  const views = { [pulseLike.defaultView]: { kind: 'not-covered', coins: ['BTC'] } } as const
  const document: Document = { ...layOut([]), key: 'pulse/ETH', version: 1, renderedAtMs: 0, views }
  fixture.deliver({ kind: 'documents', documents: [document] })
  const [pulse] = (await reportOf(fixture)).documents
  expect(pulse).toMatchObject({ documents: 2, answerable: 2 })
})

test('documents are counted with the age and grade of what can be sold, every 5 s', async () => {
  const fixture = adminFixture()
  fixture.clock.advance(1_000)
  const [pulse] = (await reportOf(fixture)).documents
  expect(pulse).toEqual({
    ...{ analysis: 'pulse', documents: 2, answerable: 2 },
    ...{ medianAgeMs: 1_000, worstAgeMs: 1_000, worstSubject: 'BTC' },
    grades: { A: 2, B: 0, C: 0, D: 0 },
  })
  fixture.clock.advance(4_999)
  expect((await reportOf(fixture)).documents[0].worstAgeMs).toBe(1_000)
  fixture.clock.advance(1_000)
  expect((await reportOf(fixture)).documents[0].worstAgeMs).toBe(6_999)
})

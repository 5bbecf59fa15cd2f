import assert from 'node:assert/strict'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { universe } from '../compute/testing/tape.ts'
import { BlockChains } from '../domain/block-chains.ts'
import type { Document } from '../domain/document.ts'
import { packDocument } from '../domain/packed-document.ts'
import { DocumentMemory, newDocumentMemory, PlacedDocument } from '../domain/placed-document.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import { STORE_OK } from '../link/testing/store-ok.ts'
import { measureWarmUp, warmUpLog } from './warm-up.ts'

describe('the warm-up is logged', () => {
  let clock: ManualClock
  let replica: EngineReplica
  let said: { readonly what: string; readonly ready: unknown; readonly seconds: unknown }[]
  let stop: () => void

  beforeEach(() => {
    clock = new ManualClock()
    replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
    said = []
    const info = ({ ready, seconds }: { ready: unknown; seconds: unknown }, what: string) =>
      said.push({ what, ready, seconds })
    const warmUp = warmUpLog(replica, clock, { info } as unknown as Logger)
    warmUp.start()
    stop = warmUp.stop
  })

  function list(...coins: string[]): void {
    const event = universe(coins)
    if (event.kind === 'universe')
      replica.apply({ kind: 'universe', listings: event.listings }, clock.nowMs())
  }

  let version = 0
  function answer(coin: string, ...views: string[]): void {
    version += 1
    const answered = { kind: 'answer', parts: [], inputs: [], coveragePct: 100, warnings: [] }
    const document = {
      key: `pulse/${coin}`,
      version,
      views: Object.fromEntries(views.map((view) => [view, answered])),
    } as unknown as Document
    replica.apply({ kind: 'documents', documents: [document] }, clock.nowMs())
  }

  test('by timeframe whenever it changes, until every coin has an answer', () => {
    clock.advance(5_000)
    expect(said, 'no coin is listed yet').toEqual([])
    list('A', 'B')
    answer('A', '15m', '1h', '4h')
    clock.advance(5_000)
    clock.advance(20_000)
    answer('B', '15m')
    clock.advance(5_000)
    answer('B', '15m', '1h', '4h')
    clock.advance(5_000)
    expect(said).toEqual([
      { what: 'warming up', ready: { '15m': 1, '1h': 1, '4h': 1 }, seconds: 10 },
      { what: 'warming up', ready: { '15m': 2, '1h': 1, '4h': 1 }, seconds: 35 },
      { what: 'warm', ready: { '15m': 2, '1h': 2, '4h': 2 }, seconds: 40 },
    ])
  })

  test('no more after it is complete', () => {
    list('A')
    answer('A', '15m', '1h', '4h')
    clock.advance(5_000)
    list('A', 'NEW')
    clock.advance(60_000)
    expect(said).toHaveLength(1)
  })

  test('until every coin has an answer that the limit of subscriptions admits, as it is measured', async () => {
    const metrics = new Registry()
    measureWarmUp(metrics, replica)
    const coins = [...'ABCDEFGHIJ']
    list(...coins)
    const heartbeat = { startedAtMs: 0, feeds: [], sources: [], store: STORE_OK, counts: {} }
    replica.apply({ kind: 'heartbeat', heartbeat: { ...heartbeat, coinsLeftOut: 3 } }, 0)
    for (const coin of coins.slice(0, 7)) answer(coin, '15m', '1h', '4h')
    clock.advance(5_000)
    expect(said).toMatchObject([{ what: 'warm', ready: { '1h': 7 } }])
    expect(await metrics.metrics()).toContain('perpscope_warm_up_ratio{timeframe="1h"} 1\n')
  })

  test('from documents that stay in the memory of the engine', () => {
    list('A')
    const memory = newDocumentMemory()
    const answered = {
      kind: 'answer',
      parts: [],
      inputs: [],
      coveragePct: 100,
      warnings: [],
    } as const
    const [placed] = new DocumentMemory(memory).place([
      packDocument({
        ...{ key: 'pulse/A', version: 1, renderedAtMs: 0, bytes: new Uint8Array(), parts: [] },
        views: { '1h': answered },
      }),
    ])
    assert(placed instanceof PlacedDocument)
    const received = new PlacedDocument(structuredClone(placed), new BlockChains(memory))
    replica.apply({ kind: 'documents', documents: [received] }, clock.nowMs())
    clock.advance(5_000)
    expect(said).toMatchObject([{ ready: { '15m': 0, '1h': 1, '4h': 0 } }])
    expect(replica.documentsOf('A')).toEqual([received])
  })

  test('until it is stopped', () => {
    list('A')
    stop()
    clock.advance(60_000)
    expect(said).toEqual([])
  })
})

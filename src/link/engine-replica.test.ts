import { describe, expect, test } from 'vitest'
import { BlockChains } from '../domain/block-chains.ts'
import type { Document, DocumentKey, NoAnswer } from '../domain/document.ts'
import type { Listing } from '../domain/listing.ts'
import { tradableOf } from '../domain/listing.ts'
import { packDocument } from '../domain/packed-document.ts'
import {
  DocumentMemory,
  newDocumentMemory,
  ownDocuments,
  PlacedDocument,
} from '../domain/placed-document.ts'
import { EngineReplica } from './engine-replica.ts'
import type { EngineMessage } from './message.ts'

const NOW_MS = 1_000_000
const cold: NoAnswer = { kind: 'insufficient-candles', timeframe: '1h', have: 1, need: 200 }

describe('engine replica', () => {
  test('lists the coins whose default pulse can be answered, sorted', () => {
    const replica = replicaWith(
      document('pulse/SOL'),
      document('pulse/BTC'),
      document('pulse/NEW', 1, false),
    )
    expect(replica.coins()).toEqual(['BTC', 'SOL'])
  })

  test('takes a coin off the list when it can no longer be answered', () => {
    const replica = replicaWith(document('pulse/BTC', 1), document('pulse/BTC', 2, false))
    expect(replica.coins()).toEqual([])
  })

  test('does not list a coin for any other analysis', () => {
    expect(replicaWith(document('spread/BTC')).coins()).toEqual([])
  })

  test('a document that was overtaken on the way does not go back in time', () => {
    const replica = replicaWith(document('pulse/BTC', 5), document('pulse/BTC', 4, false))
    expect(replica.document('pulse/BTC')?.version).toBe(5)
    expect(replica.coins()).toEqual(['BTC'])
  })

  test('forgets a coin that was delisted', () => {
    const replica = replicaWith(document('pulse/BTC'), document('spread/BTC'))
    replica.apply(
      { kind: 'universe', listings: [listing('BTC', true), listing('ETH', false)] },
      NOW_MS,
    )
    expect(replica.coins()).toEqual([])
    expect(replica.document('spread/BTC')).toBeUndefined()
    expect(replica.resolve('btc')).toBeUndefined()
    expect(replica.resolve('eth')).toEqual({ coin: 'ETH' })
  })

  test('distinguishes an engine that starts from one that ended', () => {
    const replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
    expect([replica.state(NOW_MS), replica.isStarting]).toEqual(['unavailable', true])
    replica.apply({ kind: 'documents', documents: [] }, NOW_MS)
    expect([replica.state(NOW_MS), replica.isStarting]).toEqual(['available', false])
    replica.disconnected()
    expect([replica.state(NOW_MS), replica.isStarting]).toEqual(['unavailable', false])
    const failed = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
    failed.disconnected()
    expect(failed.isStarting, 'it ended before its first message').toBe(false)
  })

  test('gives every reader bytes that a later document cannot change', () => {
    const { replica, publish } = rig()
    publish(document('pulse/BTC', 1))
    const read = replica.document('pulse/BTC')
    expect(replica.document('pulse/BTC'), 'always the same object').toBe(read)
    for (let version = 2; version < 50; version += 1) publish(document('pulse/BTC', version))
    expect(read).toEqual(packDocument(document('pulse/BTC', 1)))
    expect(replica.document('pulse/BTC')?.version).toBe(49)
  })

  test('gives the engine the memory of documents that it has no longer', () => {
    const { replica, publish, memory } = rig()
    const large = (key: DocumentKey, version: number) => ({
      ...document(key, version),
      bytes: new Uint8Array(100_000),
    })
    const listings = [listing('BTC', false)]
    for (let version = 1; version <= 40; version += 3) {
      publish(large('pulse/BTC', version + 1), large('pulse/BTC', version))
      publish(large('pulse/GONE', version))
      publish({ kind: 'universe', listings })
      publish(large('spread/BTC', version))
      replica.document('spread/BTC')
      publish(large('screener/*', version))
      replica.apply({ kind: 'subject', subject: '*', documents: [] }, NOW_MS)
    }
    expect(memory.byteLength).toBe(2 ** 20)
  })

  test('has nothing in the memory of an engine that has ended', () => {
    const { replica, publish, memory } = rig()
    publish(document('pulse/BTC', 1), document('spread/BTC', 2))
    replica.disconnected()
    new Uint8Array(memory).fill(0xff)
    expect(replica.coins()).toEqual(['BTC'])
    expect(replica.document('pulse/BTC')).toEqual(packDocument(document('pulse/BTC', 1)))
    expect(replica.document('spread/BTC')).toEqual(packDocument(document('spread/BTC', 2)))
  })

  test('reads the views of a document without keeping it', () => {
    const { replica, publish } = rig()
    publish(document('pulse/BTC', 1))
    const { renderedAtMs, views } = document('pulse/BTC', 1)
    expect(replica.viewsOf('pulse/BTC')).toMatchObject({ renderedAtMs, views })
    const held = replica.documentsOf('BTC')
    expect(held[0]).toBeInstanceOf(PlacedDocument)
    expect(ownDocuments(held)).toEqual([packDocument(document('pulse/BTC', 1))])
    expect(replica.viewsOf('pulse/ETH')).toBeUndefined()
  })

  test('keeps its documents while the engine is gone', () => {
    const replica = replicaWith(document('pulse/BTC'))
    replica.disconnected()
    expect(replica.state(NOW_MS)).toBe('unavailable')
    expect(replica.document('pulse/BTC')).toBeDefined()
  })
})

function replicaWith(...documents: Document[]): EngineReplica {
  const replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  for (const one of documents) replica.apply({ kind: 'documents', documents: [one] }, NOW_MS)
  return replica
}

function document(key: Document['key'], version = 1, answers = true): Document {
  const answer = { kind: 'answer', parts: [], inputs: [], coveragePct: 100, warnings: [] } as const
  return {
    key,
    version,
    renderedAtMs: NOW_MS,
    bytes: new Uint8Array(),
    parts: [],
    views: { '1h,4h': answers ? answer : cold },
  }
}

function listing(coin: string, isDelisted: boolean): Listing {
  return { coin, sizeDecimals: 2, maxLeverage: 3, marginTiers: [], isDelisted }
}

/** A replica that receives what an engine of another thread sends. */
function rig() {
  const memory = newDocumentMemory()
  const engine = new DocumentMemory(memory)
  const gateway = new BlockChains(memory)
  const replica = replicaWith()
  const publish = (...sent: readonly (Document | EngineMessage)[]) => {
    for (const one of sent) {
      if ('kind' in one) {
        replica.apply(one, NOW_MS)
        if (one.kind === 'universe') engine.retain(new Set(tradableOf(one.listings)))
        continue
      }
      const documents = engine
        .place([packDocument(one)])
        .map((placed) =>
          placed instanceof PlacedDocument
            ? new PlacedDocument(structuredClone(placed), gateway)
            : placed,
        )
      replica.apply({ kind: 'documents', documents }, NOW_MS)
    }
  }
  return { memory, replica, publish }
}

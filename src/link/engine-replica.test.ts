import { describe, expect, test } from 'vitest'
import type { Document, NoAnswer } from '../domain/document.ts'
import type { Listing } from '../domain/listing.ts'
import { EngineReplica } from './engine-replica.ts'

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

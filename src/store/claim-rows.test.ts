import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { ClaimRows, createClaimTable, readClaims } from './claim-rows.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW_MS = 20_000 * DAY_MS

describe('claims on disk', () => {
  test('are read by family and day, in the order in which they were resolved', () => {
    const { db, rows } = opened()
    const first = claim('zone.touch@1', 'BTC', NOW_MS, NOW_MS + DAY_MS)
    const second = claim('zone.reaction@1', 'ETH', NOW_MS + HOUR_MS, NOW_MS + DAY_MS + 1)
    const later = claim('zone.touch@1', 'ETH', NOW_MS + 2 * HOUR_MS, NOW_MS + DAY_MS + 2 * HOUR_MS)
    rows.add([first])
    rows.add([later, second])
    rows.add([claim('vote.rsi@1', 'BTC', NOW_MS, NOW_MS + DAY_MS)])
    rows.add([claim('zone.touch@1', 'BTC', NOW_MS - 1, NOW_MS + DAY_MS)])
    expect(readClaims(db, 'zone', NOW_MS)).toEqual(
      [first, second, later].map((one, sequence) => ({ ...one, sequence })),
    )
    expect(readClaims(db, 'vote', NOW_MS)).toHaveLength(1)
    expect(readClaims(db, 'cascade', NOW_MS)).toEqual([])
  })

  test('are stored once, however often they are resolved again after a crash', () => {
    const { db, rows } = opened()
    const one = claim('cascade.score@1', 'BTC', NOW_MS, NOW_MS + DAY_MS)
    for (let at = 0; at < 3; at += 1) rows.add([one])
    expect(readClaims(db, 'cascade', NOW_MS)).toEqual([{ ...one, sequence: 0 }])
    rows.add([{ ...one, resolvedAtMs: one.resolvedAtMs + HOUR_MS }])
    expect(readClaims(db, 'cascade', NOW_MS)).toEqual([{ ...one, sequence: 0 }])
  })

  test('are kept for 90 days', () => {
    const { db, rows } = opened()
    rows.add([claim('cascade.score@1', 'BTC', NOW_MS, NOW_MS + DAY_MS)])
    rows.retain(NOW_MS + 90 * DAY_MS)
    expect(readClaims(db, 'cascade', NOW_MS)).toHaveLength(1)
    rows.retain(NOW_MS + 91 * DAY_MS)
    expect(readClaims(db, 'cascade', NOW_MS)).toEqual([])
  })

  test('of a damaged row count as never written', () => {
    const { db, rows } = opened()
    rows.add([claim('cascade.score@1', 'BTC', NOW_MS, NOW_MS + DAY_MS)])
    db.exec("UPDATE claims SET body = x'00'")
    expect(readClaims(db, 'cascade', NOW_MS)).toEqual([])
    rows.add([claim('cascade.score@1', 'ETH', NOW_MS, NOW_MS + DAY_MS)])
    expect(readClaims(db, 'cascade', NOW_MS).map(({ coin }) => coin)).toEqual(['ETH'])
  })
})

function opened() {
  const db = new Database(':memory:')
  db.exec(createClaimTable)
  return { db, rows: new ClaimRows(db) }
}

function claim(
  rule: ResolvedClaim['rule'],
  coin: string,
  madeAtMs: number,
  resolvedAtMs: number,
): ResolvedClaim {
  return {
    ...{ rule, coin, madeAtMs, resolvedAtMs },
    coinClass: 'majors',
    horizonMs: DAY_MS,
    statement: { form: 'rank', score: 0.1 + 0.2, control: -1e-9 },
    reference: [1, 118_712.5],
    outcome: { kind: 'value', value: 1 / 3 },
  }
}

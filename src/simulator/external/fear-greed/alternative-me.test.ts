import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../../test/support/manual-clock.ts'
import { seededMarket } from '../../market/seeded-market.ts'
import { ReferencePrices } from '../reference-prices.ts'
import { alternativeMe } from './alternative-me.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7, 33)
const DAY_MS = 86_400_000

type Row = {
  value: string
  value_classification: string
  timestamp: string
  time_until_update?: string
}

function begin(seed = 5) {
  const clock = new ManualClock(START_MS)
  const reference = new ReferencePrices({ market: seededMarket({ seed, startMs: START_MS }), seed })
  const upstream = alternativeMe(reference, clock)
  const get = (query: string, path = '/fng/'): { data: Row[]; metadata: { error: null } } => {
    const request = { method: 'GET', path, headers: {}, body: '' }
    const reply = upstream.request?.({ ...request, query: new URLSearchParams(query) })
    if (reply === null || reply === undefined || !('body' in reply)) throw new Error('an answer')
    return JSON.parse(reply.body)
  }
  return { clock, get }
}

describe('the simulated index', () => {
  test('returns today by default, as text, with the time until the next value', () => {
    const { data, metadata } = begin().get('')
    expect(metadata).toEqual({ error: null })
    expect(data).toHaveLength(1)
    expect(data[0]?.timestamp).toBe(String(Date.UTC(2026, 9, 7) / 1_000))
    expect(data[0]?.value).toMatch(/^\d{1,3}$/)
    const leftS = (Date.UTC(2026, 9, 8) - START_MS) / 1_000
    expect(data[0]?.time_until_update).toBe(String(leftS))
  })

  test('returns all days for a limit of zero', () => {
    const { data } = begin().get('limit=0')
    expect(data).toHaveLength((Date.UTC(2026, 9, 7) - Date.UTC(2018, 1, 1)) / DAY_MS + 1)
    for (const { value } of data) expect(Number(value) >= 0 && Number(value) <= 100).toBe(true)
    expect(new Set(data.map(({ value_classification }) => value_classification)).size).toBe(5)
  })

  test('says the same of a day tomorrow and for ever, and another seed says something else', () => {
    const { clock, get } = begin()
    const before = get('limit=30').data.map(({ value }) => value)
    clock.advance(DAY_MS)
    const after = get('limit=31').data.map(({ value }) => value)
    expect(after.slice(1)).toEqual(before)
    expect(
      begin(6)
        .get('limit=30')
        .data.map(({ value }) => value),
    ).not.toEqual(before)
  })
})

import { test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { mutated } from '../testing/mutated.ts'
import { decodeFearGreed } from './decode.ts'

const DAY_S = 86_400
const TODAY_S = Date.UTC(2026, 10, 20) / 1_000
const NOW_MS = TODAY_S * 1_000 + 3_600_000

const day = (value: unknown, timestamp: unknown) => ({
  value,
  value_classification: 'Fear',
  timestamp,
})
const body = (...data: readonly unknown[]) =>
  JSON.stringify({ name: 'Fear and Greed Index', data, metadata: { error: null } })

describe('the index', () => {
  test('is the newest day, stamped with its midnight', () => {
    const text = body(day('40', String(TODAY_S - DAY_S)), day('47', String(TODAY_S)))
    expect(decodeFearGreed(text, NOW_MS)).toEqual({
      issues: [],
      events: [
        { kind: 'fear-greed', value: 47, timeExchangeMs: TODAY_S * 1_000, timeReceivedMs: NOW_MS },
      ],
    })
  })

  test.each([
    ['above 100', '101', String(TODAY_S)],
    ['negative', '-3', String(TODAY_S)],
    ['no number', 'high', String(TODAY_S)],
    ['empty', '', String(TODAY_S)],
    ['null', null, String(TODAY_S)],
    ['half', '47.5', String(TODAY_S)],
    ['of tomorrow', '47', String(TODAY_S + DAY_S)],
    ['of no day', '47', 'today'],
  ])('%s is left out; the value of yesterday is used', (_, value, timestamp) => {
    const text = body(day(value, timestamp), day('40', String(TODAY_S - DAY_S)))
    expect(decodeFearGreed(text, NOW_MS).events).toMatchObject([{ value: 40 }])
  })

  test.each(['', 'null', '{"data":[]}', '{"data":{}}', '<html>'])('%j is undecodable', (text) => {
    expect(decodeFearGreed(text, NOW_MS)).toMatchObject({
      events: [],
      issues: [{ kind: 'undecodable' }],
    })
  })

  test.prop([mutated(body(day('47', String(TODAY_S)), day('40', String(TODAY_S - DAY_S))))], {
    numRuns: 2_000,
  })('mangled on its way stays between 0 and 100', (text) => {
    for (const event of decodeFearGreed(text, NOW_MS).events) {
      if (event.kind !== 'fear-greed') throw new Error('an event of the index is expected')
      expect(Number.isInteger(event.value) && event.value >= 0 && event.value <= 100).toBe(true)
      expect(event.timeExchangeMs).toBeLessThanOrEqual(NOW_MS + 10_000)
    }
  })
})

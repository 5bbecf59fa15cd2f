import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { FundingRow } from '../../../domain/history.ts'
import { FundingCache } from './funding-cache.ts'

const HOUR_MS = 3_600_000
const NOON_MS = Date.UTC(2026, 0, 31, 12)
/** Of the month that ends with noon. */
const FIRST_MS = NOON_MS - 719 * HOUR_MS
const NOW_MS = NOON_MS + 20 * 60_000

describe('funding that is lacking', () => {
  test('is a month of a coin of which nothing is known', () => {
    expect(new FundingCache().needFromMs('BTC', NOW_MS)).toBe(FIRST_MS)
  })

  test('begins where the first page of the venue ended', () => {
    const cache = new FundingCache()
    cache.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 500), isWhole: true })
    expect(cache.needFromMs('BTC', NOW_MS)).toBe(FIRST_MS + 500 * HOUR_MS)
    cache.answered('BTC', FIRST_MS + 500 * HOUR_MS, {
      rows: hours(FIRST_MS + 500 * HOUR_MS, 220),
      isWhole: true,
    })
    expect(cache.needFromMs('BTC', NOW_MS)).toBeNull()
    expect(cache.needFromMs('ETH', NOW_MS)).toBe(FIRST_MS)
  })

  test('is the hour that was settled just now, a minute after it', () => {
    const cache = new FundingCache()
    cache.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 720), isWhole: true })
    const nextMs = NOON_MS + HOUR_MS
    expect(cache.needFromMs('BTC', nextMs + 59_999)).toBeNull()
    expect(cache.needFromMs('BTC', nextMs + 60_000)).toBe(nextMs)
  })

  test('is nothing where the venue had no more: a young coin, or hours that it left out', () => {
    const cache = new FundingCache()
    const young = hours(NOON_MS - 30 * HOUR_MS, 31).filter((_, at) => at !== 10)
    cache.answered('NEW', FIRST_MS, { rows: young, isWhole: true })
    expect(cache.needFromMs('NEW', NOW_MS)).toBeNull()
    cache.answered('EMPTY', FIRST_MS, { rows: [], isWhole: true })
    expect(cache.needFromMs('EMPTY', NOW_MS), 'it is asked again').toBe(FIRST_MS)
  })

  test('begins with the hour that an answer left out as broken, which is asked for once more', () => {
    const cache = new FundingCache()
    const rows = hours(FIRST_MS, 720)
    const brokenMs = FIRST_MS + 700 * HOUR_MS
    cache.answered('BTC', FIRST_MS, { rows: rows.toSpliced(700, 1), isWhole: false })
    expect(cache.needFromMs('BTC', NOW_MS)).toBe(brokenMs)
    cache.answered('BTC', brokenMs, { rows: rows.slice(701), isWhole: false })
    expect(cache.needFromMs('BTC', NOW_MS), 'what cannot be read twice is not to be had').toBeNull()
  })

  test('is the newest hour while nothing else came than what is broken', () => {
    const cache = new FundingCache()
    cache.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 719), isWhole: true })
    for (const times of [1, 2, 3]) {
      cache.answered('BTC', NOON_MS, { rows: [], isWhole: false })
      expect(cache.needFromMs('BTC', NOW_MS), `${times} times`).toBe(NOON_MS)
    }
    cache.answered('BTC', NOON_MS, { rows: hours(NOON_MS, 1), isWhole: true })
    expect(cache.needFromMs('BTC', NOW_MS)).toBeNull()
  })

  test('begins at the first hole of what our history remembers', () => {
    const cache = new FundingCache()
    const rows = hours(FIRST_MS - 24 * HOUR_MS, 744)
    cache.loaded('WHOLE', rows)
    expect(cache.needFromMs('WHOLE', NOW_MS)).toBeNull()
    cache.loaded('HOLE', rows.toSpliced(700, 1))
    expect(cache.needFromMs('HOLE', NOW_MS)).toBe(rows[700]?.timeMs)
    const estimated = rows.map((row, at) => (at < 740 ? row : { ...row, isSettled: false }))
    cache.loaded('ESTIMATED', estimated)
    expect(cache.needFromMs('ESTIMATED', NOW_MS)).toBe(rows[740]?.timeMs)
    cache.loaded('SHORT', rows.slice(-100))
    expect(cache.needFromMs('SHORT', NOW_MS)).toBe(FIRST_MS)
    cache.loaded('NOTHING', estimated.slice(740))
    expect(cache.needFromMs('NOTHING', NOW_MS)).toBe(FIRST_MS)
  })

  test('is all of it after longer than a month', () => {
    const cache = new FundingCache()
    cache.loaded('BTC', hours(FIRST_MS - 800 * HOUR_MS, 700))
    expect(cache.needFromMs('BTC', NOW_MS)).toBe(FIRST_MS)
  })

  test('is all of it of a coin that came back', () => {
    const cache = new FundingCache()
    cache.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 720), isWhole: true })
    cache.keep((coin) => coin !== 'BTC')
    expect(cache.needFromMs('BTC', NOW_MS)).toBe(FIRST_MS)
  })

  test.prop([
    fc.array(fc.tuple(fc.nat(40), fc.nat(20)), { minLength: 1, maxLength: 12 }),
    fc.nat(719),
  ])('never comes after an hour of the month that nobody cache', (answers, lackingAt) => {
    const cache = new FundingCache()
    const known = new Set<number>()
    const lackingMs = FIRST_MS + lackingAt * HOUR_MS
    for (const [block, length] of answers) {
      const fromMs = FIRST_MS + block * 18 * HOUR_MS
      const rows = hours(fromMs, length).filter(({ timeMs }) => timeMs < lackingMs)
      cache.answered('BTC', fromMs, { rows, isWhole: true })
      for (const { timeMs } of rows) known.add(timeMs)
    }
    const need = cache.needFromMs('BTC', NOW_MS)
    const first = hours(FIRST_MS, 720).find(({ timeMs }) => !known.has(timeMs))
    expect(need).not.toBeNull()
    expect(need).toBeLessThanOrEqual(first?.timeMs ?? 0)
  })
})

function hours(fromMs: number, count: number): FundingRow[] {
  return Array.from({ length: count }, (_, at) => ({
    coin: 'BTC',
    timeMs: fromMs + at * HOUR_MS,
    rateHourly: 0.0000125,
    premium: null,
    isSettled: true,
  }))
}

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
    const told = new FundingCache()
    told.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 500), isWhole: true })
    expect(told.needFromMs('BTC', NOW_MS)).toBe(FIRST_MS + 500 * HOUR_MS)
    told.answered('BTC', FIRST_MS + 500 * HOUR_MS, {
      rows: hours(FIRST_MS + 500 * HOUR_MS, 220),
      isWhole: true,
    })
    expect(told.needFromMs('BTC', NOW_MS)).toBeNull()
    expect(told.needFromMs('ETH', NOW_MS)).toBe(FIRST_MS)
  })

  test('is the hour that was settled just now, a minute after it', () => {
    const told = new FundingCache()
    told.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 720), isWhole: true })
    const nextMs = NOON_MS + HOUR_MS
    expect(told.needFromMs('BTC', nextMs + 59_999)).toBeNull()
    expect(told.needFromMs('BTC', nextMs + 60_000)).toBe(nextMs)
  })

  test('is nothing where the venue had no more: a young coin, or hours that it left out', () => {
    const told = new FundingCache()
    const young = hours(NOON_MS - 30 * HOUR_MS, 31).filter((_, at) => at !== 10)
    told.answered('NEW', FIRST_MS, { rows: young, isWhole: true })
    expect(told.needFromMs('NEW', NOW_MS)).toBeNull()
    told.answered('EMPTY', FIRST_MS, { rows: [], isWhole: true })
    expect(told.needFromMs('EMPTY', NOW_MS), 'it is asked again').toBe(FIRST_MS)
  })

  test('begins with the hour that an answer left out as broken, which is asked for once more', () => {
    const told = new FundingCache()
    const rows = hours(FIRST_MS, 720)
    const brokenMs = FIRST_MS + 700 * HOUR_MS
    told.answered('BTC', FIRST_MS, { rows: rows.toSpliced(700, 1), isWhole: false })
    expect(told.needFromMs('BTC', NOW_MS)).toBe(brokenMs)
    told.answered('BTC', brokenMs, { rows: rows.slice(701), isWhole: false })
    expect(told.needFromMs('BTC', NOW_MS), 'what cannot be read twice is not to be had').toBeNull()
  })

  test('is the newest hour while nothing else came than what is broken', () => {
    const told = new FundingCache()
    told.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 719), isWhole: true })
    for (const times of [1, 2, 3]) {
      told.answered('BTC', NOON_MS, { rows: [], isWhole: false })
      expect(told.needFromMs('BTC', NOW_MS), `${times} times`).toBe(NOON_MS)
    }
    told.answered('BTC', NOON_MS, { rows: hours(NOON_MS, 1), isWhole: true })
    expect(told.needFromMs('BTC', NOW_MS)).toBeNull()
  })

  test('begins at the first hole of what our history remembers', () => {
    const told = new FundingCache()
    const rows = hours(FIRST_MS - 24 * HOUR_MS, 744)
    told.loaded('WHOLE', rows)
    expect(told.needFromMs('WHOLE', NOW_MS)).toBeNull()
    told.loaded('HOLE', rows.toSpliced(700, 1))
    expect(told.needFromMs('HOLE', NOW_MS)).toBe(rows[700]?.timeMs)
    const estimated = rows.map((row, at) => (at < 740 ? row : { ...row, isSettled: false }))
    told.loaded('ESTIMATED', estimated)
    expect(told.needFromMs('ESTIMATED', NOW_MS)).toBe(rows[740]?.timeMs)
    told.loaded('SHORT', rows.slice(-100))
    expect(told.needFromMs('SHORT', NOW_MS)).toBe(FIRST_MS)
    told.loaded('NOTHING', estimated.slice(740))
    expect(told.needFromMs('NOTHING', NOW_MS)).toBe(FIRST_MS)
  })

  test('is all of it after longer than a month', () => {
    const told = new FundingCache()
    told.loaded('BTC', hours(FIRST_MS - 800 * HOUR_MS, 700))
    expect(told.needFromMs('BTC', NOW_MS)).toBe(FIRST_MS)
  })

  test('is all of it of a coin that came back', () => {
    const told = new FundingCache()
    told.answered('BTC', FIRST_MS, { rows: hours(FIRST_MS, 720), isWhole: true })
    told.keep((coin) => coin !== 'BTC')
    expect(told.needFromMs('BTC', NOW_MS)).toBe(FIRST_MS)
  })

  test.prop([
    fc.array(fc.tuple(fc.nat(40), fc.nat(20)), { minLength: 1, maxLength: 12 }),
    fc.nat(719),
  ])('never comes after an hour of the month that nobody told', (answers, lackingAt) => {
    const told = new FundingCache()
    const known = new Set<number>()
    const lackingMs = FIRST_MS + lackingAt * HOUR_MS
    for (const [block, length] of answers) {
      const fromMs = FIRST_MS + block * 18 * HOUR_MS
      const rows = hours(fromMs, length).filter(({ timeMs }) => timeMs < lackingMs)
      told.answered('BTC', fromMs, { rows, isWhole: true })
      for (const { timeMs } of rows) known.add(timeMs)
    }
    const need = told.needFromMs('BTC', NOW_MS)
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

import { describe, expect, test } from 'vitest'
import type { BackgroundTask, BackgroundView } from './background-requests.ts'
import { BackgroundRequests } from './background-requests.ts'

const HOUR_MS = 3_600_000
const NOON_MS = Date.UTC(2026, 0, 31, 12)

describe('what can wait', () => {
  test('waits for our own history, and for a calm', () => {
    const work = new BackgroundRequests()
    expect(work.next(view(0))).toBeUndefined()
    expect(work.next(view(60_000)), 'nothing is known yet').toBeUndefined()
    work.loading()
    work.loaded()
    work.wait(NOON_MS + 60_000)
    expect(work.next(view(64_999))).toBeUndefined()
    expect(work.next(view(65_000))).toEqual({ request: 'predictedFundings' })
  })

  test('is first what is paid next, then closed hours, then funding', () => {
    const work = calmWork()
    const lacking = new Set(['A'])
    const hourlyOf = (coin: string, venueMs: number) =>
      lacking.has(coin) ? venueMs - 100 * HOUR_MS : null
    const at = { ...view(10_000), hourlyOf }
    const first = work.next(at)
    expect(first?.request).toBe('predictedFundings')
    const hours = work.next(at)
    expect(hours).toMatchObject({ request: 'candleSnapshot', coin: 'A' })
    lacking.delete('A')
    if (hours !== undefined) work.answered(hours, at, 0)
    const fundings = ['A', 'B'].map((coin) => {
      const task = work.next({ ...at, nowMs: at.nowMs + 1_000 })
      expect(task).toEqual({ request: 'fundingHistory', coin, fromMs: NOON_MS - 720 * HOUR_MS })
      work.fundingCache.answered(coin, NOON_MS - 720 * HOUR_MS, {
        rows: [row(coin, NOON_MS - HOUR_MS)],
        isWhole: true,
      })
      return task
    })
    for (const task of fundings) if (task !== undefined) work.answered(task, at, 0)
    expect(work.next({ ...at, nowMs: at.nowMs + 3_000 })).toBeUndefined()
  })

  test('of the most traded coins does not wait for a calm', () => {
    const work = new BackgroundRequests()
    work.loading()
    expect(work.first(view(0)), 'their own history first').toBeUndefined()
    work.loaded()
    work.wait(NOON_MS)
    expect(work.first({ ...view(0), coins: [] }), 'none has its candles').toBeUndefined()
    expect(work.first(view(0))).toEqual({ request: 'predictedFundings' })
    expect(work.first(view(0))).toMatchObject({ request: 'fundingHistory', coin: 'A' })
    expect(work.next(view(0)), 'all others do').toBeUndefined()
  })

  test('asks what is paid next every five minutes, whether or not it was told', () => {
    const work = calmWork()
    work.fundingCache.answered('A', 0, { rows: [row('A', NOON_MS + HOUR_MS)], isWhole: true })
    work.fundingCache.answered('B', 0, { rows: [row('B', NOON_MS + HOUR_MS)], isWhole: true })
    const asked: number[] = []
    for (let atMs = 10_000; atMs < 1_000_000; atMs += 1_000) {
      const task = work.next({ ...view(atMs), venueMs: NOON_MS })
      if (task === undefined) continue
      asked.push(atMs)
      work.failed(task, NOON_MS + atMs, 0)
    }
    expect(asked).toEqual([10_000, 310_000, 610_000, 910_000])
  })

  test('does not return at once to what failed', () => {
    const work = calmWork()
    expect(work.next(view(10_000))?.request).toBe('predictedFundings')
    const failed = work.next(view(10_050)) as BackgroundTask
    work.failed(failed, NOON_MS + 10_100, 0)
    expect(work.next(view(20_000))).toBeUndefined()
    expect(work.next(view(20_100))).toMatchObject({ request: 'fundingHistory', coin: 'B' })
  })
})

function calmWork(): BackgroundRequests {
  const work = new BackgroundRequests()
  work.loading()
  work.loaded()
  work.next(view(0))
  return work
}

function view(atMs: number): BackgroundView {
  return {
    coins: ['A', 'B'],
    nowMs: NOON_MS + atMs,
    venueMs: NOON_MS + atMs,
    hourlyOf: () => null,
    dayNotional: (coin) => (coin === 'A' ? 2 : 1),
  }
}

function row(coin: string, timeMs: number) {
  return { coin, timeMs, rateHourly: 0, premium: null, isSettled: true }
}

import { describe, expect, test } from 'vitest'
import { BACKGROUND_SPACING_MS, BackgroundRotation } from './background-rotation.ts'

const NOW_MS = Date.UTC(2026, 0, 31, 12)
const HOUR_MS = 3_600_000
const MONTH_MS = 720 * HOUR_MS
/** By volume. */
const COINS = ['A', 'B', 'C', 'D']
const volume = (coin: string) => 100 - COINS.indexOf(coin)

describe('the rotation', () => {
  test('takes the most traded coin that lacks something, at once where it lacks much', () => {
    const rotation = new BackgroundRotation()
    const lacking = new Map(COINS.map((coin) => [coin, NOW_MS - MONTH_MS]))
    const turns = COINS.map(() => {
      const need = next(rotation, lacking, NOW_MS)
      if (need !== undefined) lacking.delete(need.coin)
      return need?.coin
    })
    expect(turns).toEqual(COINS)
    expect(next(rotation, lacking, NOW_MS)).toBeUndefined()
  })

  test('takes its time where coins lack an hour, and passes them over for one that lacks more', () => {
    const rotation = new BackgroundRotation()
    const lacking = new Map(COINS.map((coin) => [coin, NOW_MS - HOUR_MS]))
    const turns: (readonly [number, string])[] = []
    for (let nowMs = NOW_MS; nowMs < NOW_MS + 35_000; nowMs += 50) {
      if (nowMs === NOW_MS + 5_000) lacking.set('D', NOW_MS - MONTH_MS)
      const need = next(rotation, lacking, nowMs)
      if (need === undefined) continue
      lacking.delete(need.coin)
      turns.push([nowMs - NOW_MS, need.coin])
    }
    expect(turns.map(([, coin]) => coin)).toEqual(['A', 'D', 'B', 'C'])
    expect(turns[1]?.[0]).toBeLessThanOrEqual(6_000)
    for (const [atMs] of turns.slice(2))
      expect(atMs % BACKGROUND_SPACING_MS).toBeLessThanOrEqual(1_000)
  })

  test('goes on at once with a coin that got a part', () => {
    const rotation = new BackgroundRotation()
    const lacking = new Map([['A', NOW_MS - MONTH_MS]])
    const first = next(rotation, lacking, NOW_MS)
    if (first === undefined) throw new Error('A lacks a month')
    rotation.answered(first, NOW_MS - 220 * HOUR_MS, NOW_MS, 0.5)
    lacking.set('A', NOW_MS - 220 * HOUR_MS)
    expect(next(rotation, lacking, NOW_MS)).toEqual({ coin: 'A', fromMs: NOW_MS - 220 * HOUR_MS })
  })

  test('puts a coin off that got nothing, longer every time, up to an hour', () => {
    const rotation = new BackgroundRotation()
    const lacking = new Map([['A', NOW_MS - MONTH_MS]])
    const askedMs: number[] = []
    for (let nowMs = NOW_MS; nowMs < NOW_MS + 8 * HOUR_MS; nowMs += 500) {
      const need = next(rotation, lacking, nowMs)
      if (need === undefined) continue
      askedMs.push(nowMs)
      rotation.answered(need, need.fromMs, nowMs, 0.999)
    }
    const pauses = askedMs.slice(1).map((atMs, at) => atMs - (askedMs[at] ?? 0))
    expect(pauses[0]).toBeGreaterThanOrEqual(60_000)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(HOUR_MS + 1_500)
    expect(askedMs.length).toBeLessThan(15)
    expect(askedMs.length).toBeGreaterThan(8)
  })

  test('waits for all coins after a failure, and longest for the one that failed', () => {
    const rotation = new BackgroundRotation()
    const lacking = new Map(COINS.slice(0, 2).map((coin) => [coin, NOW_MS - MONTH_MS]))
    const first = next(rotation, lacking, NOW_MS)
    if (first === undefined) throw new Error('A lacks a month')
    rotation.failed(first, NOW_MS, 0)
    expect(next(rotation, lacking, NOW_MS + 9_999)).toBeUndefined()
    expect(next(rotation, lacking, NOW_MS + 10_000)?.coin).toBe('B')
    expect(next(rotation, lacking, NOW_MS + 60_000)?.coin).toBe('A')
  })

  test('forgets failures of what is not followed any more', () => {
    const rotation = new BackgroundRotation()
    const lacking = new Map([['A', NOW_MS - MONTH_MS]])
    rotation.answered({ coin: 'A', fromMs: NOW_MS - MONTH_MS }, NOW_MS - MONTH_MS, NOW_MS, 0)
    expect(next(rotation, lacking, NOW_MS)).toBeUndefined()
    rotation.keep(() => false)
    expect(next(rotation, lacking, NOW_MS + 1_000)?.coin).toBe('A')
  })
})

function next(rotation: BackgroundRotation, lacking: ReadonlyMap<string, number>, nowMs: number) {
  return rotation.next(COINS.toReversed(), nowMs, (coin) => lacking.get(coin) ?? null, volume)
}

import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { TriggeredRounds } from './triggered-rounds.ts'

const HOUR_MS = 3_600_000
const CHECK_MS = 60_000
const options = { triggerBps: 50, heartbeatMs: HOUR_MS, checkMs: CHECK_MS, phaseMs: 0 }
const startMs = Date.UTC(2026, 0, 1)

/** Steps of a random walk, one a look; the same at every call. */
const walks = fc.array(fc.double({ min: -0.004, max: 0.004, noNaN: true }), {
  minLength: 200,
  maxLength: 200,
})

function priceAt(steps: readonly number[], atMs: number): number {
  const count = Math.floor((atMs - startMs) / CHECK_MS)
  return steps.slice(0, count).reduce((price, step) => price * (1 + step), 100)
}

describe('rounds', () => {
  test.prop([walks, fc.array(fc.integer({ min: 0, max: 200 * CHECK_MS }), { minLength: 2 })])(
    'depend on time only, not on earlier requests',
    (steps, offsets) => {
      const seen = (atMs: number) => priceAt(steps, atMs)
      const asked = new TriggeredRounds({ ...options, seen })
      for (const offset of offsets) {
        const atMs = startMs + offset
        expect(asked.at(atMs)).toEqual(new TriggeredRounds({ ...options, seen }).at(atMs))
      }
    },
  )

  test.prop([walks, fc.integer({ min: 0, max: 200 * CHECK_MS })])(
    'are never older than the heartbeat, nor further away than the trigger at the last look',
    (steps, offset) => {
      const seen = (atMs: number) => priceAt(steps, atMs)
      const atMs = startMs + offset
      const round = new TriggeredRounds({ ...options, seen }).at(atMs)
      expect(atMs - (round?.atMs ?? 0)).toBeLessThan(HOUR_MS)
      const looked = seen(Math.floor(atMs / CHECK_MS) * CHECK_MS)
      expect(Math.abs(looked / (round?.priceUsd ?? 0) - 1)).toBeLessThan(0.005)
      expect(round?.priceUsd).toBe(seen(round?.atMs ?? 0))
    },
  )

  test('do not change while the price stays within the threshold', () => {
    const rounds = new TriggeredRounds({ ...options, seen: (atMs) => 1 + (atMs % 7) * 1e-4 })
    expect(rounds.at(startMs + HOUR_MS - 1)?.atMs).toBe(startMs)
    expect(rounds.at(startMs + HOUR_MS)?.atMs).toBe(startMs + HOUR_MS)
  })

  test('move at the first look after the price has jumped', () => {
    const jumpMs = startMs + 1_000_000
    const seen = (atMs: number) => (atMs < jumpMs ? 1 : 0.9)
    const round = new TriggeredRounds({ ...options, seen }).at(startMs + 2_000_000)
    expect(round).toMatchObject({ atMs: startMs + 17 * CHECK_MS, priceUsd: 0.9 })
  })

  test('are counted upwards', () => {
    const seen = (atMs: number) => 1 + ((atMs / CHECK_MS) % 2)
    const rounds = new TriggeredRounds({ ...options, seen })
    let last = 0
    for (let look = 0; look < 130; look++) {
      const count = rounds.at(startMs + look * CHECK_MS)?.count ?? 0
      expect(count).toBeGreaterThan(last)
      last = count
    }
  })

  test('of what has no price are none', () => {
    expect(new TriggeredRounds({ ...options, seen: () => undefined }).at(startMs)).toBeUndefined()
  })
})

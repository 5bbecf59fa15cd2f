import { describe, expect, test } from 'vitest'
import type { Silence } from './fault-log.ts'
import { FaultLog } from './fault-log.ts'
import type { SimulatedFault } from './fault-script.ts'

const COIN = 'GMX'
const NOW_MS = 1_000_000

describe('by what a silence is noticed', () => {
  test('of a whole coin: its books are missed', () => {
    expect(noticed({ durationMs: 60_000 })).toBe('book')
  })

  test('of candles and trades: the volume of the day, which has risen three times', () => {
    expect(noticed({ durationMs: 60_000, channels: ['candle', 'trades'] })).toBe('candlesAndTrades')
  })

  test('a moment without books makes the silence of the others no plainer', () => {
    expect(
      noticed({ durationMs: 60_000, channels: ['candle', 'trades'] }, { durationMs: 5_000 }),
    ).toBe('candlesAndTrades')
  })

  test('of what nobody watches, or of another coin, never', () => {
    expect(noticed({ durationMs: 60_000, channels: ['bbo'] })).toBeNull()
    expect(noticed({ durationMs: 60_000, coin: 'ETH' })).toBeNull()
  })
})

describe('whether one silence hides both what happened and what would tell of it', () => {
  const log = new FaultLog()
  log.begin({ atMs: NOW_MS - 90_000, fault: { kind: 'stall', coin: COIN, durationMs: 20_000 } })
  log.begin({ atMs: NOW_MS - 40_000, fault: { kind: 'half-open', durationMs: 60_000 } })

  test('a later one hides nothing that an earlier one has lost', () => {
    expect(log.isSilentThroughout(NOW_MS - 80_000, NOW_MS, COIN)).toBe(false)
  })

  test('the one that goes on hides what happens meanwhile', () => {
    expect(log.isSilentThroughout(NOW_MS - 42_000, NOW_MS, COIN)).toBe(true)
    expect(log.isSilentThroughout(NOW_MS - 80_000, NOW_MS - 60_000, COIN)).toBe(true)
  })

  test('that of another coin, or of what nobody watches, hides nothing', () => {
    expect(log.isSilentThroughout(NOW_MS - 80_000, NOW_MS - 60_000, 'ETH')).toBe(false)
    const quiet = new FaultLog()
    const fault = { kind: 'stall', coin: COIN, channels: ['bbo'], durationMs: 60_000 } as const
    quiet.begin({ atMs: NOW_MS, fault })
    expect(quiet.isSilentThroughout(NOW_MS, NOW_MS + 30_000, COIN)).toBe(false)
  })
})

describe('whether what happened at an instant was told', () => {
  const log = new FaultLog()
  log.begin({
    atMs: NOW_MS,
    fault: { kind: 'drop-frames', share: 0.5, durationMs: 3_000 },
  })

  test('cannot be known while frames are lost', () => {
    expect(log.wereFramesLost(NOW_MS - 1_000)).toBe(true)
    expect(log.wereFramesLost(NOW_MS + 3_000)).toBe(true)
  })

  test('is certain before and after', () => {
    expect(log.wereFramesLost(NOW_MS - 3_000)).toBe(false)
    expect(log.wereFramesLost(NOW_MS + 3_001)).toBe(false)
  })
})

describe('whether what happened at an instant is never told any more', () => {
  const log = new FaultLog()
  log.begin({ atMs: NOW_MS, fault: { kind: 'stall', coin: COIN, durationMs: 20_000 } })

  test('is so once the stall of the coin that kept it back is over', () => {
    expect(log.wasLost(NOW_MS + 10_000, COIN, NOW_MS + 20_001)).toBe(true)
  })

  test('is not while it goes on, of another coin, or of what happened before and after', () => {
    expect(log.wasLost(NOW_MS + 10_000, COIN, NOW_MS + 20_000)).toBe(false)
    expect(log.wasLost(NOW_MS + 10_000, 'ETH', NOW_MS + 90_000)).toBe(false)
    expect(log.wasLost(NOW_MS - 3_000, COIN, NOW_MS + 90_000)).toBe(false)
    expect(log.wasLost(NOW_MS + 20_001, COIN, NOW_MS + 90_000)).toBe(false)
  })
})

describe('by how much frames may be late unnoticed', () => {
  const delay = { kind: 'delay-frames', durationMs: 40_000, delayMs: 4_000 } as const
  const skew = (offsetMs: number) =>
    ({ kind: 'clock-skew', offsetMs, durationMs: 300_000 }) as const
  const lateAt = (sinceMs: number, offsetMs?: number) => {
    const log = new FaultLog()
    log.begin({ atMs: NOW_MS, fault: delay })
    if (offsetMs !== undefined) log.begin({ atMs: NOW_MS + 1_000, fault: skew(offsetMs) })
    return log.unnoticedDelayMs(NOW_MS + sinceMs)
  }

  test('is told by the next book', () => {
    expect(lateAt(11_000)).toBeGreaterThan(0)
    expect(lateAt(11_001)).toBe(0)
    expect(lateAt(11_001, -6_000), 'stamps that go back hide nothing').toBe(0)
  })

  test('is told by the next pong where the venue put its clock forward meanwhile', () => {
    expect(lateAt(31_000, 6_000)).toBeGreaterThan(0)
    expect(lateAt(31_001, 6_000)).toBe(0)
  })

  test('is told by the next pong where the engine had begun just before, with nothing to compare', () => {
    const lateAfter = (crashedMsAgo: number, sinceMs: number) => {
      const log = new FaultLog()
      log.begin({ atMs: NOW_MS - crashedMsAgo, fault: { kind: 'engine-crash' } })
      log.begin({ atMs: NOW_MS, fault: delay })
      return log.unnoticedDelayMs(NOW_MS + sinceMs)
    }
    expect(lateAfter(15_000, 31_000)).toBeGreaterThan(0)
    expect(lateAfter(15_000, 31_001)).toBe(0)
    expect(lateAfter(15_001, 11_001), 'it has heard by then').toBe(0)
    expect(lateAfter(-5_000, 11_001), 'its first pong is as late').toBe(0)
  })
})

describe('by how much what waited while we slept may be late unnoticed', () => {
  const asleep = (skewedMs?: number) => {
    const log = new FaultLog()
    log.begin({ atMs: NOW_MS, fault: { kind: 'sleep', durationMs: 60_000 } })
    const fault = { kind: 'clock-skew', offsetMs: 21_000, durationMs: 300_000 } as const
    if (skewedMs !== undefined) log.begin({ atMs: NOW_MS + skewedMs, fault })
    return (sinceMs: number) => log.unnoticedDelayMs(NOW_MS + sinceMs)
  }

  test('is what the venue put its clock forward by meanwhile, until a pong tells', () => {
    expect(asleep(10_000)(60_000)).toBe(21_000)
    expect(asleep(10_000)(80_000)).toBe(21_000)
    expect(asleep(10_000)(80_001)).toBe(0)
  })

  test('is nothing where its clock went on as before', () => {
    expect(asleep()(60_000)).toBe(0)
    expect(asleep(60_001)(60_001)).toBe(0)
  })
})

type Stall = Extract<SimulatedFault, { kind: 'stall' }>

function noticed(...stalls: (Omit<Stall, 'kind' | 'coin'> & { coin?: string })[]): Silence | null {
  const log = new FaultLog()
  for (const stall of stalls)
    log.begin({ atMs: NOW_MS, fault: { kind: 'stall', coin: COIN, ...stall } })
  return log.silence(NOW_MS + 1_000, NOW_MS + 1_000, COIN)
}

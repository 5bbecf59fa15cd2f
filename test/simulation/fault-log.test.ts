import { describe, expect, test } from 'vitest'
import type { Silence } from './fault-log.ts'
import { FaultLog } from './fault-log.ts'
import type { SimulatedFault } from './fault-script.ts'

const COIN = 'GMX'
const NOW_MS = 1_000_000

describe('the rule that detects a silent stream', () => {
  test('a whole coin: by its missing books', () => {
    expect(noticed({ durationMs: 60_000 })).toBe('book')
  })

  test('candles and trades: by the day volume, after three rises', () => {
    expect(noticed({ durationMs: 60_000, channels: ['candle', 'trades'] })).toBe('candlesAndTrades')
  })

  test('a short gap of books does not speed up detection on the other channels', () => {
    expect(
      noticed({ durationMs: 60_000, channels: ['candle', 'trades'] }, { durationMs: 5_000 }),
    ).toBe('candlesAndTrades')
  })

  test('an unmonitored channel or another coin: never', () => {
    expect(noticed({ durationMs: 60_000, channels: ['bbo'] })).toBeNull()
    expect(noticed({ durationMs: 60_000, coin: 'ETH' })).toBeNull()
  })
})

describe('whether one silence hides both an event and the frames that would reveal it', () => {
  const log = new FaultLog()
  log.begin({ atMs: NOW_MS - 90_000, fault: { kind: 'stall', coin: COIN, durationMs: 20_000 } })
  log.begin({ atMs: NOW_MS - 40_000, fault: { kind: 'half-open', durationMs: 60_000 } })

  test('a later silence does not hide a loss during an earlier one', () => {
    expect(log.isSilentThroughout(NOW_MS - 80_000, NOW_MS, COIN)).toBe(false)
  })

  test('a continuing silence hides events during it', () => {
    expect(log.isSilentThroughout(NOW_MS - 42_000, NOW_MS, COIN)).toBe(true)
    expect(log.isSilentThroughout(NOW_MS - 80_000, NOW_MS - 60_000, COIN)).toBe(true)
  })

  test('a silence of another coin or of an unmonitored channel hides nothing', () => {
    expect(log.isSilentThroughout(NOW_MS - 80_000, NOW_MS - 60_000, 'ETH')).toBe(false)
    const quiet = new FaultLog()
    const fault = { kind: 'stall', coin: COIN, channels: ['bbo'], durationMs: 60_000 } as const
    quiet.begin({ atMs: NOW_MS, fault })
    expect(quiet.isSilentThroughout(NOW_MS, NOW_MS + 30_000, COIN)).toBe(false)
  })
})

describe('whether the frames about an instant were delivered', () => {
  const log = new FaultLog()
  log.begin({
    atMs: NOW_MS,
    fault: { kind: 'drop-frames', share: 0.5, durationMs: 3_000 },
  })

  test('is unknown while frames are lost', () => {
    expect(log.wereFramesLost(NOW_MS - 1_000)).toBe(true)
    expect(log.wereFramesLost(NOW_MS + 3_000)).toBe(true)
  })

  test('is certain before and after', () => {
    expect(log.wereFramesLost(NOW_MS - 3_000)).toBe(false)
    expect(log.wereFramesLost(NOW_MS + 3_001)).toBe(false)
  })
})

describe('whether the frames about an instant are lost for good', () => {
  const log = new FaultLog()
  log.begin({ atMs: NOW_MS, fault: { kind: 'stall', coin: COIN, durationMs: 20_000 } })

  test('is true once the stall of the coin that withheld them is over', () => {
    expect(log.wasLost(NOW_MS + 10_000, COIN, NOW_MS + 20_001)).toBe(true)
  })

  test('is false during the stall, for another coin, and for instants before and after it', () => {
    expect(log.wasLost(NOW_MS + 10_000, COIN, NOW_MS + 20_000)).toBe(false)
    expect(log.wasLost(NOW_MS + 10_000, 'ETH', NOW_MS + 90_000)).toBe(false)
    expect(log.wasLost(NOW_MS - 3_000, COIN, NOW_MS + 90_000)).toBe(false)
    expect(log.wasLost(NOW_MS + 20_001, COIN, NOW_MS + 90_000)).toBe(false)
  })
})

describe('the undetected delay of frames', () => {
  const delay = { kind: 'delay-frames', durationMs: 40_000, delayMs: 4_000 } as const
  const skew = (offsetMs: number) =>
    ({ kind: 'clock-skew', offsetMs, durationMs: 300_000 }) as const
  const lateAt = (sinceMs: number, offsetMs?: number) => {
    const log = new FaultLog()
    log.begin({ atMs: NOW_MS, fault: delay })
    if (offsetMs !== undefined) log.begin({ atMs: NOW_MS + 1_000, fault: skew(offsetMs) })
    return log.unnoticedDelayMs(NOW_MS + sinceMs)
  }

  test('is detected with the next book', () => {
    expect(lateAt(11_000)).toBeGreaterThan(0)
    expect(lateAt(11_001)).toBe(0)
    expect(lateAt(11_001, -6_000), 'stamps that go back hide nothing').toBe(0)
  })

  test('is detected with the next pong if the venue stepped its clock forward', () => {
    expect(lateAt(31_000, 6_000)).toBeGreaterThan(0)
    expect(lateAt(31_001, 6_000)).toBe(0)
  })

  test('is detected with the next pong if the engine had just started, without a frame to compare', () => {
    const lateAfter = (crashedMsAgo: number, sinceMs: number) => {
      const log = new FaultLog()
      log.begin({ atMs: NOW_MS - crashedMsAgo, fault: { kind: 'engine-crash' } })
      log.begin({ atMs: NOW_MS, fault: delay })
      return log.unnoticedDelayMs(NOW_MS + sinceMs)
    }
    expect(lateAfter(15_000, 31_000)).toBeGreaterThan(0)
    expect(lateAfter(15_000, 31_001)).toBe(0)
    expect(lateAfter(15_001, 11_001), 'the engine has received frames by then').toBe(0)
    expect(lateAfter(-5_000, 11_001), 'its first pong is as late').toBe(0)
  })
})

describe('the undetected delay of frames that queued during a sleep', () => {
  const asleep = (skewedMs?: number) => {
    const log = new FaultLog()
    log.begin({ atMs: NOW_MS, fault: { kind: 'sleep', durationMs: 60_000 } })
    const fault = { kind: 'clock-skew', offsetMs: 21_000, durationMs: 300_000 } as const
    if (skewedMs !== undefined) log.begin({ atMs: NOW_MS + skewedMs, fault })
    return (sinceMs: number) => log.unnoticedDelayMs(NOW_MS + sinceMs)
  }

  test('is the forward step of the venue clock, until the next pong', () => {
    expect(asleep(10_000)(60_000)).toBe(21_000)
    expect(asleep(10_000)(80_000)).toBe(21_000)
    expect(asleep(10_000)(80_001)).toBe(0)
  })

  test('is zero if the venue clock was not stepped', () => {
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

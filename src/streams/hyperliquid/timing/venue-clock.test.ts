import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { FOLLOWED_PER_MS } from '../../../domain/steady-clock.ts'
import { VenueClock } from './venue-clock.ts'

const START_MS = Date.UTC(2026, 0, 1)
const lag = fc.integer({ min: 200, max: 900 })

/** Runs one frame a second through a clock. @returns the delay of every frame */
function hear(
  clock: VenueClock,
  frames: readonly { readonly lagMs: number; readonly nowMs: number }[],
): readonly number[] {
  return frames.map(({ lagMs, nowMs }) => {
    clock.tick(nowMs)
    return clock.delayMs(0, lagMs, nowMs) ?? Number.NaN
  })
}

function seconds(lagsMs: readonly number[], fromMs = START_MS) {
  return lagsMs.map((lagMs, second) => ({ lagMs, nowMs: fromMs + second * 1_000 }))
}

describe('the venue clock', () => {
  test.prop([fc.array(lag, { minLength: 1, maxLength: 100 }), fc.integer({ min: -1e7, max: 1e7 })])(
    'takes no usual frame for a late one, however wrong either clock is',
    (lagsMs, offsetMs) => {
      const clock = new VenueClock()
      const delays = hear(clock, seconds(lagsMs.map((lagMs) => lagMs + offsetMs)))
      expect(Math.max(...delays)).toBe(0)
      expect(clock.offsetMs).toBe(Math.min(...lagsMs) + offsetMs)
    },
  )

  test('a frame that was held up is as old as it was held up', () => {
    const clock = new VenueClock()
    const [, , late, after] = hear(clock, seconds([300, 400, 20_300, 350]))
    expect(late).toBe(20_000)
    expect(after).toBe(0)
  })

  test('what waited while the process was paused is late, and what comes after is not', () => {
    const clock = new VenueClock()
    hear(clock, seconds(Array.from({ length: 30 }, () => 300)))
    const resumedMs = START_MS + 90_000
    expect(clock.tick(resumedMs)).toBe(60_000)
    expect(clock.delayMs(0, 60_300, resumedMs + 5)).toBe(60_000)
    expect(clock.delayMs(0, 30_300, resumedMs + 10)).toBe(30_000)
    const later = hear(
      clock,
      seconds(
        Array.from({ length: 40 }, () => 400),
        resumedMs + 1_000,
      ),
    )
    expect(Math.max(...later)).toBe(0)
  })

  test('a clock of the venue that was put forward is followed at once', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    const delays = hear(
      clock,
      seconds(
        Array.from({ length: 1_500 }, (_, second) => (second === 1_000 ? 9_000 : 300) - 60_000),
        START_MS + 3_000,
      ),
    )
    expect(delays.filter((delayMs) => delayMs > 0)).toEqual([8_700])
  })

  test('where books run ahead of trades, bars go by the trades; where both do, it is our clock', () => {
    const clock = new VenueClock()
    const hearBoth = (bookLagMs: number, tradeLagMs: number, fromMs: number) => {
      for (const { lagMs, nowMs } of seconds(new Array(60).fill(bookLagMs), fromMs)) {
        clock.tick(nowMs)
        clock.delayMs(0, lagMs, nowMs)
        clock.traded(0, tradeLagMs, nowMs)
      }
    }
    hearBoth(300, 200, START_MS)
    const behindMs = (nowMs: number) => [nowMs - clock.frameMs(nowMs), nowMs - clock.venueMs(nowMs)]
    expect(behindMs(START_MS + 60_000)).toEqual([300, 300])
    hearBoth(300 - 22_000, 200, START_MS + 60_000)
    expect(behindMs(START_MS + 120_000)).toEqual([300 - 22_000, 200])
    hearBoth(300 - 60_000, 200 - 60_000, START_MS + 120_000)
    expect(behindMs(START_MS + 180_000)).toEqual([300 - 60_000, 300 - 60_000])
  })

  test('books that run ahead from the start are not believed beyond the first trade, and two make it clearer', () => {
    const clock = new VenueClock()
    hear(clock, seconds([-31_700]))
    expect(clock.venueMs(START_MS)).toBe(START_MS + 31_700)
    for (const lagMs of [4_000, 800, 900, 2_000]) clock.traded(0, lagMs, START_MS)
    expect(clock.venueMs(START_MS)).toBe(START_MS - 900)
  })

  /** Frames a second apart, a trade with each, and a prompt pong every twenty. @returns the delay of every frame */
  const hearWithPongs = (clock: VenueClock, lagsMs: readonly number[], tradeLagMs: number) =>
    seconds(lagsMs, START_MS + 3_000).flatMap((frame, second) => {
      if (second % 20 === 0) clock.pinged(0, frame.nowMs - 50)
      if (second % 20 === 0) clock.ponged(0, frame.nowMs)
      clock.traded(0, tradeLagMs, frame.nowMs)
      return hear(clock, [frame])
    })

  test('where trades come as fast as ever between two prompt pongs, a longer lag is a clock, and followed at once', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    clock.traded(0, 200, START_MS)
    const delays = hearWithPongs(clock, new Array(40).fill(12_300), 400)
    expect(delays[19]).toBe(12_000)
    expect(delays.slice(20)).toEqual(new Array(20).fill(0))
  })

  test('a trade whose time broke on its way makes no other trade a late one', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    for (const lagMs of [200, 300, -3_300]) clock.traded(0, lagMs, START_MS)
    expect(clock.venueMs(START_MS)).toBe(START_MS - 300)
    const delays = hearWithPongs(clock, new Array(40).fill(12_300), 400)
    expect(delays.slice(20)).toEqual(new Array(20).fill(0))
  })

  test('our own clock, while it follows the wall clock, makes no trades late, so the clock of the venue is followed all the while', () => {
    const clock = new VenueClock()
    const lagMs = (second: number) => 300 + second * 1_000 * FOLLOWED_PER_MS
    const delays = seconds(new Array(1_000).fill(0)).flatMap(({ nowMs }, second) => {
      if (second % 20 === 0) clock.pinged(0, nowMs - 50)
      if (second % 20 === 0) clock.ponged(0, nowMs)
      // One that was slow; the next is as fast as the way allows.
      clock.traded(0, lagMs(second) + (second % 2) * 500, nowMs)
      const putBackMs = second < 900 ? 0 : 20_000
      return hear(clock, [{ nowMs, lagMs: lagMs(second) + putBackMs }])
    })
    expect(Math.max(...delays.slice(0, 900))).toBe(0)
    expect(delays.slice(940)).toEqual(new Array(60).fill(0))
    expect(clock.venueMs(START_MS)).toBe(START_MS - Math.max(clock.offsetMs ?? 0, lagMs(980)))
  })

  test('a lag that grows faster than our clock can be moved is no clock of ours', () => {
    const clock = new VenueClock()
    const delays = seconds(new Array(300).fill(0)).flatMap(({ nowMs }, second) => {
      if (second % 20 === 0) clock.pinged(0, nowMs - 50)
      if (second % 20 === 0) clock.ponged(0, nowMs)
      const lagMs = 300 + second * 1_000 * FOLLOWED_PER_MS * 8
      clock.traded(0, lagMs, nowMs)
      return hear(clock, [{ nowMs, lagMs }])
    })
    // Twelve seconds, less what our clock may account for before it shows.
    expect(delays.at(-1)).toBeGreaterThan(11_000)
  })

  test('a node that lags, trades and all, is not taken for a clock, however prompt its pongs', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    clock.traded(0, 200, START_MS)
    expect(hearWithPongs(clock, new Array(80).fill(30_300), 30_200)).toEqual(
      new Array(80).fill(30_000),
    )
  })

  test.each([
    ['and no trades', null],
    ['while trades go on', 200],
  ])('nor is one that sends what it froze with, %s', (_, tradeLagMs) => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    clock.traded(0, 200, START_MS)
    const frozen = seconds(new Array(400).fill(0), START_MS + 3_000).map(({ nowMs }, second) => {
      if (second % 20 === 0) clock.pinged(0, nowMs - 50)
      if (second % 20 === 0) clock.ponged(0, nowMs)
      if (tradeLagMs !== null) clock.traded(0, tradeLagMs, nowMs)
      return clock.delayMs(0, 300 + second * 1_000, nowMs)
    })
    const told = frozen.map((delayMs, second) => delayMs ?? second * 1_000).slice(2)
    expect(told).toEqual(Array.from({ length: 398 }, (_, at) => (at + 2) * 1_000))
    expect(frozen.filter((delayMs) => delayMs === null).length, 'at two minutes').toBe(50)
  })

  test('one connection that is minutes late is believed to be, while others are prompt', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    const delays = Array.from({ length: 60 }, (_, at) => {
      const nowMs = START_MS + 3_000 + at * 100
      expect(clock.delayMs(0, 300, nowMs)).toBe(0)
      return clock.delayMs(1, 600_300, nowMs)
    })
    expect(delays[0], 'one alone is a broken figure').toBeNull()
    expect(delays.slice(50)).toEqual(new Array(10).fill(600_000))
  })

  test('a clock that is put forward while frames are held up hides nothing of that', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300, 6_300]))
    const skewed = hear(clock, seconds(new Array(10).fill(6_300 - 29_000), START_MS + 4_000))
    expect(skewed.slice(1), 'one alone may be broken').toEqual(new Array(9).fill(6_000))
    const over = hear(clock, seconds(new Array(10).fill(300 - 29_000), START_MS + 14_000))
    expect(over).toEqual(new Array(10).fill(0))
  })

  test('nor over a connection that began meanwhile: its first pong tells', () => {
    const clock = new VenueClock()
    clock.pinged(0, START_MS - 50)
    clock.ponged(0, START_MS)
    hear(clock, seconds([300, 300, 300]))
    clock.lost(0)
    clock.pinged(0, START_MS + 4_000)
    clock.ponged(0, START_MS + 10_000)
    expect(clock.delayMs(0, 6_300 - 29_000, START_MS + 10_000), 'one alone').toBeNull()
    expect(clock.delayMs(0, 6_300 - 29_000, START_MS + 10_000)).toBe(6_000)
  })

  test('what was held up no longer when the clock was put forward is known by two prompt pongs', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300, 6_300]))
    const delays = hearWithPongs(clock, new Array(40).fill(300 - 29_000), 200)
    expect(delays[19]).toBe(6_000)
    expect(delays.slice(20)).toEqual(new Array(20).fill(0))
  })

  test('who begins while everything is held up has it from the first pong', () => {
    const clock = new VenueClock()
    clock.pinged(0, START_MS - 8_000)
    clock.ponged(0, START_MS)
    expect(hear(clock, seconds([8_300, 8_300]))).toEqual([8_000, 8_000])
    expect(hear(clock, seconds([300, 300], START_MS + 2_000))).toEqual([0, 0])
  })

  test('also where another connection had a prompt pong before anything told when it was sent', () => {
    const clock = new VenueClock()
    clock.pinged(1, START_MS - 12_050)
    clock.ponged(1, START_MS - 12_000)
    clock.pinged(0, START_MS - 8_000)
    clock.ponged(0, START_MS)
    expect(hear(clock, seconds([8_300, 8_300]))).toEqual([8_000, 8_000])
  })

  test('and where its own was prompt long before: what came late since then is told by the next', () => {
    const clock = new VenueClock()
    clock.pinged(0, START_MS - 15_050)
    clock.ponged(0, START_MS - 15_000)
    clock.pinged(0, START_MS - 5_000)
    expect(hear(clock, seconds([8_300, 8_300]))).toEqual([0, 0])
    clock.ponged(0, START_MS + 3_000)
    expect(hear(clock, seconds([8_300], START_MS + 3_000))).toEqual([8_000])
  })

  test('nor does it matter which of pong and first frame comes first', () => {
    const clock = new VenueClock()
    clock.pinged(0, START_MS - 6_000)
    expect(hear(clock, seconds([8_300, 8_300]))).toEqual([0, 0])
    clock.ponged(0, START_MS + 2_000)
    expect(hear(clock, seconds([8_300], START_MS + 2_000))).toEqual([8_000])
  })

  test('what was late on its way to the venue makes nothing old once a pong was prompt, with trades or without', () => {
    const clock = new VenueClock()
    clock.pinged(0, START_MS - 8_000)
    clock.ponged(0, START_MS)
    clock.pinged(0, START_MS + 1_000)
    expect(hear(clock, seconds([300, 300]))).toEqual([8_000, 8_000])
    clock.ponged(0, START_MS + 1_050)
    expect(hear(clock, seconds([300, 300], START_MS + 2_000))).toEqual([0, 0])
  })

  test('a book whose time broke on its way makes nothing old', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    expect(clock.delayMs(0, -50_000, START_MS + 2_500)).toBeNull()
    expect(hear(clock, seconds([300, 300], START_MS + 3_000))).toEqual([0, 0])
  })

  test('a late pong makes nothing old once a prompt one has been heard', () => {
    const clock = new VenueClock()
    clock.pinged(0, START_MS - 50)
    clock.ponged(0, START_MS)
    hear(clock, seconds([300, 300, 300]))
    clock.pinged(0, START_MS + 3_000)
    clock.ponged(0, START_MS + 11_000)
    expect(hear(clock, seconds([300], START_MS + 11_000))).toEqual([0])
  })

  test('a pong that is late itself proves nothing', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    for (const atMs of [3_000, 23_000, 43_000]) {
      clock.pinged(0, START_MS + atMs)
      clock.ponged(0, START_MS + atMs + 5_000)
      expect(clock.delayMs(0, 5_300, START_MS + atMs + 6_000)).toBe(5_000)
    }
  })

  test('an instant of ours is told by the clock of the venue, also right after a pause', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300, 300]))
    expect(clock.venueMs(START_MS + 3_000)).toBe(START_MS + 2_700)
    clock.tick(START_MS + 603_000)
    expect(clock.delayMs(0, 600_300, START_MS + 603_005)).toBe(600_000)
    expect(clock.venueMs(START_MS + 603_010)).toBe(START_MS + 602_710)
  })

  test('one broken figure makes nothing old', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300, 300]))
    expect(clock.delayMs(0, 1e11, START_MS + 2_000)).toBeNull()
    expect(clock.delayMs(0, 300, START_MS + 2_100)).toBe(0)
  })

  test('a way that became longer for good is accepted within an hour', () => {
    const clock = new VenueClock()
    hear(clock, seconds([300]))
    const delays = hear(
      clock,
      seconds(
        Array.from({ length: 3_700 }, () => 5_300),
        START_MS + 1_000,
      ),
    )
    expect(delays[0]).toBe(5_000)
    expect(delays.at(-1)).toBe(0)
  })
})

import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { NaiveInstant } from '../../../../test/golden/naive-depeg.ts'
import { naiveStates } from '../../../../test/golden/naive-depeg.ts'
import { bracketOf, PegLevel, pegLevels } from './peg-level.ts'

const START_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Looks at it every so often for a while. @returns the instant after. */
function hold(
  level: PegLevel,
  fromMs: number,
  ms: number,
  distanceBps: number,
  stepMs = SECOND_MS,
) {
  let atMs = fromMs
  for (; atMs < fromMs + ms; atMs += stepMs) level.step(atMs, distanceBps, bracketOf(distanceBps))
  return atMs
}

describe('level of a peg', () => {
  test.each([
    [9.99, 0],
    [10, 1],
    [24.99, 1],
    [25, 2],
    [100, 3],
    [199.99, 3],
    [200, 4],
    [500, 5],
    [5_000, 5],
  ])('%f bps are level %i', (distanceBps, level) => {
    expect(bracketOf(distanceBps)).toBe(level)
  })

  test.each(
    pegLevels.slice(1).map(({ name, fromBps, neededMs }, at) => ({ name, fromBps, neededMs, at })),
  )('$name is reached after $neededMs ms, not before', ({ fromBps, neededMs, at }) => {
    const level = new PegLevel()
    hold(level, START_MS, neededMs, fromBps)
    expect(level.level).toBeLessThan(at + 1)
    level.step(START_MS + neededMs, fromBps, at + 1)
    expect(level.level).toBe(at + 1)
    expect(level.sinceMs).toBe(START_MS + neededMs)
  })

  test('a moment below the threshold restarts the wait', () => {
    const level = new PegLevel()
    let atMs = hold(level, START_MS, 4 * MINUTE_MS, 30)
    level.step(atMs, 24, 1)
    atMs = hold(level, atMs + SECOND_MS, 5 * MINUTE_MS - SECOND_MS, 30)
    expect(level.level).toBe(1)
  })

  test('is left after 15 minutes below half of its threshold, level by level', () => {
    const level = new PegLevel()
    let atMs = hold(level, START_MS, 6 * MINUTE_MS, 120)
    expect(level.level).toBe(3)
    atMs = hold(level, atMs, 60 * MINUTE_MS, 60)
    expect(level.level, '60 is not below half of 100').toBe(3)
    atMs = hold(level, atMs, 15 * MINUTE_MS, 20)
    expect(level.level).toBe(3)
    atMs = hold(level, atMs, SECOND_MS, 20)
    expect(level.level, '20 is not below half of 25').toBe(2)
    hold(level, atMs, 15 * MINUTE_MS + SECOND_MS, 1)
    expect(level.level).toBe(0)
  })

  test('levels and durations end by the printed deviation', () => {
    const level = new PegLevel()
    let atMs = hold(level, START_MS, 6 * MINUTE_MS, 10)
    atMs = hold(level, atMs, 16 * MINUTE_MS, 4.996)
    expect([level.level, level.spellSeconds()[0]], '5.00 is not below half of 10').toEqual([
      1, 1_319,
    ])
    hold(level, atMs, 16 * MINUTE_MS, 4.994)
    expect([level.level, level.spellSeconds()[0]]).toEqual([0, 0])
  })

  test('noise around a threshold does not make it flap', () => {
    const level = new PegLevel()
    let changes = 0
    let atMs = START_MS
    for (let second = 0; second < 6 * 3_600; second += 1, atMs += SECOND_MS) {
      const before = level.level
      const distanceBps = 25 + 8 * Math.sin(second * 1.7) + 3 * Math.sin(second / 97)
      level.step(atMs, distanceBps, bracketOf(distanceBps))
      if (level.level !== before) changes += 1
    }
    expect(changes).toBe(1)
  })

  property.prop([fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 30, maxLength: 90 })])(
    'no level is left twice within fifteen minutes',
    (minutes) => {
      const level = new PegLevel()
      const leftMs = pegLevels.map(() => Number.NEGATIVE_INFINITY)
      let atMs = START_MS
      for (const distanceBps of minutes)
        for (let step = 0; step < 6; step += 1, atMs += 10 * SECOND_MS) {
          const before = level.level
          level.step(atMs, distanceBps, bracketOf(distanceBps))
          for (let left = level.level + 1; left <= before; left += 1) {
            expect(atMs - (leftMs[left] as number)).toBeGreaterThan(15 * MINUTE_MS)
            leftMs[left] = atMs
          }
        }
    },
  )

  test('a gap of more than a minute counts as nothing that lasted, and keeps the level', () => {
    const level = new PegLevel()
    let atMs = hold(level, START_MS, 6 * MINUTE_MS, 30)
    expect(level.level).toBe(2)
    expect(level.spellSeconds()[1]).toBe(359)
    atMs += 61 * SECOND_MS
    level.step(atMs, 30, 2)
    expect(level.level).toBe(2)
    expect(level.spellSeconds(), 'it restarts').toEqual([0, 0, 0, 0])
    hold(level, atMs, 14 * MINUTE_MS, 1)
    expect(level.level, 'calm is counted from after the gap').toBe(2)
  })

  test('a gap of a minute is bridged', () => {
    const level = new PegLevel()
    hold(level, START_MS, 7 * MINUTE_MS, 30, MINUTE_MS)
    expect(level.level).toBe(2)
    expect(level.spellSeconds()).toEqual([360, 360, 0, 0])
  })

  test('is forgotten after two hours', () => {
    const level = new PegLevel()
    const atMs = hold(level, START_MS, 6 * MINUTE_MS, 600)
    expect(level.level).toBe(5)
    level.step(atMs + 121 * MINUTE_MS, 600, 5)
    expect(level.level).toBe(0)
  })

  test('a clock that is put back lets nothing last', () => {
    const level = new PegLevel()
    const atMs = hold(level, START_MS, 4 * MINUTE_MS, 30)
    hold(level, atMs - 60 * MINUTE_MS, 4 * MINUTE_MS, 30)
    expect(level.level).toBe(0)
    for (const seconds of level.spellSeconds()) expect(seconds).toBeGreaterThanOrEqual(0)
  })

  test('refuses numbers of another shape', () => {
    expect(new PegLevel().restore([1, 2, 3])).toBe(false)
    const saved = new PegLevel().save()
    expect(new PegLevel().restore(saved.with(0, 9))).toBe(false)
  })

  const course = fc.array(
    fc.record({
      seconds: fc.integer({ min: 20, max: 900 }),
      distanceBps: fc.constantFrom(
        ...[0, 4, 4.996, 6, 9, 11, 13, 24, 26, 49, 51, 99, 120, 210, 260, 600],
      ),
      called: fc.constantFrom(1, 5),
      gapSeconds: fc.constantFrom(0, 0, 0, 0, 59, 70, 8_000),
    }),
    { minLength: 2, maxLength: 12 },
  )

  property.prop([course, fc.nat({ max: 99 })], { numRuns: 60 })(
    'is what looking back at everything gives, also when it is saved and restored on the way',
    (parts, restart) => {
      let level = new PegLevel()
      let atMs = START_MS
      const instants: NaiveInstant[] = []
      const found: unknown[] = []
      for (const { seconds, distanceBps, called, gapSeconds } of parts) {
        atMs += gapSeconds * SECOND_MS
        for (let second = 0; second < seconds; second += 20, atMs += 20 * SECOND_MS) {
          const calledLevel = Math.min(called, bracketOf(distanceBps))
          level.step(atMs, distanceBps, calledLevel)
          instants.push(naive(atMs, distanceBps, calledLevel))
          found.push({ level: level.level, seconds: level.spellSeconds() })
          if (found.length % 100 !== restart) continue
          const restored = new PegLevel()
          expect(restored.restore(Float64Array.from(level.save()))).toBe(true)
          level = restored
        }
      }
      const expected = naiveStates(instants).map(({ level: of, seconds }) => ({
        level: of,
        seconds,
      }))
      expect(found).toEqual(expected)
    },
  )
})

function naive(atMs: number, distanceBps: number, called: number): NaiveInstant {
  return {
    atMs,
    priceUsd: 1 - distanceBps / 10_000,
    deviationBps: -distanceBps,
    confidenceBps: 0,
    adjustedBps: -distanceBps,
    called,
    receivedMs: atMs,
  }
}

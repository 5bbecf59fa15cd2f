import { describe, expect, test } from 'vitest'
import { naiveFunding } from '../../../../test/golden/naive-funding.ts'
import { Chance } from '../../../../test/simulation/chance.ts'
import { answerDifferences } from '../../../../test/support/answer-differences.ts'
import { figuresLog, loggedCoins } from '../../../../test/support/figures-log.ts'
import { Processor } from '../../processor.ts'
import { publishedBodies } from '../../testing/published-bodies.ts'
import { funding } from './funding.ts'

/** Whatever is read has just been rendered. */
const everySecond = { ...funding, periodMs: 1_000 }
const START_MS = Date.UTC(2026, 5, 1, 9, 42)
const HOURS = 4
const MOMENTS = 25
const lookbacksHours = [1, 7, 8, 13, 24, 71, 72, 100, 167, 168]

describe('funding and its twin', () => {
  test('equals the twin on the simulated market at random moments', () => {
    const chance = new Chance(1, 'funding')
    const log = figuresLog(START_MS, HOURS, chance)
    const processor = new Processor({ coin: [everySecond], market: [] }, '0.0.0')
    const moments = new Set(Array.from({ length: MOMENTS }, () => chance.integer(5, log.length)))
    let compared = 0
    for (const [at, event] of log.entries()) {
      processor.process([event])
      if (!moments.has(at + 1)) continue
      const heard = log.slice(0, at + 1)
      const bodies = publishedBodies(processor, event.timeReceivedMs)
      for (const coin of loggedCoins)
        for (const hours of lookbacksHours) {
          const body = bodies.get(`funding/${coin}?${hours}`)
          if (body === undefined) continue
          expect(
            answerDifferences(body, naiveFunding(heard, coin, hours)),
            `${coin}, ${hours} hours, ${at + 1} events`,
          ).toEqual([])
          compared += 1
        }
    }
    expect(compared).toBeGreaterThan(MOMENTS * lookbacksHours.length)
  })
})

import { describe, expect, test } from 'vitest'
import { naiveOpenInterest } from '../../../../test/golden/naive-open-interest.ts'
import { Chance } from '../../../../test/simulation/chance.ts'
import { answerDifferences } from '../../../../test/support/answer-differences.ts'
import { figuresLog, loggedCoins } from '../../../../test/support/figures-log.ts'
import { Processor } from '../../processor.ts'
import { publishedBodies } from '../../testing/published-bodies.ts'
import { oi } from './oi.ts'

/** Whatever is read has just been rendered. */
const everySecond = { ...oi, periodMs: 1_000 }
const START_MS = Date.UTC(2026, 5, 1, 9, 42)
const HOURS = 4
const MOMENTS = 25

describe('oi and its twin', () => {
  test('equals the twin on the simulated market at random moments', () => {
    const chance = new Chance(1, 'oi')
    const log = figuresLog(START_MS, HOURS, chance)
    const processor = new Processor({ coin: [everySecond], market: [] }, '0.0.0')
    const moments = new Set(Array.from({ length: MOMENTS }, () => chance.integer(5, log.length)))
    let compared = 0
    for (const [at, event] of log.entries()) {
      processor.process([event])
      if (!moments.has(at + 1)) continue
      const heard = log.slice(0, at + 1)
      const bodies = publishedBodies(processor, event.timeReceivedMs)
      for (const coin of loggedCoins) {
        const body = bodies.get(`oi/${coin}`)
        if (body === undefined) continue
        expect(
          answerDifferences(body, naiveOpenInterest(heard, coin)),
          `${coin}, ${at + 1} events`,
        ).toEqual([])
        compared += 1
      }
    }
    expect(compared).toBeGreaterThan(MOMENTS)
  })
})

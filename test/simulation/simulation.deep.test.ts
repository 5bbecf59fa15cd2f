import { describe, expect, test } from 'vitest'
import { outcomeOf } from './outcome.ts'
import { Report } from './report.ts'

/** Shorter than the runs of `npm run simulate`, which find more. */
const SHAPE = { minutes: 3, faults: 60 }
/** The first has a twin that is never interrupted; the second runs twice with identical bytes. */
const FIXED_SEEDS = [4, 10]

describe('the service on a faulty venue', () => {
  test.each(FIXED_SEEDS)('keeps its promises with seed %i', keepsItsPromises)
})

function keepsItsPromises(seed: number): void {
  const outcome = outcomeOf({ seed, ...SHAPE }, () => performance.now())
  const report = new Report(
    (failed) =>
      `npm run simulate -- --seed ${failed} --minutes ${SHAPE.minutes} --faults ${SHAPE.faults}`,
  )
  report.add(outcome)
  expect(Object.keys(outcome.result.counts), report.lines().join('\n')).toEqual([])
}

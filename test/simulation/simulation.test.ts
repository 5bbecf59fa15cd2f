import { describe, expect, test } from 'vitest'
import { outcomeOf } from './outcome.ts'
import { Report } from './report.ts'

/** Shorter than the runs of `npm run simulate`: what they miss, those find. */
const SHAPE = { minutes: 3, faults: 60 }
/** The first has a twin that is never interrupted, the second is run twice and does the same, to the byte. */
const FIXED_SEEDS = [4, 10]
const FRESH_SEEDS = 1

describe('the service on a venue on which everything goes wrong', () => {
  test.each(FIXED_SEEDS)('keeps its promises with seed %i', keepsItsPromises)

  const fresh = Date.now() % 2 ** 31
  const freshSeeds = Array.from({ length: FRESH_SEEDS }, (_, at) => fresh + at)
  // Also where all goes well: what was tried is part of the result.
  process.stdout.write(
    `simulated seeds: ${FIXED_SEEDS.join(', ')}; fresh: ${freshSeeds.join(', ')}\n`,
  )
  test.each(freshSeeds)('keeps its promises with the fresh seed %i', keepsItsPromises)
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

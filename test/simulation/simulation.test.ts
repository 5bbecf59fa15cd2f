import { describe, expect, test } from 'vitest'
import { outcomeOf, repeated } from './outcome.ts'
import { Report } from './report.ts'
import { simulate } from './simulation.ts'

/** Shorter than the runs of `npm run simulate`: what they miss, those find. */
const SHAPE = { minutes: 3, faults: 60 }
/** One of them has a twin that is never interrupted. */
const FIXED_SEEDS = [1, 2, 4, 7]
const FRESH_SEEDS = 2

describe('the service on a venue on which everything goes wrong', () => {
  test.each(FIXED_SEEDS)('keeps its promises with seed %i', (seed) => keepsItsPromises(seed))

  const fresh = Date.now() % 2 ** 31
  // Also where all goes well: what was tried is part of the result.
  process.stdout.write(
    `simulated seeds: ${FIXED_SEEDS.join(', ')}; fresh ones: ${fresh} to ${fresh + FRESH_SEEDS - 1}\n`,
  )
  test.each(Array.from({ length: FRESH_SEEDS }, (_, at) => fresh + at))(
    'keeps its promises with the fresh seed %i',
    (seed) => keepsItsPromises(seed),
  )

  test('does the same with the same seed, to the byte', () => {
    const options = { seed: 1, minutes: 1, faults: 20 }
    expect(Object.keys(repeated(simulate(options), options).counts)).not.toContain(
      'determinism: the same seed gave other bytes',
    )
  })
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

import { describe, expect, test } from 'vitest'
import { LinkReport } from './link/link-report.ts'
import { simulateLink } from './link/link-simulation.ts'
import { outcomeOf } from './outcome.ts'
import { Report } from './report.ts'

/** Shorter than the runs of `npm run simulate`, which find more. */
const SHAPE = { minutes: 2, faults: 40 }
/** The first has a twin that is never interrupted; the second runs twice with identical bytes. */
const FIXED_SEEDS = [4, 10]
const LINK_SEEDS = 60

describe('the service on a faulty venue', () => {
  test.each(FIXED_SEEDS)('keeps its promises with seed %i', keepsItsPromises)
})

describe('the link between engines and gateways', () => {
  test('keeps its promises while engines, gateways and the broker fail', async () => {
    const report = new LinkReport()
    for (let seed = 1; seed <= LINK_SEEDS; seed += 1) report.add(await simulateLink({ seed }))
    expect(report.failed, report.lines().join('\n')).toBe(0)
  })

  test('is deterministic', async () => {
    expect(await simulateLink({ seed: 3 })).toEqual(await simulateLink({ seed: 3 }))
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

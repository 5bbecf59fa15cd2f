import { describe, expect, test } from 'vitest'
import { LinkReport } from './link/link-report.ts'
import { simulateLink } from './link/link-simulation.ts'
import { outcomeOf } from './outcome.ts'
import { Report } from './report.ts'

/** Shorter than the runs of `npm run simulate`, which find more. */
const SHAPE = { minutes: 2, faults: 40 }
/** Most of a run is the warm-up, the longer the more coins. */
const RUNS = [
  // With a twin that is never interrupted. No fault loses frames, so that nothing excuses a difference.
  { seed: 24, coins: 8 },
  { seed: 98, coins: 20 },
  // Runs twice with identical bytes.
  { seed: 10, coins: 14 },
]
const LINK_SEEDS = 60

describe('the service on a faulty venue', () => {
  test.each(RUNS)('keeps its promises with seed $seed and $coins coins', keepsItsPromises)
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

function keepsItsPromises({ seed, coins }: (typeof RUNS)[number]): void {
  const outcome = outcomeOf({ seed, coins, ...SHAPE }, () => performance.now())
  const { minutes, faults } = SHAPE
  const report = new Report(
    (failed) =>
      `npm run simulate -- --seed ${failed} --coins ${coins} --minutes ${minutes} --faults ${faults}`,
  )
  report.add(outcome)
  expect(Object.keys(outcome.result.counts), report.lines().join('\n')).toEqual([])
}

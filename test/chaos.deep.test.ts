import { expect, test } from 'vitest'
import { runChaos } from './chaos/chaos.ts'

/** The long run, with other seeds, is `npm run chaos`. */
test('under failing facilitators and kills every buyer is charged once per answer', async () => {
  const seed = 20_261_126
  const { violations, requests, kills, charges, refetched } = await runChaos({
    seed,
    purchases: 40,
    kills: true,
    shortLived: 0,
    patienceMs: 90_000,
  })
  expect(violations, `npm run chaos -- --seed ${seed} --payments 40 --short-lived 0`).toEqual([])
  expect(requests).toBeGreaterThan(40)
  expect(kills).toBeGreaterThan(0)
  expect(charges).toBeGreaterThan(0)
  expect(refetched).toBe(charges)
})

import { expect, test } from 'vitest'
import { runChaos } from './chaos/chaos.ts'

/** The long run is `npm run chaos`; its seeds are as good as any. */
test('under failing facilitators and kills everybody pays once, for what they got', async () => {
  const seed = Date.now() % 1_000_000
  const { violations, requests, kills, charges, refetched } = await runChaos({
    seed,
    purchases: 40,
    kills: true,
    shortLived: 0,
    patienceMs: 45_000,
  })
  expect(violations, `npm run chaos -- --seed ${seed} --payments 40`).toEqual([])
  expect(requests).toBeGreaterThan(40)
  expect(kills).toBeGreaterThan(0)
  expect(charges).toBeGreaterThan(0)
  expect(refetched).toBe(charges)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GatedService } from './support/killed-sales.ts'
import { killWhileSelling, PRICE, startGatedService } from './support/killed-sales.ts'

let service: GatedService

beforeAll(async () => {
  service = await startGatedService()
})

afterAll(() => service?.close())

/** SIGKILL allows no shutdown; all promises must hold nevertheless. */
test('a service that is killed while it sells charges every payment once, answers each, and repeats what it delivered', async () => {
  // One payment is charged and answered, others are charged, and the service has no reply about them.
  const moments = [{ transaction: 2, part: 'reply' }] as const
  const { kills, receivedUsdcAtomic, changed } = await killWhileSelling(service, moments)
  const [killed, ...others] = kills
  expect(others).toEqual([])
  expect(killed).toMatchObject({ payments: 6, answeredBeforeKill: 1 })
  expect(killed?.chargedBeforeKill).toBeGreaterThan(1)
  expect(receivedUsdcAtomic).toBe(PRICE * 6n)
  expect(changed, 'byte for byte').toBe(0)
  expect(await service.rig.stop(), 'and it ends cleanly on SIGTERM').toBe(0)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GatedService } from './support/killed-sales.ts'
import { killWhileSelling, PRICE, startGatedService } from './support/killed-sales.ts'

let service: GatedService

beforeAll(async () => {
  service = await startGatedService()
})

afterAll(() => service?.close())

/** Two other moments of a sale: `crash.test.ts` has that at which several payments are charged at once. */
test('a service that is killed repeatedly charges every payment once, and answers it', async () => {
  const { kills, receivedUsdcAtomic, changed } = await killWhileSelling(service, [
    { transaction: 1, part: 'reply' },
    { transaction: 2, part: 'request' },
  ])
  expect(kills).toEqual([
    { payments: 6, chargedBeforeKill: 1, answeredBeforeKill: 0 },
    { payments: 6, chargedBeforeKill: 1, answeredBeforeKill: 1 },
  ])
  expect(receivedUsdcAtomic).toBe(PRICE * 12n)
  expect(changed, 'what was delivered is repeated byte for byte').toBe(0)
})

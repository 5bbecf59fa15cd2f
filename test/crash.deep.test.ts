import { afterAll, beforeAll, expect, test } from 'vitest'
import { untilCheckpointed } from './support/checkpoint.ts'
import { killWhileSelling, PRICE } from './support/killed-sales.ts'
import type { Rig } from './support/service.ts'
import { startRig, untilAnswerable } from './support/service.ts'

/** Other instants of a sale: before, during and after its settlement. */
const KILLS_AFTER_MS = [15, 55, 75]

let rig: Rig

beforeAll(async () => {
  rig = await startRig()
  await untilAnswerable(rig.url, 'BTC')
  await untilCheckpointed(rig, 'BTC')
})

afterAll(() => rig?.close())

test('a service that is killed repeatedly charges every payment once, and answers it', async () => {
  const { payments, answeredBeforeKill, receivedUsdcAtomic } = await killWhileSelling(
    rig,
    KILLS_AFTER_MS,
  )
  expect(receivedUsdcAtomic, `${answeredBeforeKill} were answered before a kill`).toBe(
    PRICE * BigInt(payments),
  )
})

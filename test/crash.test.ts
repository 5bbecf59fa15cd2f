import { afterAll, beforeAll, expect, test } from 'vitest'
import { killWhileSelling, PRICE } from './support/killed-sales.ts'
import type { Rig } from './support/service.ts'
import { mainMarketOnly, oneCoin, startRig, untilAnswerable } from './support/service.ts'
import type { TransactionGate } from './support/transaction-gate.ts'
import { transactionGate } from './support/transaction-gate.ts'

let gate: TransactionGate
let rig: Rig

beforeAll(async () => {
  gate = await transactionGate()
  rig = await startRig({ coins: oneCoin, flags: mainMarketOnly, nodeUrl: gate.to })
  await untilAnswerable(rig.url, 'BTC')
})

afterAll(async () => {
  await rig?.close()
  await gate?.close()
})

/** SIGKILL allows no shutdown; all promises must hold nevertheless. */
test('a service that is killed while it sells charges every payment once, answers each, and repeats what it delivered', async () => {
  // One payment is charged and answered, others are charged, and the service has no reply about them.
  const moments = [{ transaction: 2, part: 'reply' }] as const
  const { kills, receivedUsdcAtomic, changed } = await killWhileSelling(rig, gate, moments)
  const [killed, ...others] = kills
  expect(others).toEqual([])
  expect(killed).toMatchObject({ payments: 6, answeredBeforeKill: 1 })
  expect(killed?.chargedBeforeKill).toBeGreaterThan(1)
  expect(receivedUsdcAtomic).toBe(PRICE * 6n)
  expect(changed, 'byte for byte').toBe(0)
  expect(await rig.stop(), 'and it ends cleanly on SIGTERM').toBe(0)
})

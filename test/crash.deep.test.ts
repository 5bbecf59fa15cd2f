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

/** Two other moments of a sale: `crash.test.ts` has that at which several payments are charged at once. */
test('a service that is killed repeatedly charges every payment once, and answers it', async () => {
  const { kills, receivedUsdcAtomic, changed } = await killWhileSelling(rig, gate, [
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

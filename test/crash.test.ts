import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilCheckpointed } from './support/checkpoint.ts'
import { buy, killWhileSelling, newPayment, PRICE } from './support/killed-sales.ts'
import type { Rig } from './support/service.ts'
import { startRig, untilAnswerable } from './support/service.ts'

/** Approximate settlement time of the first sale. */
const KILL_AFTER_MS = 40

/** SIGKILL allows no shutdown; all promises must hold nevertheless. */
describe('a service that is killed while it sells', () => {
  let rig: Rig

  beforeAll(async () => {
    rig = await startRig()
    await untilAnswerable(rig.url, 'BTC')
    await untilCheckpointed(rig, 'BTC')
  })

  afterAll(() => rig?.close())

  test('charges every payment at most once, and answers each charged one', async () => {
    const { payments, receivedUsdcAtomic } = await killWhileSelling(rig, [KILL_AFTER_MS])
    expect(receivedUsdcAtomic).toBe(PRICE * BigInt(payments))
  })

  test('keeps an answer that it delivered, byte for byte', async () => {
    const payment = await newPayment(rig)
    const first = await buy(rig, payment)
    const bought = await first.text()
    await rig.kill()
    expect(first.status, bought).toBe(200)
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
    expect(await (await buy(rig, payment)).text()).toBe(bought)
  })

  test('ends cleanly on SIGTERM', async () => {
    expect(await rig.stop()).toBe(0)
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
  })
})

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { CheckpointDb } from '../src/store/checkpoint-db.ts'
import type { Rig } from './support/service.ts'
import { startRig, until, untilAnswerable } from './support/service.ts'

const PRICE = 25_000n
const ROUNDS = 4
const PAYMENTS_PER_ROUND = 6

/** SIGKILL gives the service no chance to tidy up. What it had promised must hold all the same. */
describe('a service that is killed while it sells', () => {
  let rig: Rig

  beforeAll(async () => {
    rig = await startRig()
    await untilAnswerable(rig.url, 'BTC')
    // Who begins four times in a minute without one has used up what the venue grants, and waits for the next minute.
    await until('a checkpoint of BTC is written', async () => {
      const path = join(rig.dataDir, 'engine.db')
      return existsSync(path) && (await checkpointedCoins(path)).includes('BTC')
    })
  })

  afterAll(() => rig?.close())

  test('charges every payment at most once, and gives an answer for each that it charged', async () => {
    const { merchant } = rig.chain.accounts
    const before = await rig.chain.balanceOf(merchant.address)
    const payments: string[] = []
    let answeredBeforeKill = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const batch = await Promise.all(Array.from({ length: PAYMENTS_PER_ROUND }, newPayment))
      payments.push(...batch)
      const calls = batch.map((payment) => buy(payment).catch(() => null))
      // Another instant of the sale in each round: before, during and after settlement.
      await new Promise((resolve) => setTimeout(resolve, 15 + round * 20))
      await rig.kill()
      const replies = await Promise.all(calls)
      answeredBeforeKill += replies.filter((reply) => reply?.status === 200).length
      await rig.start()
      await untilAnswerable(rig.url, 'BTC')
    }
    for (const [at, payment] of payments.entries()) {
      await until(`payment ${at} is answered`, async () => (await buy(payment)).status === 200)
    }
    const received = (await rig.chain.balanceOf(merchant.address)) - before
    expect(received, `${answeredBeforeKill} were answered before a kill`).toBe(
      PRICE * BigInt(payments.length),
    )
  })

  test('is warm again within seconds, from its checkpoint', async () => {
    await rig.kill()
    const killedAtMs = Date.now()
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
    expect(Date.now() - killedAtMs).toBeLessThan(10_000)
  })

  test('keeps an answer that it delivered, byte for byte', async () => {
    const payment = await newPayment()
    const first = await buy(payment)
    const bought = await first.text()
    await rig.kill()
    expect(first.status, bought).toBe(200)
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
    expect(await (await buy(payment)).text()).toBe(bought)
  })

  test('ends cleanly when it is asked to', async () => {
    expect(await rig.stop()).toBe(0)
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
  })

  /** By a wallet of its own: what one wallet may buy a minute is limited. */
  async function newPayment(): Promise<string> {
    const buyer = newBuyer()
    await rig.chain.fundUsdc(buyer.address, PRICE)
    const payTo = rig.chain.accounts.merchant.address
    return encodedPayment(await signedPayload(buyer, { amount: PRICE, payTo, nowMs: Date.now() }))
  }

  function buy(payment: string): Promise<Response> {
    return fetch(`${rig.url}/pulse/BTC`, { headers: { 'payment-signature': payment } })
  }
})

/** Reads a copy: the file itself belongs to the engine alone. A torn copy counts as not yet. */
async function checkpointedCoins(path: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-checkpoint-'))
  try {
    const copy = join(folder, 'engine.db')
    for (const suffix of ['', '-wal']) cpSync(path + suffix, copy + suffix)
    const { db } = CheckpointDb.open(copy, Date.now())
    const coins = [...(db.load()?.coins.keys() ?? [])]
    db.close()
    return coins
  } finally {
    rmSync(folder, { recursive: true })
  }
}

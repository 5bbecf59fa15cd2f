import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Ground } from './support/attacked.ts'
import { startGround } from './support/attacked.ts'

const PRICE = 20_000n
/** Longer than the timeout of a write. */
const LONG_MS = 60_000
/** How the ledger tells SQLite not to wait for a lock, which would block the thread of the gateway. */
const NO_WAIT = 'busy_timeout = 0'

/** Another connection with the write lock, such as a foreign backup or an operator's `sqlite3`. */
const HOLDER = `
const { parentPort, workerData } = require('node:worker_threads')
const Database = require('better-sqlite3')
const db = new Database(workerData.path)
db.exec('BEGIN IMMEDIATE')
parentPort.postMessage('held')
Atomics.wait(new Int32Array(workerData.release), 0, 0, workerData.holdMs)
db.exec('COMMIT')
db.close()
`

let ground: Ground
let folder: string
let ledgerPath: string

beforeAll(async () => {
  ground = await startGround()
})

afterAll(() => ground?.close())

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-held-'))
  ledgerPath = join(folder, 'ledger.db')
})

afterEach(() => rmSync(folder, { recursive: true }))

async function hold(holdMs: number) {
  const release = new SharedArrayBuffer(4)
  const worker = new Worker(HOLDER, {
    eval: true,
    workerData: { path: ledgerPath, release, holdMs },
  })
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return {
    ended,
    release: async () => {
      Atomics.store(new Int32Array(release), 0, 1)
      Atomics.notify(new Int32Array(release), 0)
      await ended
    },
  }
}

async function buy(url: string, payment: string) {
  const response = await fetch(`${url}/pulse/BTC`, { headers: { 'x-payment': payment } })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

describe('a ledger that another program holds', () => {
  test('for 300 ms only delays the sale', async () => {
    const host = await ground.host({ ledgerPath })
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: PRICE })
    const bought = async () => {
      const holder = await hold(300)
      const { status } = await buy(host.url, payment)
      await holder.ended
      return status
    }
    // A busy machine may hold it for longer; then nothing is charged, and the payment stays valid.
    await expect.poll(bought).toBe(200)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('for longer is 503, charges nothing, and holds up the others once', async () => {
    const host = await ground.host({ ledgerPath })
    const buyers = [await ground.fundedBuyer(), await ground.fundedBuyer()] as const
    const payments = await Promise.all(
      buyers.map((buyer) => ground.paymentOf(buyer, { amount: PRICE })),
    )
    const holder = await hold(LONG_MS)
    const waits = vi.spyOn(Database.prototype, 'pragma')
    const lockWaits = () => new Set(waits.mock.calls.map(([pragma]) => pragma))
    const startedMs = performance.now()
    for (const [at, payment] of payments.entries()) {
      const { status, headers, text } = await buy(host.url, payment)
      if (at === 0)
        expect(performance.now() - startedMs, 'the first one waits').toBeGreaterThan(450)
      expect(lockWaits(), 'the next one will not, or did not').toEqual(new Set([NO_WAIT]))
      expect(status, text).toBe(503)
      expect(headers.get('retry-after')).toBe('2')
      expect(JSON.parse(text)).toMatchObject({
        code: 'ledger_busy',
        charged: false,
        payment_reusable: true,
      })
    }
    expect(await host.ledger.counts()).toMatchObject({ settling: 0, settled: 0 })
    await holder.release()
    for (const [at, payment] of payments.entries()) {
      expect((await buy(host.url, payment)).status).toBe(200)
      expect(waits.mock.lastCall, 'from now on they wait again').toEqual(['busy_timeout = 500'])
      expect(await ground.spent(buyers[at] as (typeof buyers)[0])).toBe(PRICE)
    }
  })

  test('while the verdict is written leaves the outcome open, and loses nothing', async () => {
    let holder: Awaited<ReturnType<typeof hold>> | undefined
    const host = await ground.host({
      ledgerPath,
      facilitator: {
        ...ground.facilitator,
        settle: async (...args) => {
          const settlement = await ground.facilitator.settle(...args)
          holder = await hold(LONG_MS)
          return settlement
        },
      },
    })
    const buyer = await ground.fundedBuyer()
    const payment = await ground.paymentOf(buyer, { amount: PRICE })
    const { status, headers, text } = await buy(host.url, payment)
    expect(status, text).toBe(503)
    expect(headers.get('retry-after')).toBe('2')
    expect(JSON.parse(text)).toMatchObject({
      code: 'settlement_unknown',
      charged: null,
      payment_reusable: true,
    })
    await holder?.release()
    const again = await buy(host.url, payment)
    expect(again.status, again.text).toBe(200)
    expect(host.runs(), 'the stored answer is sent').toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
    expect(await host.ledger.counts()).toMatchObject({ settled: 1, settling: 0 })
  })
})

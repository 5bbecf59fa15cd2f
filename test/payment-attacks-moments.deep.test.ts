import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fc, test as property } from '@fast-check/vitest'
import Database from 'better-sqlite3'
import { createTestClient, http } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { listing } from '../src/api/testing/pulse-like.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import { PRICE } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Gateway, Ground } from './support/attacked.ts'
import { FUNDS, PULSE_PRICE, SOLD, startGround } from './support/attacked.ts'

const LIQUIDATIONS_PRICE = 30_000n
const HOUR_MS = 3_600_000

let ground: Ground

beforeAll(async () => {
  ground = await startGround()
})

afterAll(() => ground?.close())

async function buy(url: string, header: string) {
  const response = await fetch(url, { headers: { 'x-payment': header } })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

/** The real facilitator, with an event right before or after one of its operations. */
function disturbed(
  moment: 'before verify' | 'after verify' | 'before settle' | 'after settle',
  disturb: () => unknown,
): Facilitator<ExactEvmPayment> {
  const { facilitator } = ground
  const around =
    <T>(operation: 'verify' | 'settle', work: (payment: ExactEvmPayment) => Promise<T>) =>
    async (payment: ExactEvmPayment): Promise<T> => {
      if (moment === `before ${operation}`) await disturb()
      const result = await work(payment)
      if (moment === `after ${operation}`) await disturb()
      return result
    }
  return {
    ...facilitator,
    verify: around('verify', (payment) => facilitator.verify(payment)),
    settle: around('settle', (payment) => facilitator.settle(payment)),
  }
}

describe('while a payment is verified', () => {
  const moments: readonly {
    readonly what: string
    readonly disturb: (gateway: Gateway) => void
    readonly mend: (gateway: Gateway) => void
    readonly code: string
  }[] = [
    {
      what: 'the switch is thrown for maintenance',
      disturb: ({ maintenance, clock }) => void maintenance.set(true, clock.nowMs()),
      mend: ({ maintenance, clock }) => void maintenance.set(false, clock.nowMs()),
      code: 'maintenance',
    },
    {
      what: 'the engine dies',
      disturb: ({ engine }) => engine.disconnected(),
      mend: ({ beat }) => beat(),
      code: 'engine_unavailable',
    },
    {
      what: 'the engine falls silent',
      disturb: ({ clock }) => clock.advance(16_000),
      mend: ({ beat }) => beat(),
      code: 'engine_timeout',
    },
    {
      what: 'the data grows older than is guaranteed',
      disturb: ({ clock, beat }) => {
        clock.advance(61_000)
        beat()
      },
      mend: ({ render }) => render(2),
      code: 'data_stale',
    },
    {
      what: 'the coin is delisted',
      disturb: ({ engine, clock }) =>
        engine.apply({ kind: 'universe', listings: [listing('ETH')] }, clock.nowMs()),
      mend: ({ engine, clock, render }) => {
        engine.apply({ kind: 'universe', listings: ['BTC', 'ETH'].map(listing) }, clock.nowMs())
        render(3)
      },
      code: 'data_stale',
    },
  ]

  test.each(moments)(
    '$what: nothing is charged, and the same payment buys later',
    async (given) => {
      let isDisturbed = false
      const gateway: Gateway = await ground.gateway({
        facilitator: disturbed('after verify', () => {
          if (!isDisturbed) given.disturb(gateway)
          isDisturbed = true
        }),
      })
      const buyer = await ground.fundedBuyer()
      const header = await ground.paymentOf(buyer, { amount: LIQUIDATIONS_PRICE })
      const refused = await buy(`${gateway.url}/liquidations/BTC`, header)
      expect(JSON.parse(refused.text)).toMatchObject({
        code: given.code,
        charged: false,
        payment_reusable: true,
      })
      expect(await ground.spent(buyer)).toBe(0n)
      given.mend(gateway)
      expect((await buy(`${gateway.url}/liquidations/BTC`, header)).status).toBe(200)
      expect(await ground.spent(buyer)).toBe(LIQUIDATIONS_PRICE)
    },
  )
})

describe('while a payment is settled', () => {
  test('the switch is thrown for maintenance: what is charged is delivered, now or afterwards', async () => {
    const gateway: Gateway = await ground.gateway({
      facilitator: disturbed('before settle', () =>
        gateway.maintenance.set(true, gateway.clock.nowMs()),
      ),
    })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer)
    const first = await buy(`${gateway.url}/pulse/BTC`, header)
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    expect([first.status, first.text]).toEqual([200, expect.stringContaining(SOLD)])
    const meanwhile = await buy(`${gateway.url}/pulse/BTC`, header)
    expect(JSON.parse(meanwhile.text)).toMatchObject({ code: 'maintenance', charged: true })
    gateway.maintenance.set(false, gateway.clock.nowMs())
    expect((await buy(`${gateway.url}/pulse/BTC`, header)).text).toBe(first.text)
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })

  test('the engine dies and renders anew: every copy gets what the first one got', async () => {
    const gateway: Gateway = await ground.gateway({
      facilitator: disturbed('before settle', () => {
        gateway.engine.disconnected()
        gateway.clock.advance(1_000)
        gateway.render(2)
      }),
    })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer)
    const copies = await Promise.all(
      [1, 2, 3, 4].map(() => buy(`${gateway.url}/pulse/BTC`, header)),
    )
    copies.push(await buy(`${gateway.url}/pulse/BTC`, header))
    expect(copies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(new Set(copies.map(({ text }) => text)).size).toBe(1)
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })

  test('its authorization runs out on the chain: no answer and no charge', async () => {
    const own = await startGround()
    onTestFinished(own.close)
    const node = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(own.chain.rpcUrl),
    })
    const host = await own.host({
      atWork: async () => {
        await node.increaseTime({ seconds: 600 })
        await node.mine({ blocks: 1 })
      },
    })
    const buyer = await own.fundedBuyer()
    const header = await own.paymentOf(buyer, { amount: PRICE })
    const late = await buy(`${host.url}/slow/BTC`, header)
    expect(late.text).not.toContain('"run"')
    expect([402, 503]).toContain(late.status)
    expect(await own.spent(buyer)).toBe(0n)
  })
})

describe('a clock on the wall that is put', () => {
  // Timers do not use the wall clock.
  const put = (byMs: number) => (gateway: Gateway) => gateway.wallClock.putBack(-byMs)
  const steps = [
    ['back by an hour', put(-HOUR_MS)],
    ['back by two days', put(-48 * HOUR_MS)],
    ['ahead by a minute', put(HOUR_MS / 60)],
    ['ahead by an hour', put(HOUR_MS)],
    ['ahead by two days', put(48 * HOUR_MS)],
  ] as const
  const moments = ['before verify', 'after verify', 'before settle', 'after settle'] as const

  test.each(steps.flatMap(([what, step]) => moments.map((moment) => ({ what, step, moment }))))(
    '$what $moment charges if and only if it answers, and once',
    async ({ step, moment }) => {
      let stepped = false
      const gateway: Gateway = await ground.gateway({
        facilitator: disturbed(moment, () => {
          if (!stepped) step(gateway)
          stepped = true
        }),
      })
      const buyer = await ground.fundedBuyer()
      const header = await ground.paymentOf(buyer)
      const answers: Awaited<ReturnType<typeof buy>>[] = []
      for (let copies = 0; copies < 4; copies += 1) {
        answers.push(await buy(`${gateway.url}/pulse/BTC`, header))
        gateway.render(2 + copies)
      }
      expect((await buy(`${gateway.url}/pulse/ETH`, header)).text).not.toContain(SOLD)
      // A sale that has begun is concluded, whatever the clock says in between.
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    },
  )

  /** Real time on a clock with an adjustable offset. */
  function wrongClock() {
    const clock = { ...systemClock, aheadMs: 0, nowMs: () => systemClock.nowMs() + clock.aheadMs }
    return clock
  }

  test('back by an hour bars no address that had failed before', async () => {
    const clock = wrongClock()
    const limits = { failedPaymentsPerAddressPerMinute: 2 }
    const gateway = await ground.gateway({ limits, paymentClock: clock })
    const url = `${gateway.url}/pulse/BTC`
    const buyer = await ground.fundedBuyer()
    expect((await buy(url, await ground.paymentOf(buyer))).status).toBe(200)
    for (let tries = 0; tries < 4; tries += 1) {
      const poor = await ground.paymentOf(newBuyer(), { amount: 1n })
      expect((await buy(url, poor)).status).toBeGreaterThanOrEqual(400)
    }
    clock.aheadMs = -HOUR_MS
    const header = await ground.paymentOf(buyer, { validAfterSeconds: 0n })
    expect((await buy(url, header)).status).toBe(200)
  })

  test('ahead by an hour does not call a transaction expired that waits for its block', async () => {
    const node = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(ground.chain.rpcUrl),
    })
    const clock = wrongClock()
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer, { amount: PRICE })
    let isCut = true
    const host = await ground.host({
      clock,
      facilitator: {
        ...ground.facilitator,
        settle: async (payment) => {
          if (!isCut) return ground.facilitator.settle(payment)
          void ground.facilitator.settle(payment)
          await expect.poll(async () => (await node.getTxpoolStatus()).pending).toBe(1)
          return { kind: 'unknown', reason: 'the reply was lost', transaction: null }
        },
      },
    })
    await node.setAutomine(false)
    onTestFinished(() => node.setAutomine(true))
    expect((await buy(`${host.url}/pulse/BTC`, header)).status).toBe(503)
    isCut = false
    clock.aheadMs = HOUR_MS
    const { status } = await buy(`${host.url}/pulse/BTC`, header)
    await node.mine({ blocks: 1 })
    expect(await ground.spent(buyer), 'the transaction was good all along').toBe(PRICE)
    expect(status, 'a 402 makes the buyer sign, and pay, once more').toBe(503)
  })
})

describe('a ledger', () => {
  async function ledgerFile(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-attacked-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return join(folder, 'ledger.db')
  }

  /** A settled payment and its answer, and the ledger file with both. */
  async function settledIn(ledgerPath: string) {
    const host = await ground.host({ ledgerPath })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer, { amount: PRICE })
    const { status, text } = await buy(`${host.url}/pulse/BTC`, header)
    expect(status).toBe(200)
    await host.close()
    return { buyer, header, text }
  }

  test('that is closed while a payment settles leaves the outcome open, and knows it when it is back', async () => {
    const ledgerPath = await ledgerFile()
    const gateway: Gateway = await ground.gateway({
      ledgerPath,
      facilitator: disturbed('before settle', () => gateway.ledger.close()),
    })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer)
    const open = await buy(`${gateway.url}/pulse/BTC`, header)
    expect(open.status, 'a 402 would make the buyer pay twice').toBe(503)
    expect(JSON.parse(open.text)).toMatchObject({ code: 'settlement_unknown', charged: null })
    const after = await ground.gateway({ ledgerPath })
    expect((await buy(`${after.url}/pulse/BTC`, header)).status).toBe(200)
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })

  test('whose row is damaged does not deny a charge', async () => {
    const ledgerPath = await ledgerFile()
    const before = await ground.gateway({ ledgerPath })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer)
    expect((await buy(`${before.url}/pulse/BTC`, header)).status).toBe(200)
    await before.close()
    const db = new Database(ledgerPath)
    db.exec("UPDATE answers SET body = CAST(replace(CAST(body AS TEXT), 'rsi', 'isr') AS BLOB)")
    db.close()
    const after = await ground.gateway({ ledgerPath })
    const { status, text } = await buy(`${after.url}/pulse/BTC`, header)
    expect(text, 'what was not written is not sent').not.toContain('isr_14')
    expect(status).toBeGreaterThanOrEqual(500)
    expect(JSON.parse(text).charged, 'the money was taken').not.toBe(false)
    expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
  })

  test('that cannot be read does not deny a charge', async () => {
    const gateway = await ground.gateway()
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer)
    expect((await buy(`${gateway.url}/pulse/BTC`, header)).status).toBe(200)
    await gateway.ledger.close()
    const { status, text } = await buy(`${gateway.url}/pulse/BTC`, header)
    expect(status).toBeGreaterThanOrEqual(500)
    expect(JSON.parse(text).charged).not.toBe(false)
  })

  let whole:
    | Promise<{ buyer: PrivateKeyAccount; header: string; text: string; file: Buffer }>
    | undefined
  /** One for all changes: none of them moves money. */
  const wholeLedger = () => {
    whole ??= ledgerFile().then(async (path) => ({
      ...(await settledIn(path)),
      file: readFileSync(path),
    }))
    return whole
  }

  property.prop([fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 15 })(
    'with any one byte changed charges nobody twice and sends nothing that was not written',
    async (where, change) => {
      const ledgerPath = await ledgerFile()
      const { buyer, header, text, file } = await wholeLedger()
      const bytes = Buffer.from(file)
      const at = where % bytes.length
      bytes[at] = (bytes[at] ?? 0) ^ change
      writeFileSync(ledgerPath, bytes)
      const host = await ground.host({ ledgerPath }).catch((cause: unknown) => {
        expect(cause, 'a file that cannot be trusted is refused').toBeInstanceOf(Error)
        return null
      })
      if (host === null) return
      const again = await buy(`${host.url}/pulse/BTC`, header)
      // If the row is lost, the received money buys a new answer.
      if (again.status === 200 && host.runs() === 0) expect(again.text).toBe(text)
      expect(await ground.spent(buyer)).toBe(PRICE)
      await host.close()
    },
  )

  test('whose file is removed under it goes on', async () => {
    const ledgerPath = await ledgerFile()
    const host = await ground.host({ ledgerPath })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer, { amount: PRICE })
    const first = await buy(`${host.url}/pulse/BTC`, header)
    for (const suffix of ['', '-wal', '-shm']) rmSync(ledgerPath + suffix, { force: true })
    expect((await buy(`${host.url}/pulse/BTC`, header)).text).toBe(first.text)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })
})

/** Limits the size of this process's files, which behaves like a full disk. */
const PRLIMIT = ['/usr/bin/prlimit', '/bin/prlimit'].find((path) => existsSync(path))

function limitFiles(bytes: number | 'unlimited'): void {
  if (PRLIMIT === undefined) throw new Error('checked: prlimit is here')
  execFileSync(PRLIMIT, ['--pid', String(process.pid), `--fsize=${bytes}:`])
}

describe.skipIf(PRLIMIT === undefined)('a disk that is full (needs prlimit)', () => {
  async function filledAt(moment: 'after verify' | 'before settle') {
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-full-'))
    onTestFinished(() => {
      limitFiles('unlimited')
      rmSync(folder, { recursive: true })
    })
    const ledgerPath = join(folder, 'ledger.db')
    let filled = false
    const host = await ground.host({
      ledgerPath,
      facilitator: disturbed(moment, () => {
        if (!filled) limitFiles(statSync(`${ledgerPath}-wal`).size)
        filled = true
      }),
    })
    const buyer = await ground.fundedBuyer()
    const header = await ground.paymentOf(buyer, { amount: PRICE })
    return { host, buyer, header }
  }

  test('before the answer is on it stops the sale, and nothing is charged', async () => {
    const { host, buyer, header } = await filledAt('after verify')
    const { status, text } = await buy(`${host.url}/pulse/BTC`, header)
    expect(status).toBe(503)
    expect(JSON.parse(text)).toMatchObject({ code: 'ledger_busy', charged: false })
    expect(await ground.chain.balanceOf(buyer.address)).toBe(FUNDS)
    limitFiles('unlimited')
    expect((await buy(`${host.url}/pulse/BTC`, header)).status, 'once there is room').toBe(200)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('before the verdict is on it leaves the outcome open, and the answer is not lost', async () => {
    const { host, buyer, header } = await filledAt('before settle')
    const { status, text } = await buy(`${host.url}/pulse/BTC`, header)
    expect(status).toBe(503)
    expect(JSON.parse(text)).toMatchObject({ code: 'settlement_unknown', charged: null })
    limitFiles('unlimited')
    const again = await buy(`${host.url}/pulse/BTC`, header)
    expect([again.status, again.text]).toEqual([200, '{"coin":{"coin":"BTC"},"run":1}'])
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })
})

import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestClient, http } from 'viem'
import { base as baseChain } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ClockCheck } from '../src/payment/clock-check.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { nodeClient } from '../src/payment/evm/node-client.ts'
import { settlementProbe } from '../src/payment/evm/settlement-probe.ts'
import { HealthMonitor } from '../src/payment/health-monitor.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { monitoredFacilitator } from '../src/payment/monitored-facilitator.ts'
import { SalesReadiness } from '../src/payment/sales-readiness.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Gateway, Ground } from './support/attacked.ts'
import { FUNDS, PULSE_PRICE, startGround } from './support/attacked.ts'
import { ManualClock } from './support/manual-clock.ts'

const TEN_MINUTES = 600_000
/** A port without a listener: a dead node. */
const NOBODY = 'http://127.0.0.1:9'

let ground: Ground

beforeAll(async () => {
  ground = await startGround()
})

afterAll(() => ground?.close())

type Checked = {
  readonly gateway: Gateway
  readonly ledger: HealthMonitor
  readonly clock: ClockCheck
}

/** The public server with the checks of `serve`; the test runs the probes. */
async function checkedGateway(
  options: {
    readonly ledgerPath?: string
    readonly venueAheadMs?: () => number
    readonly rpcUrls?: readonly string[]
    readonly watches?: HealthMonitor[]
  } = {},
): Promise<Checked> {
  const { rpcUrls = [ground.chain.rpcUrl], watches = [] } = options
  let ledgerWatch: HealthMonitor | null = null
  const clock = new ClockCheck({
    clock: systemClock,
    ...(options.venueAheadMs && { venueAheadMs: options.venueAheadMs }),
  })
  const methods = rpcUrls.map((rpcUrl) => methodAt(rpcUrl, clock, watches))
  const gateway = await ground.gateway({
    methods,
    ...(options.ledgerPath === undefined ? {} : { ledgerPath: options.ledgerPath }),
    checked: ({ ledger }) => {
      ledgerWatch = watchOf(() => ledger.writeFault())
      return new SalesReadiness({ methods, ledger: ledgerWatch, clock })
    },
  })
  if (ledgerWatch === null) throw new Error('the gateway checks its ledger')
  return { gateway, ledger: ledgerWatch, clock }
}

function watchOf(probe: () => Promise<string | null> | string | null): HealthMonitor {
  // Timers do not run: the test probes.
  return new HealthMonitor({ clock: new ManualClock(), chance: () => 0, probe })
}

function methodAt(rpcUrl: string, clock: ClockCheck, watches: HealthMonitor[]) {
  const { facilitator: account, merchant } = ground.chain.accounts
  const facilitator = localFacilitator({
    network: base,
    rpcUrl,
    privateKey: account.privateKey,
    clock: systemClock,
  })
  const watch = watchOf(
    settlementProbe({
      node: nodeClient(base, rpcUrl),
      gasAccount: facilitator.gasAccount,
      onBlockTime: (timeMs) => {
        clock.report(base.network, timeMs)
        return clock.disagrees(base.network)
      },
    }),
  )
  watches.push(watch)
  return exactEvm({
    network: base,
    payTo: merchant.address,
    facilitator: monitoredFacilitator(facilitator, watch),
    readiness: () => watch.fault,
  })
}

async function ask({ gateway }: Checked, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}/pulse/BTC`, { headers })
  const text = await response.text()
  const body = text === '' ? {} : JSON.parse(text)
  return { status: response.status, headers: response.headers, body }
}

async function health({ gateway }: Checked) {
  return (await fetch(`${gateway.url}/health`)).json() as Promise<Record<string, unknown>>
}

async function expectUnquoted(checked: Checked, check: string): Promise<void> {
  const { status, headers, body } = await ask(checked)
  expect(status).toBe(503)
  expect(headers.get('retry-after')).toBe('5')
  expect(headers.get('payment-required')).toBeNull()
  expect(body).toMatchObject({ code: 'service_not_ready', check, charged: false, retryable: true })
  expect(await health(checked)).toMatchObject({ status: 'degraded', checks: { [check]: false } })
}

async function expectQuoted(checked: Checked): Promise<void> {
  expect((await ask(checked)).status).toBe(402)
  expect(await health(checked)).toMatchObject({ status: 'ok' })
}

/** Limits the size of this process's files, which behaves like a full disk. */
const PRLIMIT = ['/usr/bin/prlimit', '/bin/prlimit'].find((path) => existsSync(path))

function limitFiles(bytes: number | 'unlimited'): void {
  if (PRLIMIT === undefined) throw new Error('checked: prlimit is here')
  execFileSync(PRLIMIT, ['--pid', String(process.pid), `--fsize=${bytes}:`])
}

async function ledgerFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-ready-'))
  onTestFinished(() => {
    if (PRLIMIT !== undefined) limitFiles('unlimited')
    rmSync(folder, { recursive: true })
  })
  return join(folder, 'ledger.db')
}

describe('a ledger that cannot be written', () => {
  test.skipIf(PRLIMIT === undefined)(
    'on a disk that is full ends quotes, charges nobody, and sells on once there is room (needs prlimit)',
    async () => {
      const ledgerPath = await ledgerFile()
      const checked = await checkedGateway({ ledgerPath })
      const buyer = await ground.fundedBuyer()
      const header = await ground.paymentOf(buyer)
      await checked.ledger.probe()
      await expectQuoted(checked)
      limitFiles(statSync(`${ledgerPath}-wal`).size)
      await checked.ledger.probe()
      expect(checked.ledger.fault?.reason).toContain('the ledger cannot be written')
      await expectUnquoted(checked, 'ledger_writable')
      const paid = await ask(checked, { 'x-payment': header })
      expect(paid.status).toBe(503)
      expect(paid.body).toMatchObject({ check: 'ledger_writable', payment_reusable: true })
      limitFiles('unlimited')
      await checked.ledger.probe()
      await expectQuoted(checked)
      expect((await ask(checked, { 'x-payment': header })).status).toBe(200)
      expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    },
  )

  test('because another process holds it ends quotes, and says so', async () => {
    const ledgerPath = await ledgerFile()
    const checked = await checkedGateway({ ledgerPath })
    const { default: Database } = await import('better-sqlite3')
    const other = new Database(ledgerPath)
    other.exec('BEGIN IMMEDIATE')
    await checked.ledger.probe()
    expect(checked.ledger.fault?.reason).toContain('locked')
    await expectUnquoted(checked, 'ledger_writable')
    other.exec('COMMIT')
    other.close()
    await checked.ledger.probe()
    await expectQuoted(checked)
  })

  test('is probed by a page that reaches its log, and no row of it changes', async () => {
    const ledgerPath = await ledgerFile()
    const ledger = new SqliteLedger(ledgerPath)
    onTestFinished(() => ledger.close())
    const sizeBefore = statSync(`${ledgerPath}-wal`).size
    expect(await ledger.writeFault()).toBeNull()
    expect(statSync(`${ledgerPath}-wal`).size).toBeGreaterThan(sizeBefore)
    expect(Object.values(await ledger.counts())).toEqual([0, 0, 0, 0, 0, 0])
  })
})

describe('a settlement that cannot be made', () => {
  test('because the only node is dead ends quotes; a payment is tried, and charged nothing', async () => {
    const watches: HealthMonitor[] = []
    const checked = await checkedGateway({ rpcUrls: [NOBODY], watches })
    for (const watch of watches) await watch.probe()
    await expectUnquoted(checked, 'can_settle')
    const buyer = await ground.fundedBuyer()
    const paid = await ask(checked, { 'x-payment': await ground.paymentOf(buyer) })
    expect(paid.status).toBe(503)
    expect(paid.body).toMatchObject({
      code: 'facilitator_unavailable',
      charged: false,
      payment_reusable: true,
    })
    expect(await ground.chain.balanceOf(buyer.address)).toBe(FUNDS)
  })

  test('by one of two ways offers the other alone', async () => {
    const watches: HealthMonitor[] = []
    const checked = await checkedGateway({ rpcUrls: [NOBODY, ground.chain.rpcUrl], watches })
    const ways = async () => (await ask(checked)).body.accepts.length
    expect(await ways()).toBe(2)
    for (const watch of watches) await watch.probe()
    expect(await ways()).toBe(1)
    await expectQuoted(checked)
  })

  test('because the account that pays the gas is empty ends quotes until it is not', async () => {
    const node = createTestClient({
      mode: 'anvil',
      chain: baseChain,
      transport: http(ground.chain.rpcUrl),
    })
    const { address } = ground.chain.accounts.facilitator
    const fill = () => node.setBalance({ address, value: 10n ** 18n })
    onTestFinished(fill)
    const watches: HealthMonitor[] = []
    const checked = await checkedGateway({ watches })
    const probe = async () => {
      for (const watch of watches) await watch.probe()
    }
    await probe()
    await expectQuoted(checked)
    await node.setBalance({ address, value: 1n })
    await probe()
    expect(watches[0]?.fault?.reason).toContain('has 1 wei')
    await expectUnquoted(checked, 'can_settle')
    await fill()
    await probe()
    await expectQuoted(checked)
  })
})

describe('a clock that is ten minutes off', () => {
  test.each([TEN_MINUTES, -TEN_MINUTES])(
    'by %i ms of the venue ends quotes and charges nobody',
    async (venueAheadMs) => {
      let aheadMs = 0
      const checked = await checkedGateway({ venueAheadMs: () => aheadMs })
      const buyer = await ground.fundedBuyer()
      const header = await ground.paymentOf(buyer)
      await expectQuoted(checked)
      aheadMs = venueAheadMs
      await expectUnquoted(checked, 'clock')
      const paid = await ask(checked, { 'x-payment': header })
      expect(paid.body).toMatchObject({ check: 'clock', charged: false, payment_reusable: true })
      aheadMs = 0
      expect((await ask(checked, { 'x-payment': header })).status).toBe(200)
      expect(await ground.spent(buyer)).toBe(PULSE_PRICE)
    },
  )

  test('is right after all where the chain agrees with it', async () => {
    const watches: HealthMonitor[] = []
    const checked = await checkedGateway({ venueAheadMs: () => TEN_MINUTES, watches })
    for (const watch of watches) await watch.probe()
    expect([...checked.clock.offsets().keys()]).toEqual(['venue', base.network])
    await expectQuoted(checked)
  })
})

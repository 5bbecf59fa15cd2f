import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Counter, Gauge, Registry } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { Channel } from '../../payment/channels/channel-store.ts'
import { SqliteLedger } from '../../payment/ledger/sqlite-ledger.ts'
import { channelConfig } from '../../payment/testing/channel-config.ts'
import { ledgerEntry } from '../../payment/testing/ledger-entry.ts'
import { adminFixture } from '../testing/admin-fixture.ts'
import { gatedLike, pulseLike } from '../testing/pulse-like.ts'
import { moneyReports } from './money-report.ts'
import { RequestStatistics } from './request-statistics.ts'
import { SalesCounts } from './sales-counts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const network = 'eip155:8453'
const route = '/pulse/:coin'
const ends: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function fixture(channels: readonly Channel[] | null = null) {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-money-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const ledger = new SqliteLedger(join(folder, 'ledger.db'))
  ends.push(() => ledger.close())
  const clock = new ManualClock()
  clock.advance(10 * DAY_MS + HOUR_MS)
  const [metrics, counts, requests] = [
    new Registry(),
    new SalesCounts(),
    new RequestStatistics(clock),
  ]
  const money = moneyReports({
    ...{ clock, contracts: [pulseLike, gatedLike], ledger, counts, requests, metrics },
    channels: channels && (async () => channels),
  })
  const sell = async (nonce: string, state: 'settled' | 'lost' | 'unknown', atMs: number) => {
    await ledger.begin(ledgerEntry(nonce), atMs)
    await ledger.move(ledgerEntry(nonce).key, state, null, atMs)
  }
  return { clock, ledger, metrics, counts, requests, money, sell }
}

test('earnings, buyers and open payments are those of the ledger in seven days of UTC', async () => {
  const { clock, money, sell } = fixture()
  const nowMs = clock.nowMs()
  const sinceMs = nowMs - HOUR_MS - 6 * DAY_MS
  await sell('1', 'settled', sinceMs - 1)
  await sell('2', 'settled', sinceMs)
  await sell('3', 'settled', nowMs)
  await sell('4', 'lost', sinceMs - 1)
  await sell('5', 'unknown', nowMs - 2 * HOUR_MS)
  const { sales, reason } = await money()
  expect(reason).toBeNull()
  expect(sales).toMatchObject({
    sinceMs,
    earnings: [
      { day: '2026-01-05', route, network, payments: 1, amountAtomic: '25000' },
      { day: '2026-01-11', route, network, payments: 1, amountAtomic: '25000' },
    ],
    unsettled: [{ state: 'unknown', age: 'day', payments: 1, amountAtomic: '25000' }],
    buyers: { count: 1, largest: [{ payer: '0xB', payments: 2, amountAtomic: '50000' }] },
    ...{ gas: [], channels: null, refusals: [] },
  })
})

test('readers within ten seconds share one report', async () => {
  const { clock, money, sell } = fixture()
  expect((await money()).sales?.earnings).toEqual([])
  await sell('1', 'settled', clock.nowMs())
  clock.advance(9_000)
  expect((await money()).sales?.earnings).toEqual([])
  clock.advance(1_000)
  expect((await money()).sales?.earnings).toHaveLength(1)
})

test('the funnel leads from requests over quotes to sales, and a late outcome is no second sale', async () => {
  const { money, counts, requests } = fixture()
  for (const status of [402, 402, 200, 200]) requests.add(route, status, 1)
  for (const kind of ['quoted', 'quoted'] as const) counts.record({ kind, route })
  counts.record({ kind: 'settled', route, tookMs: 5 })
  counts.record({ kind: 'trusted', route, tookMs: 5 })
  counts.record({ kind: 'settled', route })
  const { sales } = await money()
  expect(sales?.funnel).toEqual([
    { analysis: 'pulse', route, requests: 4, quotes: 2, sales: 2 },
    { analysis: 'liquidations', route: '/liquidations/:coin', requests: 0, quotes: 0, sales: 0 },
  ])
})

test('refusals are counted by reason, and free texts only up to a bound', async () => {
  const { money, counts } = fixture()
  counts.refused('data_stale')
  counts.refused('data_stale')
  counts.record({ kind: 'rejected', route, reason: 'insufficient_funds' })
  counts.record({ kind: 'conflict', route })
  counts.record({ kind: 'verified', route, tookMs: 1 })
  expect((await money()).sales?.refusals).toEqual([
    { reason: 'data_stale', count: 2 },
    { reason: 'insufficient_funds', count: 1 },
    { reason: 'payment_conflict', count: 1 },
  ])
  for (let index = 0; index < 100; index += 1) counts.refused(`text ${index}`)
  expect(counts.refusals()).toHaveLength(65)
  expect(counts.refusals()[0]).toEqual({ reason: 'other', count: 39 })
})

test('refused calls of an analysis are counted by their error code, those of other paths not', async () => {
  const { app } = adminFixture()
  const counts = new SalesCounts()
  counts.observe(app)
  await app.inject('/pulse/NOCOIN')
  await app.inject('/pulse/BTC?more=1')
  await app.inject('/pulse/BTC')
  await app.inject('/coins?more=1')
  expect(counts.refusals()).toEqual([
    { reason: 'invalid_coin', count: 1 },
    { reason: 'unknown_parameter', count: 1 },
  ])
})

test('gas is that of the metrics; unknown while the node does not answer', async () => {
  const { clock, money, metrics } = fixture()
  const registers = [metrics]
  const left = new Gauge({ name: 'perpscope_gas_balance_ether', help: 'Left.', registers })
  new Counter({ name: 'perpscope_gas_spent_ether_total', help: 'Spent.', registers }).inc(0.002)
  left.set(0.5)
  expect((await money()).sales?.gas).toEqual([{ coin: 'ETH', left: 0.5, spent: 0.002 }])
  left.set(Number.NaN)
  clock.advance(10_000)
  expect((await money()).sales?.gas).toEqual([{ coin: 'ETH', left: null, spent: 0.002 }])
})

test('channels have what can be claimed of them, the largest first', async () => {
  const channel: Channel = {
    ...{ id: '0x01', config: channelConfig, balance: 1_000n, claimed: 100n, charged: 400n },
    ...{ refundNonce: 0n, withdrawRequestedAtSeconds: 0, signature: '0xaa' },
    ...{ unclaimedSinceMs: 7, refundSent: null, syncedMs: 0 },
  }
  const { money } = fixture([
    channel,
    { ...channel, id: '0x02', charged: 2_000n },
    { ...channel, id: '0x03', balance: 0n, charged: 0n, signature: null, claimed: 0n },
  ])
  const payer = channel.config.payer
  expect((await money()).sales?.channels).toEqual({
    ...{ open: 2, claimableAtomic: '1200' },
    largest: [
      { id: '0x02', payer, balanceAtomic: '1000', claimableAtomic: '900', sinceMs: 7 },
      { id: '0x01', payer, balanceAtomic: '1000', claimableAtomic: '300', sinceMs: 7 },
    ],
  })
})

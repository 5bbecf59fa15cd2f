import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { SqliteLedger } from './ledger/sqlite-ledger.ts'
import type { Outcome, Settlement } from './payment.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'
import { PRICE, startPaidHost } from './testing/paid-host.ts'

const payTo = '0x00000000000000000000000000000000000000A1'
const NOW_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const TRANSACTION = `0x${'12'.repeat(32)}`
const noNode: Outcome = { kind: 'unknown', reason: 'no node is configured', isLasting: true }

/** A buyer whose settlement's reply was lost. */
async function lostReply() {
  const clock = new ManualClock(NOW_MS)
  const ledger = new SqliteLedger(':memory:')
  const settlement: Settlement = { kind: 'unknown', reason: 'no answer', transaction: null }
  const chain = { outcome: noNode, settlements: 0, questions: 0 }
  const facilitator = {
    verify: async () => ({ kind: 'valid' }) as const,
    settle: async () => {
      chain.settlements += 1
      return settlement
    },
    outcome: async () => {
      chain.questions += 1
      return chain.outcome
    },
  }
  const host = await startPaidHost({ payTo, facilitator, clock, ledger })
  onTestFinished(() => host.close())
  const terms = { amount: PRICE, payTo, nowMs: NOW_MS } as const
  const headers = {
    'payment-signature': encodedPayment(await signedPayload(newBuyer(), terms)),
  }
  const ask = async () => (await host.app.inject({ url: '/pulse/BTC', headers })).json()
  expect(await ask()).toMatchObject({ code: 'settlement_unknown', charged: null })
  /** Follows open payments up for so long. */
  const passes = async (ms: number, everyMs = 5_000) => {
    for (let passedMs = 0; passedMs < ms; passedMs += everyMs) {
      clock.advance(everyMs)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const opened = () => host.events.filter(({ kind, route }) => kind === 'open' && route !== null)
  return { chain, clock, ledger, ask, passes, opened, events: host.events }
}

test('a payment that no node can be asked about is at rest once it has expired, and is never charged', async () => {
  const { chain, clock, ledger, ask, passes, opened } = await lostReply()
  await passes(HOUR_MS)
  const { questions } = chain
  expect(questions).toBeGreaterThan(20)
  await passes(HOUR_MS)
  expect(chain.questions, 'it is not asked about any more').toBe(questions)
  expect(await ledger.counts()).toMatchObject({ unknown: 1, released: 0 })
  expect(opened().at(-1)).toMatchObject({ reason: noNode.reason })
  expect(await ask()).toMatchObject({ code: 'settlement_unknown', charged: null })
  clock.advance(8 * 24 * HOUR_MS)
  await ledger.sweep(clock.nowMs(), 64)
  const expired = { code: 'payment_replayed', charged: null }
  expect(await ask(), 'its answer was deleted').toMatchObject(expired)
  expect(chain.settlements).toBe(1)
})

test('a payment at rest ends by the chain where a node is configured later', async () => {
  const { clock, ledger, passes } = await lostReply()
  await passes(HOUR_MS)
  const host = await startPaidHost({
    payTo,
    facilitator: {
      verify: () => Promise.reject(new Error('nothing is verified')),
      settle: () => Promise.reject(new Error('nothing is settled')),
      outcome: async () => ({ kind: 'settled', transaction: TRANSACTION }),
    },
    clock,
    ledger,
  })
  onTestFinished(() => host.close())
  await passes(10_000)
  expect(await ledger.counts()).toMatchObject({ unknown: 0, settled: 1 })
})

test('an outcome that stays open because the node errs is reported once an hour, with its reason', async () => {
  const { chain, passes, opened } = await lostReply()
  const before = opened().length
  chain.outcome = { kind: 'unknown', reason: 'missing trie node' }
  await passes(2.5 * HOUR_MS)
  expect(
    opened()
      .slice(before)
      .map(({ reason }) => reason),
  ).toEqual(Array.from({ length: 3 }, () => 'missing trie node'))
})

import { afterEach, describe, expect, test } from 'vitest'
import type { Entry, Ledger, LedgerRetention, PaymentState } from '../ledger/ledger.ts'
import { ledgerEntry as entry, NOW_MS, VALID_BEFORE_SECONDS } from './ledger-entry.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** One store of payments that ledgers open, also one after the other. */
export type LedgerStore = {
  open(retention?: LedgerRetention): Promise<Ledger>
  /** Changes a byte of the stored answer of this payment. No ledger is open. */
  damageAnswer(nonce: string): Promise<void>
  /** As the books report it. */
  finalityOf(nonce: string): Promise<string | undefined>
  remove(): Promise<void>
}

/** What every store of the ledger promises. */
export function describeLedger(name: string, newStore: () => Promise<LedgerStore>): void {
  describe(`the ledger in ${name}`, () => {
    const stores: LedgerStore[] = []
    const ledgers: Ledger[] = []

    afterEach(async () => {
      for (const ledger of ledgers.splice(0)) await ledger.close()
      for (const store of stores.splice(0)) await store.remove()
    })

    async function stored(): Promise<LedgerStore> {
      const store = await newStore()
      stores.push(store)
      return store
    }

    async function opened(store: LedgerStore, retention?: LedgerRetention): Promise<Ledger> {
      const ledger = await store.open(retention)
      ledgers.push(ledger)
      return ledger
    }

    async function newLedger(): Promise<Ledger> {
      return opened(await stored())
    }

    async function begunAs(
      ledger: Ledger,
      nonce: string,
      state: Exclude<PaymentState, 'settling'>,
      atMs = NOW_MS,
    ): Promise<void> {
      await ledger.begin(entry(nonce), NOW_MS)
      await ledger.move(entry(nonce).key, state, null, atMs)
    }

    describe('a payment', () => {
      test('is returned as it was written, also after a restart', async () => {
        const store = await stored()
        const one = entry('0x1')
        const before = await opened(store)
        expect(await before.begin(one, NOW_MS)).toEqual({ kind: 'begun', finality: 'confirmed' })
        await before.move(one.key, 'settled', '0xabc', NOW_MS)
        await before.close()
        const after = await opened(store)
        expect(await after.find(one.key)).toEqual({
          state: 'settled',
          binding: one.binding,
          payloadHash: 'hash',
          transaction: '0xabc',
          access: one.access,
          answer: one.answer,
        })
        expect(await after.find({ ...one.key, nonce: '0x2' })).toBeNull()
      })

      test('begins once, and again only after it was refused or lost', async () => {
        const ledger = await newLedger()
        for (const state of ['unknown', 'unconfirmed', 'settled'] as const) {
          const other = entry(state)
          await ledger.begin(other, NOW_MS)
          expect(await ledger.begin(other, NOW_MS)).toEqual({ kind: 'taken' })
          await ledger.move(other.key, state, null, NOW_MS)
          expect(await ledger.begin(other, NOW_MS)).toEqual({ kind: 'taken' })
        }
        for (const state of ['released', 'lost'] as const) {
          const one = entry(state)
          await begunAs(ledger, state, state)
          const again = { ...one, binding: 'another', answer: entry('other').answer }
          expect(await ledger.begin(again, NOW_MS)).toMatchObject({ kind: 'begun' })
          expect(await ledger.find(one.key)).toMatchObject({
            state: 'settling',
            binding: 'another',
            transaction: null,
            answer: again.answer,
          })
        }
      })

      test('of which many copies come at once begins once', async () => {
        const ledger = await newLedger()
        const copies = Array.from({ length: 8 }, () => ledger.begin(entry('0x1'), NOW_MS))
        const kinds = (await Promise.all(copies)).map(({ kind }) => kind)
        expect(kinds.filter((kind) => kind === 'begun')).toHaveLength(1)
        expect(kinds.filter((kind) => kind === 'taken')).toHaveLength(7)
      })

      test('stays settled after later verdicts', async () => {
        const ledger = await newLedger()
        const one = entry('0x1')
        await ledger.begin(one, NOW_MS)
        await ledger.move(one.key, 'settled', '0xabc', NOW_MS)
        await ledger.move(one.key, 'released', null, NOW_MS)
        await ledger.move(one.key, 'unknown', '0xdef', NOW_MS)
        expect(await ledger.find(one.key)).toMatchObject({
          state: 'settled',
          transaction: '0xabc',
          answer: one.answer,
        })
      })

      test('keeps its transaction through verdicts without one', async () => {
        const ledger = await newLedger()
        const one = entry('0x1')
        await ledger.begin(one, NOW_MS)
        await ledger.move(one.key, 'unknown', '0xabc', NOW_MS)
        await ledger.move(one.key, 'unknown', null, NOW_MS)
        expect((await ledger.find(one.key))?.transaction).toBe('0xabc')
        await ledger.move(one.key, 'settled', '0xdef', NOW_MS)
        expect((await ledger.find(one.key))?.transaction).toBe('0xdef')
      })

      test('records until when the address that paid has access', async () => {
        const ledger = await newLedger()
        const one = entry('0x1')
        await ledger.begin(one, NOW_MS)
        await ledger.admitCaller(one.key, 0)
        expect((await ledger.find(one.key))?.access).toEqual({ ...one.access, callerUntilMs: 0 })
      })

      test('whose outcome was unknown is confirmed in the books: its answer waited for it', async () => {
        const store = await stored()
        const before = await opened(store)
        for (const nonce of ['open', 'answered', 'interrupted'])
          await before.begin({ ...entry(nonce), finality: 'preconfirmed' }, NOW_MS)
        await before.move(entry('open').key, 'unknown', '0xabc', NOW_MS)
        await before.move(entry('answered').key, 'unconfirmed', '0xabc', NOW_MS)
        await before.close()
        const after = await opened(store)
        await after.interrupted(NOW_MS + 2 * MINUTE_MS)
        for (const nonce of ['open', 'answered', 'interrupted'])
          await after.move(entry(nonce).key, 'settled', '0xabc', NOW_MS)
        expect(await store.finalityOf('open')).toBe('confirmed')
        expect(await store.finalityOf('interrupted')).toBe('confirmed')
        expect(await store.finalityOf('answered')).toBe('preconfirmed')
      })

      test('with a damaged answer is not sent', async () => {
        const store = await stored()
        const before = await opened(store)
        await before.begin(entry('0x1'), NOW_MS)
        await before.close()
        await store.damageAnswer('0x1')
        const after = await opened(store)
        await expect(after.find(entry('0x1').key)).rejects.toThrow(/damaged/)
      })
    })

    describe('an identifier', () => {
      const one = { ...entry('0x1'), identifier: 'order-1' }
      const other = { ...entry('0x2'), identifier: 'order-1' }

      test('finds its payment, for its payer only', async () => {
        const ledger = await newLedger()
        await ledger.begin(one, NOW_MS)
        expect(await ledger.findByIdentifier('0xB', 'order-1')).toEqual(one.key)
        expect(await ledger.findByIdentifier('0xD', 'order-1')).toBeNull()
        expect(await ledger.findByIdentifier('0xB', 'order-2')).toBeNull()
        await ledger.move(one.key, 'released', null, NOW_MS)
        expect(await ledger.findByIdentifier('0xB', 'order-1'), 'it was refused').toBeNull()
      })

      test('belongs to one payment of a payer, unless that was refused', async () => {
        const ledger = await newLedger()
        const begun = await Promise.all([one, other].map((each) => ledger.begin(each, NOW_MS)))
        expect(begun.map(({ kind }) => kind).sort()).toEqual(['begun', 'identifier_taken'])
        const ofAnother = { ...other, key: { ...other.key, payer: '0xD' } }
        expect(await ledger.begin(ofAnother, NOW_MS)).toMatchObject({ kind: 'begun' })
        const [first, second] = begun[0]?.kind === 'begun' ? [one, other] : [other, one]
        await ledger.move(first.key, 'released', null, NOW_MS)
        expect(await ledger.begin(second, NOW_MS)).toMatchObject({ kind: 'begun' })
        expect(await ledger.begin(first, NOW_MS)).toEqual({ kind: 'identifier_taken' })
      })

      test('of a refused payment that was paid after all does not stop its verdict', async () => {
        const ledger = await newLedger()
        await ledger.begin(one, NOW_MS)
        await ledger.move(one.key, 'released', null, NOW_MS)
        await ledger.begin(other, NOW_MS)
        await ledger.move(one.key, 'settled', '0xabc', NOW_MS)
        expect(await ledger.find(one.key)).toMatchObject({ state: 'settled' })
      })
    })

    describe('the sweep', () => {
      test('removes a paid answer ten minutes after its authorization expired', async () => {
        const ledger = await newLedger()
        await begunAs(ledger, '0x1', 'settled')
        const endMs = VALID_BEFORE_SECONDS * 1_000 + 10 * MINUTE_MS
        expect(await ledger.sweep(endMs, 100)).toBe(0)
        expect(await ledger.sweep(endMs + 1, 100)).toBe(1)
        expect(await ledger.find(entry('0x1').key), 'the payment is kept').toMatchObject({
          state: 'settled',
          answer: null,
        })
      })

      test('removes a refused settlement after a day', async () => {
        const ledger = await newLedger()
        await begunAs(ledger, '0x1', 'released')
        expect(await ledger.sweep(NOW_MS + DAY_MS, 100)).toBe(0)
        expect((await ledger.counts()).released).toBe(1)
        expect(await ledger.sweep(NOW_MS + DAY_MS + 1, 100)).toBe(1)
        expect(await ledger.find(entry('0x1').key)).toBeNull()
        expect((await ledger.counts()).released).toBe(0)
      })

      test('keeps an open outcome for days', async () => {
        const ledger = await newLedger()
        await ledger.begin(entry('settling'), NOW_MS)
        await begunAs(ledger, 'unknown', 'unknown')
        expect(await ledger.sweep(NOW_MS + 6 * DAY_MS, 100)).toBe(0)
        expect(await ledger.sweep(NOW_MS + 8 * DAY_MS, 100)).toBe(2)
      })

      test('keeps the answer of a payment that was found settled long after it expired', async () => {
        const ledger = await newLedger()
        const { key } = entry('0x1')
        await begunAs(ledger, '0x1', 'unknown')
        const foundMs = VALID_BEFORE_SECONDS * 1_000 + 60 * MINUTE_MS
        await ledger.move(key, 'settled', '0xabc', foundMs)
        expect(await ledger.sweep(foundMs + 6 * DAY_MS, 100), 'its buyer may come back').toBe(0)
        expect((await ledger.find(key))?.answer).not.toBeNull()
        expect(await ledger.sweep(foundMs + 8 * DAY_MS, 100)).toBe(1)
      })

      test('keeps an open outcome no longer after further follow-ups', async () => {
        const ledger = await newLedger()
        const { key } = entry('0x1')
        await ledger.begin(entry('0x1'), NOW_MS)
        for (const atMs of [NOW_MS, NOW_MS + 7 * DAY_MS])
          await ledger.move(key, 'unknown', null, atMs)
        expect(await ledger.sweep(VALID_BEFORE_SECONDS * 1_000 + 7 * DAY_MS + 1, 100)).toBe(1)
      })

      test('counts from the settlement if that came after the payment expired', async () => {
        const ledger = await newLedger()
        const { key } = entry('0x1')
        await ledger.begin(entry('0x1'), NOW_MS)
        await ledger.move(key, 'unconfirmed', '0xabc', NOW_MS)
        const finalMs = VALID_BEFORE_SECONDS * 1_000 + 60 * MINUTE_MS
        await ledger.move(key, 'settled', '0xabc', finalMs)
        expect(await ledger.sweep(finalMs + 10 * MINUTE_MS, 100)).toBe(0)
        expect(await ledger.sweep(finalMs + 10 * MINUTE_MS + 1, 100)).toBe(1)
      })

      test('removes finished payments if that is wanted, and none whose answer is stored', async () => {
        const retention = { answersMs: 10 * MINUTE_MS, paymentsMs: 30 * DAY_MS }
        const ledger = await opened(await stored(), retention)
        for (const state of ['settled', 'lost', 'unknown', 'unconfirmed'] as const)
          await begunAs(ledger, state, state)
        const endMs = NOW_MS + 30 * DAY_MS + 1
        await ledger.sweep(endMs - 2, 10)
        expect(await ledger.counts()).toMatchObject({ settled: 1, lost: 1 })
        // The answers of open payments are gone by then; their rows stay.
        expect(await ledger.sweep(endMs, 10)).toBeGreaterThan(0)
        expect(await ledger.counts()).toMatchObject({
          settled: 0,
          lost: 0,
          unknown: 1,
          unconfirmed: 1,
        })
        expect(await ledger.find(entry('settled').key)).toBeNull()
      })

      test('works in slices', async () => {
        const ledger = await newLedger()
        for (let index = 0; index < 7; index += 1) await ledger.begin(entry(String(index)), NOW_MS)
        const farMs = NOW_MS + 365 * DAY_MS
        const removed: number[] = []
        for (const _ of [1, 2, 3]) removed.push(await ledger.sweep(farMs, 3))
        expect(removed).toEqual([3, 3, 1])
      })
    })

    describe('open payments', () => {
      async function nonces(ledger: Ledger, untouchedSinceMs: number): Promise<unknown[]> {
        const found: unknown[] = []
        for (;;) {
          const open = await ledger.nextOpen(untouchedSinceMs, NOW_MS + DAY_MS)
          if (open === null) return found
          found.push([open.key.nonce, open.state, open.wire.payload])
        }
      }

      test('are those without a final outcome, the longest waiting first, each once', async () => {
        const ledger = await newLedger()
        for (const [index, state] of (
          ['unconfirmed', 'settled', 'unknown', 'lost'] as const
        ).entries())
          await begunAs(ledger, state, state, NOW_MS + 10 - index)
        await ledger.begin(entry('settling'), NOW_MS)
        expect(await nonces(ledger, NOW_MS + 7)).toEqual([])
        expect(await nonces(ledger, NOW_MS + 10)).toEqual([
          ['unknown', 'unknown', { nonce: 'unknown' }],
          ['unconfirmed', 'unconfirmed', { nonce: 'unconfirmed' }],
        ])
        expect(await nonces(ledger, NOW_MS + 10)).toEqual([])
      })

      test('of networks without a node are left out once nothing can settle them', async () => {
        const ledger = await newLedger()
        await begunAs(ledger, '0x1', 'unknown')
        const { network } = entry('0x1').key
        const validBeforeMs = VALID_BEFORE_SECONDS * 1_000
        const next = (networks: readonly string[], expiredMs: number) =>
          ledger.nextOpen(NOW_MS, NOW_MS, { networks, validBeforeMs: expiredMs })
        expect(await next([network, 'solana:1'], validBeforeMs + 1)).toBeNull()
        expect(await next(['solana:1'], validBeforeMs + 1)).toMatchObject({ state: 'unknown' })
        await ledger.move(entry('0x1').key, 'unknown', null, NOW_MS)
        expect(await next([network], validBeforeMs)).toMatchObject({ state: 'unknown' })
      })

      test('wait again after a follow-up without an outcome', async () => {
        const ledger = await newLedger()
        await begunAs(ledger, '0x1', 'unknown')
        expect(await nonces(ledger, NOW_MS)).toHaveLength(1)
        await ledger.move(entry('0x1').key, 'unknown', null, NOW_MS + 1)
        expect(await nonces(ledger, NOW_MS)).toEqual([])
        expect(await nonces(ledger, NOW_MS + 1)).toHaveLength(1)
      })

      test('include what was being settled when its process ended', async () => {
        const store = await stored()
        const before = await opened(store)
        await before.begin(entry('0x1'), NOW_MS)
        await before.close()
        const after = await opened(store)
        await after.interrupted(NOW_MS)
        expect(await after.counts()).toMatchObject({ settling: 0, unknown: 1 })
        expect(await nonces(after, NOW_MS)).toMatchObject([['0x1', 'unknown', { nonce: '0x1' }]])
      })

      test('include no settlement that is in progress', async () => {
        const ledger = await newLedger()
        await ledger.interrupted(NOW_MS)
        await ledger.begin(entry('0x1'), NOW_MS)
        await ledger.interrupted(NOW_MS)
        expect(await ledger.counts()).toMatchObject({ settling: 1, unknown: 0 })
      })

      test('can be taken over before their outcome is final', async () => {
        const ledger = await newLedger()
        for (const state of ['unknown', 'unconfirmed', 'settled', 'released', 'lost'] as const)
          await begunAs(ledger, state, state)
        await ledger.begin(entry('settling'), NOW_MS)
        const takenOver = async (nonce: string) => ledger.takeOver(entry(nonce).key)
        for (const nonce of ['settling', 'unknown']) expect(await takenOver(nonce)).toBe(true)
        for (const nonce of ['unconfirmed', 'settled', 'released', 'lost', 'absent'])
          expect(await takenOver(nonce), nonce).toBe(false)
      })
    })

    describe('the exposure', () => {
      const limits = { payerMax: 50_000n, totalMax: 75_000n }

      async function begin(
        ledger: Ledger,
        nonce: string,
        { payer = '0xB', finality = 'broadcast' as Entry['finality'] } = {},
      ) {
        const one = entry(nonce)
        const key = { ...one.key, payer }
        const begun = await ledger.begin({ ...one, key, finality, exposure: limits }, NOW_MS)
        return { key, begun }
      }

      test('counts answers sent on a broadcast, until they are confirmed or lost', async () => {
        const ledger = await newLedger()
        const { key } = await begin(ledger, '1')
        await begin(ledger, '2', { payer: '0xD' })
        await begin(ledger, '3', { finality: 'confirmed' })
        expect(await ledger.exposure()).toBe(50_000n)
        await ledger.move(key, 'unconfirmed', '0xabc', NOW_MS)
        expect(await ledger.exposure()).toBe(50_000n)
        expect(await ledger.hasLost('0xB')).toBe(false)
        await ledger.move(key, 'lost', null, NOW_MS)
        expect(await ledger.exposure()).toBe(25_000n)
        expect(await ledger.hasLost('0xB')).toBe(true)
      })

      test('is not exceeded by payments that begin at once: the others wait for confirmation', async () => {
        const ledger = await newLedger()
        const ofOne = await Promise.all(['1', '2', '3'].map((nonce) => begin(ledger, nonce)))
        const finalities = ofOne.map(({ begun }) => begun.kind === 'begun' && begun.finality)
        expect(finalities.sort()).toEqual(['broadcast', 'broadcast', 'confirmed'])
        const ofOthers = await Promise.all(
          ['4', '5'].map((nonce) => begin(ledger, nonce, { payer: `0xD${nonce}` })),
        )
        const others = ofOthers.map(({ begun }) => begun.kind === 'begun' && begun.finality)
        expect(others.sort()).toEqual(['broadcast', 'confirmed'])
        expect(await ledger.exposure()).toBe(75_000n)
      })
    })

    test('a payer has settled once one payment is paid', async () => {
      const ledger = await newLedger()
      await begunAs(ledger, '0x1', 'unconfirmed')
      expect(await ledger.hasSettled('0xB')).toBe(false)
      await ledger.move(entry('0x1').key, 'settled', '0xabc', NOW_MS)
      expect(await ledger.hasSettled('0xB')).toBe(true)
      expect(await ledger.hasSettled('0xD')).toBe(false)
    })

    test('counts are those of the store, also after a restart', async () => {
      const store = await stored()
      const before = await opened(store)
      for (const state of ['unknown', 'settled', 'released'] as const)
        await begunAs(before, state, state)
      await before.begin(entry('released'), NOW_MS)
      const counts = { settling: 1, unknown: 1, unconfirmed: 0, settled: 1, released: 0, lost: 0 }
      expect(await before.counts()).toEqual(counts)
      await before.close()
      expect(await (await opened(store)).counts()).toEqual(counts)
    })

    describe('the summary', () => {
      const HOUR_MS = 60 * MINUTE_MS
      async function sell(
        ledger: Ledger,
        nonce: string,
        state: PaymentState,
        { payer = '0xB', atMs = NOW_MS, amount = 25_000n, route = '/pulse/:coin' } = {},
      ): Promise<void> {
        const one = entry(nonce)
        const key = { ...one.key, payer }
        await ledger.begin({ ...one, key, amount, route }, atMs)
        if (state !== 'settling') await ledger.move(key, state, null, atMs)
      }

      test('of an empty ledger is empty', async () => {
        const summary = await (await newLedger()).summary(NOW_MS - DAY_MS, NOW_MS)
        expect(summary).toEqual({ sold: [], open: [], buyers: 0, largest: [] })
      })

      test('sums settled payments of the window by day, route and network', async () => {
        const ledger = await newLedger()
        await sell(ledger, '1', 'settled', { atMs: NOW_MS - 1 })
        await sell(ledger, '2', 'settled')
        await sell(ledger, '3', 'settled', { amount: 9_007_199_254_740_993n })
        await sell(ledger, '4', 'settled', { route: '/oi/:coin' })
        await sell(ledger, '5', 'settled', { atMs: NOW_MS + DAY_MS })
        await sell(ledger, '6', 'unconfirmed')
        await sell(ledger, '7', 'released')
        const network = 'eip155:8453'
        const { sold } = await ledger.summary(NOW_MS, NOW_MS)
        expect(sold).toEqual([
          { day: '2026-01-01', route: '/oi/:coin', network, payments: 1, amount: 25_000n },
          {
            ...{ day: '2026-01-01', route: '/pulse/:coin', network, payments: 2 },
            amount: 9_007_199_254_765_993n,
          },
          { day: '2026-01-02', route: '/pulse/:coin', network, payments: 1, amount: 25_000n },
        ])
      })

      test('has everything open by age, and what was lost in the window', async () => {
        const ledger = await newLedger()
        await sell(ledger, '1', 'unknown', { atMs: NOW_MS - 2 * DAY_MS })
        await sell(ledger, '2', 'unknown', { atMs: NOW_MS - MINUTE_MS - 1 })
        await sell(ledger, '3', 'settling', { atMs: NOW_MS - MINUTE_MS })
        await sell(ledger, '4', 'unconfirmed', { atMs: NOW_MS - 2 * HOUR_MS })
        await sell(ledger, '5', 'lost', { atMs: NOW_MS - DAY_MS })
        await sell(ledger, '6', 'lost', { atMs: NOW_MS - DAY_MS - 1 })
        const { open, buyers } = await ledger.summary(NOW_MS - DAY_MS, NOW_MS)
        const payment = { payments: 1, amount: 25_000n }
        expect(open).toEqual([
          { state: 'settling', age: 'minute', ...payment },
          { state: 'unknown', age: 'hour', ...payment },
          { state: 'unknown', age: 'older', ...payment },
          { state: 'unconfirmed', age: 'day', ...payment },
          { state: 'lost', age: 'day', ...payment },
        ])
        expect(buyers).toBe(0)
      })

      test('counts buyers and names the ten largest', async () => {
        const ledger = await newLedger()
        for (let index = 1; index <= 12; index += 1)
          await sell(ledger, `${index}`, 'settled', {
            payer: `0x${index}`,
            amount: BigInt(index * 1_000),
          })
        await sell(ledger, 'again', 'settled', { payer: '0x12', amount: 1n })
        const { buyers, largest } = await ledger.summary(NOW_MS, NOW_MS)
        expect(buyers).toBe(12)
        expect(largest).toHaveLength(10)
        expect(largest.slice(0, 2)).toEqual([
          { payer: '0x12', payments: 2, amount: 12_001n },
          { payer: '0x11', payments: 1, amount: 11_000n },
        ])
      })
    })

    test('a sale can be written', async () => {
      expect(await (await newLedger()).writeFault()).toBeNull()
    })
  })
}

import type { PrivateKeyAccount } from 'viem/accounts'
import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { ExactEvmPayment } from './evm/exact-evm.ts'
import type { Finality } from './finality.ts'
import { finalityOf } from './finality.ts'
import type { Facilitator, Outcome, Settlement, Verification } from './payment.ts'
import { encodedPayment, newBuyer, signedPayload } from './testing/buyer.ts'
import type { PaidHost } from './testing/paid-host.ts'
import { PRICE, startPaidHost } from './testing/paid-host.ts'

const payTo = '0x00000000000000000000000000000000000000A1'
const NOW_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** A chain whose blocks come when the test says so, and a mempool that can lose what it holds. */
class SlowChain implements Facilitator<ExactEvmPayment> {
  readonly settlements: (Finality | undefined)[] = []
  readonly #waiting = new Set<string>()
  readonly #mined = new Set<string>()
  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  async verify(): Promise<Verification> {
    return { kind: 'valid' }
  }

  async settle({ nonce }: ExactEvmPayment, finality?: Finality): Promise<Settlement> {
    this.settlements.push(finality)
    this.#waiting.add(nonce)
    const transaction = `0x${nonce.slice(2, 10)}`
    if (finality === 'broadcast') return { kind: 'broadcast', transaction }
    if (finality === 'confirmed') this.mine()
    return { kind: 'settled', transaction }
  }

  async outcome({ nonce }: ExactEvmPayment): Promise<Outcome> {
    return this.#mined.has(nonce)
      ? { kind: 'settled', transaction: `0x${nonce.slice(2, 10)}` }
      : { kind: 'unused', asOfSeconds: this.#clock.nowMs() / SECOND_MS }
  }

  mine(): void {
    for (const nonce of this.#waiting) this.#mined.add(nonce)
    this.lose()
  }

  lose(): void {
    this.#waiting.clear()
  }
}

const hosts: PaidHost[] = []
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()))
})

async function rig(
  finality: Finality,
  exposure = { payerMax: 10n * PRICE, totalMax: 100n * PRICE },
) {
  const clock = new ManualClock(NOW_MS)
  const chain = new SlowChain(clock)
  const host = await startPaidHost({
    payTo,
    facilitator: chain,
    clock,
    finality: () => finality,
    exposure,
  })
  hosts.push(host)
  const buyer = newBuyer()
  const payment = async (from = buyer) =>
    encodedPayment(await signedPayload(from, { amount: PRICE, payTo, nowMs: clock.nowMs() }))
  const send = async (header: string) =>
    (await fetch(`${host.url}/pulse/BTC`, { headers: { 'x-payment': header } })).status
  const buy = async (from?: PrivateKeyAccount) => send(await payment(from))
  /** Time passes in the steps of the follow-up, each of which is let come to its end. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 5 * SECOND_MS) {
      clock.advance(5 * SECOND_MS)
      await new Promise<void>((resolve) => setImmediate(resolve))
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }
  return { chain, clock, host, buyer, payment, send, buy, pass }
}

describe('an answer given on a broadcast', () => {
  test('leaves before the block, and is settled in the books after it', async () => {
    const { chain, host, buy, pass } = await rig('broadcast')
    expect(await buy()).toBe(200)
    expect(chain.settlements).toEqual(['broadcast'])
    expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 1, settled: 0 })
    chain.mine()
    await pass(15 * SECOND_MS)
    expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 0, settled: 1 })
    expect(chain.settlements, 'nothing was sent twice').toHaveLength(1)
  })

  test('is given again for the same payment, without another transfer', async () => {
    const { chain, host, payment, send } = await rig('broadcast')
    const header = await payment()
    expect([await send(header), await send(header)]).toEqual([200, 200])
    expect(host.runs()).toBe(1)
    expect(chain.settlements).toHaveLength(1)
  })

  test('is collected by another transaction when the first one was dropped', async () => {
    const { chain, host, buy, pass } = await rig('broadcast')
    expect(await buy()).toBe(200)
    chain.lose()
    await pass(50 * SECOND_MS)
    expect(chain.settlements).toEqual(['broadcast', 'confirmed'])
    expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 0, settled: 1 })
  })

  test('is lost when its payment runs out, and its payer waits for blocks from then on', async () => {
    const { chain, host, buy, pass } = await rig('broadcast')
    expect(await buy()).toBe(200)
    chain.settle = async () => ({ kind: 'unknown', reason: 'node down', transaction: null })
    await pass(4 * MINUTE_MS)
    expect(await host.ledger.counts()).toMatchObject({ lost: 1, unconfirmed: 0 })
    expect(host.events.some(({ kind }) => kind === 'lost')).toBe(true)
    const seen: (Finality | undefined)[] = []
    chain.settle = async (_payment, finality) => {
      seen.push(finality)
      return { kind: 'settled', transaction: '0xabc' }
    }
    expect(await buy()).toBe(200)
    expect(await buy(newBuyer())).toBe(200)
    expect(seen).toEqual(['confirmed', 'broadcast'])
  })
})

describe('what is owed is bounded', () => {
  test('for one payer', async () => {
    const { chain, buy } = await rig('broadcast', { payerMax: 2n * PRICE, totalMax: 100n * PRICE })
    for (let call = 0; call < 3; call += 1) expect(await buy()).toBe(200)
    expect(await buy(newBuyer())).toBe(200)
    expect(chain.settlements).toEqual(['broadcast', 'broadcast', 'confirmed', 'broadcast'])
  })

  test('in total, also for concurrent calls', async () => {
    const { chain, buy } = await rig('broadcast', { payerMax: 10n * PRICE, totalMax: 2n * PRICE })
    const statuses = await Promise.all([1, 2, 3, 4].map(() => buy(newBuyer())))
    expect(statuses).toEqual([200, 200, 200, 200])
    expect(chain.settlements.toSorted()).toEqual([
      'broadcast',
      'broadcast',
      'confirmed',
      'confirmed',
    ])
  })
})

test('an answer given on a preconfirmation waits for the block in the books alone', async () => {
  const { chain, host, buy, pass } = await rig('preconfirmed')
  expect(await buy()).toBe(200)
  expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 1 })
  chain.mine()
  await pass(15 * SECOND_MS)
  expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 0, settled: 1 })
})

test("a facilitator's word that is the last one closes the books, however sure it was to be", async () => {
  const { chain, host, buy, pass } = await rig('preconfirmed')
  chain.outcome = async () => ({ kind: 'unknown', reason: 'no RPC URL is configured' })
  let settlements = 0
  chain.settle = async () => {
    settlements += 1
    return { kind: 'settled', transaction: '0xabc', isFinal: true }
  }
  expect(await buy()).toBe(200)
  await pass(MINUTE_MS)
  expect(await host.ledger.counts()).toMatchObject({ unconfirmed: 0, settled: 1 })
  expect(settlements).toBe(1)
})

test('a price has the finality of the first rule that reaches it', () => {
  const rules = [
    { finality: 'broadcast', upTo: 20_000n },
    { finality: 'preconfirmed', upTo: 50_000n },
  ] as const
  expect([1n, 20_000n, 20_001n, 50_000n, 50_001n].map((price) => finalityOf(rules, price))).toEqual(
    ['broadcast', 'broadcast', 'preconfirmed', 'preconfirmed', 'confirmed'],
  )
  expect(finalityOf([{ finality: 'preconfirmed', upTo: null }], 10n ** 9n)).toBe('preconfirmed')
})

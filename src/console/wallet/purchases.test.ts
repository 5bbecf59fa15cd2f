import Fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { exactEvm } from '../../payment/evm/exact-evm.ts'
import { base } from '../../payment/evm/networks.ts'
import { SqliteLedger } from '../../payment/ledger/sqlite-ledger.ts'
import type { Facilitator, Verification } from '../../payment/payment.ts'
import { payments } from '../../payment/plugin.ts'
import { newBuyer } from '../../payment/testing/buyer.ts'
import { newSecret } from '../../payment/testing/new-secret.ts'
import { PendingPayments } from './pending-payments.ts'
import type { PurchaseState } from './purchases.ts'
import { Purchases } from './purchases.ts'
import type { WalletProvider } from './wallet-provider.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const URL_OF_SERVICE = 'http://console.test'
const PATH = '/pulse/ETH'
const payTo = '0x00000000000000000000000000000000000000A1'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The service's payments, with a chain that settles everything, and the line to it. */
async function shop() {
  const ledger = new SqliteLedger(':memory:')
  const settled: string[] = []
  const line = {
    /** Replies to payments that are lost on the way, and settlements that fail, counted from the next. */
    ...{ losses: 0, outages: 0 },
    /** What the replies to calls from now on wait for. */
    held: null as Promise<void> | null,
    verification: { kind: 'valid' } as Verification,
    /** Whether the browser has no storage left for this key. */
    isFull: (_key: string) => false,
  }
  const facilitator: Facilitator = {
    verify: async () => line.verification,
    settle: async ({ nonce }) => {
      if (line.outages > 0) {
        line.outages -= 1
        return { kind: 'unreachable', reason: 'node_down' }
      }
      settled.push(nonce)
      return { kind: 'settled', transaction: `0x${'12'.repeat(32)}` }
    },
    outcome: async () => ({ kind: 'unknown', reason: 'node_down' }),
  }
  const clock = new ManualClock(NOW_MS)
  const app = Fastify()
  cleanups.push(async () => {
    await app.close()
    await ledger.close()
  })
  await app.register(payments, {
    methods: [exactEvm({ network: base, payTo, facilitator })],
    ...{ ledger, clock, newSecret, publicUrl: URL_OF_SERVICE },
  })
  const config = { x402: { priceUsdcAtomic: 20_000n, description: 'pulse' } }
  app.get('/pulse/:coin', { config }, (_request, reply) =>
    reply.type('application/json').send(Buffer.from('{"coin":"ETH"}')),
  )
  const fetch = async (url: string, { headers }: { headers: Record<string, string> }) => {
    const { held } = line
    const response = await app.inject({ url: url.slice(URL_OF_SERVICE.length), headers })
    if (headers['payment-signature'] !== undefined && line.losses > 0) {
      line.losses -= 1
      throw new TypeError('network error')
    }
    await held
    return new Response(response.body, {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
    })
  }
  const stored = new Map<string, string>()
  const pending = new PendingPayments({
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => {
      if (line.isFull(key)) throw new DOMException('no room', 'QuotaExceededError')
      stored.set(key, value)
    },
    removeItem: (key) => void stored.delete(key),
  })
  let nonces = 0
  /** A page of this tab; a second one is the page after a reload. */
  const openPage = () =>
    new Purchases({
      ...{ url: URL_OF_SERVICE, pending, fetch, payTo: [payTo] },
      nowMs: clock.nowMs.bind(clock),
      wait: async () => {},
      newNonce: () => `0x${String(++nonces).padStart(64, '0')}`,
      onBought: () => {},
    })
  return { openPage, line, settled, stored }
}

/** A wallet with a local key, which counts its signatures. */
function wallet(chainId = 8453) {
  const buyer = newBuyer()
  const log = { signatures: 0, chainId, asked: [] as string[] }
  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_requestAccounts: () => [buyer.address],
    eth_chainId: () => `0x${log.chainId.toString(16)}`,
    wallet_switchEthereumChain: ([chain]) => {
      log.chainId = Number((chain as { chainId: string }).chainId)
      return null
    },
    eth_signTypedData_v4: ([, typed]) => {
      log.signatures += 1
      const { domain, types, primaryType, message } = JSON.parse(String(typed))
      return buyer.signTypedData({ domain, types, primaryType, message })
    },
  }
  const provider: WalletProvider = {
    request: async ({ method, params = [] }) => {
      log.asked.push(method)
      const answer = answers[method]
      if (answer === undefined) throw Object.assign(new Error('unknown method'), { code: 4200 })
      return answer(params)
    },
  }
  return { provider, log, answers }
}

function refusing(method: string, code: number) {
  const { provider, log } = wallet(1)
  const refuses: WalletProvider = {
    request: async (call) => {
      if (call.method === method) throw Object.assign(new Error('User rejected'), { code })
      return provider.request(call)
    },
  }
  return { provider: refuses, log }
}

async function paid(page: Purchases, provider: WalletProvider): Promise<PurchaseState> {
  await page.quote(PATH)
  await page.pay(PATH, provider)
  return page.stateOf(PATH).value
}

describe('a purchase in the browser', () => {
  test('shows the terms before anything is signed, and then the answer with its receipt', async () => {
    const { openPage, stored, settled } = await shop()
    const page = openPage()
    await page.quote(PATH)
    expect(page.stateOf(PATH).value).toMatchObject({
      kind: 'quoted',
      terms: { amount: '20000', payTo, network: 'eip155:8453', maxTimeoutSeconds: 120 },
    })
    const { provider, log } = wallet()
    await page.pay(PATH, provider)
    expect(page.stateOf(PATH).value).toMatchObject({
      kind: 'bought',
      answer: { coin: 'ETH' },
      receipt: { success: true, transaction: `0x${'12'.repeat(32)}` },
    })
    expect(log.signatures).toBe(1)
    expect(settled).toHaveLength(1)
    expect(stored.size).toBe(0)
  })

  test('switches the wallet to the network of the terms', async () => {
    const { openPage } = await shop()
    const { provider, log } = wallet(1)
    expect(await paid(openPage(), provider)).toMatchObject({ kind: 'bought' })
    expect(log.chainId).toBe(8453)
  })

  test.each([
    ['eth_requestAccounts', /declined/],
    ['eth_signTypedData_v4', /declined/],
    ['wallet_switchEthereumChain', /another network/],
  ])('that the user declines at %s charges nothing, and says so', async (method, text) => {
    const { openPage, settled, stored } = await shop()
    const { provider } = refusing(method, 4001)
    const state = await paid(openPage(), provider)
    expect(state).toMatchObject({ kind: 'quoted', failure: { charged: false } })
    expect(JSON.stringify(state)).toMatch(text)
    expect(JSON.stringify(state)).toContain('Nothing was signed or charged')
    expect(settled).toEqual([])
    expect(stored.size).toBe(0)
  })

  test('with a wrong signature is refused, and can be paid again', async () => {
    const { openPage, settled, stored } = await shop()
    const honest = wallet()
    const provider: WalletProvider = {
      request: (call) =>
        call.method === 'eth_signTypedData_v4'
          ? Promise.resolve('0x00')
          : honest.provider.request(call),
    }
    const state = await paid(openPage(), provider)
    expect(state).toMatchObject({ kind: 'quoted', failure: { charged: false } })
    expect(settled).toEqual([])
    expect(stored.size).toBe(0)
  })

  test('without an answer is never signed again, also after a reload', async () => {
    const { openPage, line, settled } = await shop()
    const { provider, log } = wallet()
    line.losses = 6
    const page = openPage()
    expect(await paid(page, provider)).toMatchObject({ kind: 'open' })
    await page.pay(PATH, provider)
    expect(log.signatures, 'the button of a first payment does nothing now').toBe(1)

    const reloaded = openPage()
    expect(await paid(reloaded, provider)).toMatchObject({ kind: 'open' })
    line.losses = 6
    await reloaded.resume(PATH)
    expect(reloaded.stateOf(PATH).value).toMatchObject({ kind: 'open' })
    await reloaded.resume(PATH)
    expect(reloaded.stateOf(PATH).value).toMatchObject({ kind: 'bought', answer: { coin: 'ETH' } })
    expect(log.signatures).toBe(1)
    expect(settled).toHaveLength(1)
  })

  test('that the service could not settle goes on with the same payment, and the next one is new', async () => {
    const { openPage, line, settled } = await shop()
    const { provider, log } = wallet()
    line.outages = 6
    const page = openPage()
    expect(await paid(page, provider)).toMatchObject({ kind: 'open' })
    await page.resume(PATH)
    expect(page.stateOf(PATH).value).toMatchObject({ kind: 'bought' })
    expect(log.signatures).toBe(1)
    expect(await paid(page, provider)).toMatchObject({ kind: 'bought' })
    expect(log.signatures, 'a newer answer has its own payment').toBe(2)
    expect(new Set(settled).size).toBe(2)
  })

  test('that is refused but may have been charged is kept, sent again and replaced only on request', async () => {
    const { openPage, line, settled, stored } = await shop()
    const { provider, log } = wallet()
    const page = openPage()
    line.verification = { kind: 'invalid', reason: 'simulation_failed' }
    const state = await paid(page, provider)
    expect(state).toMatchObject({ kind: 'open', isRefused: true })
    expect(JSON.stringify(state)).toContain('may have charged')
    await page.pay(PATH, provider)
    expect(log.signatures, 'the button of a first payment does nothing now').toBe(1)

    const reloaded = openPage()
    await reloaded.quote(PATH)
    expect(reloaded.stateOf(PATH).value).toMatchObject({ kind: 'open', isRefused: false })
    await reloaded.resume(PATH)
    expect(reloaded.stateOf(PATH).value).toMatchObject({ kind: 'open', isRefused: true })
    line.verification = { kind: 'valid' }
    await reloaded.resume(PATH)
    expect(reloaded.stateOf(PATH).value).toMatchObject({ kind: 'bought' })
    expect([log.signatures, settled.length, stored.size]).toEqual([1, 1, 0])

    line.verification = { kind: 'invalid', reason: 'simulation_failed' }
    expect(await paid(reloaded, provider)).toMatchObject({ kind: 'open', isRefused: true })
    await reloaded.discard(PATH)
    expect(reloaded.stateOf(PATH).value).toMatchObject({
      kind: 'quoted',
      failure: { charged: null },
    })
    expect(stored.size).toBe(0)
    line.verification = { kind: 'valid' }
    await reloaded.pay(PATH, provider)
    expect(reloaded.stateOf(PATH).value).toMatchObject({ kind: 'bought' })
    expect([log.signatures, settled.length]).toEqual([3, 2])
  })

  test('that is refused and was not charged is not kept', async () => {
    const { openPage, line, stored } = await shop()
    line.verification = { kind: 'invalid', reason: 'insufficient_funds' }
    const state = await paid(openPage(), wallet().provider)
    expect(state).toMatchObject({ kind: 'quoted', failure: { charged: false } })
    expect(stored.size).toBe(0)
  })

  test('is not signed if the browser has no storage left for its payment', async () => {
    const { openPage, line } = await shop()
    const { provider, log } = wallet()
    line.isFull = () => true
    const state = await paid(openPage(), provider)
    expect(state).toMatchObject({ kind: 'quoted', failure: { charged: false } })
    expect(JSON.stringify(state)).toContain('no storage left')
    expect(log.signatures).toBe(0)
  })

  test('whose signed payment was not kept may have been charged', async () => {
    const { openPage, line } = await shop()
    line.isFull = (key) => key.startsWith('perpscope-payment')
    const state = await paid(openPage(), wallet().provider)
    expect(state).toMatchObject({ kind: 'quoted', failure: { charged: null } })
  })

  test('is not replaced by an earlier quote that arrives late', async () => {
    const { openPage, line } = await shop()
    const page = openPage()
    const arrival = Promise.withResolvers<void>()
    line.held = arrival.promise
    const late = page.quote(PATH)
    line.held = null
    expect(await paid(page, wallet().provider)).toMatchObject({ kind: 'bought' })
    arrival.resolve()
    await late
    expect(page.stateOf(PATH).value).toMatchObject({ kind: 'bought' })
  })

  test('during another one signs nothing, and says so', async () => {
    const { openPage } = await shop()
    const { provider, log } = wallet()
    const page = openPage()
    const other = '/pulse/BTC'
    await Promise.all([page.quote(PATH), page.quote(other)])
    await Promise.all([page.pay(PATH, provider), page.pay(other, provider)])
    expect(log.signatures).toBe(1)
    expect(page.stateOf(PATH).value).toMatchObject({ kind: 'bought' })
    expect(page.stateOf(other).value).toMatchObject({ kind: 'quoted', failure: { charged: false } })
    expect(JSON.stringify(page.stateOf(other).value)).toContain('in progress')
  })

  test('that is asked for twice at once is one', async () => {
    const { openPage, settled } = await shop()
    const { provider, log } = wallet()
    const page = openPage()
    await page.quote(PATH)
    await Promise.all([page.pay(PATH, provider), page.pay(PATH, provider)])
    expect(log.signatures).toBe(1)
    expect(settled).toHaveLength(1)
  })
})

import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { DRAIN_MS_MAX } from '../src/roles/serve/drain.ts'
import { restartWhileSelling } from './support/drained-sales.ts'
import type { Rig } from './support/service.ts'
import { mainMarketOnly, oneCoin, startRig, until, untilAnswerable } from './support/service.ts'

const PRICE = 25_000n

describe('a service that is asked to end', () => {
  const agent = new Agent({ keepAlive: true })
  let rig: Rig

  beforeAll(async () => {
    rig = await startRig({ coins: oneCoin, flags: mainMarketOnly })
  })

  beforeEach(async () => {
    const isWorking = await fetch(`${rig.adminUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (!isWorking) {
      await rig.kill()
      await rig.start()
    }
    await untilAnswerable(rig.url, 'BTC')
  })

  afterEach(() => agent.destroy())

  afterAll(() => rig?.close())

  test('loses no paid call over a restart under load', async () => {
    const found = await restartWhileSelling(rig, 1)
    expect(found).toMatchObject({ exitCodes: [0], unclear: 0, surplus: 0n })
    expect(found.replies['200']).toBe(found.answered)
  })

  test('ends with the sale that is under way, on a connection that its buyer would keep', async () => {
    const payment = await newPayment()
    onTestFinished(resumeBlocks)
    await node('evm_setAutomine', false)
    const call = get(`${rig.url}/pulse/BTC`, { agent, headers: { 'payment-signature': payment } })
    const answered = once(call, 'response')
    await until('the payment waits for its block', async () => {
      const { pending } = (await node('txpool_status')) as { pending: string }
      return Number(pending) > 0
    })
    const askedMs = performance.now()
    const stopped = rig.stop()
    await until(
      'nothing more is sold',
      async () => (await fetch(`${rig.url}/pulse/BTC`)).status === 503,
    )
    const asked = async (url: string) => {
      const response = await fetch(url)
      return { response, body: await response.json() }
    }
    // Side by side, and looked at later: the service waits for a block for eight seconds.
    const [refused, ready] = await Promise.all([
      asked(`${rig.url}/pulse/BTC`),
      asked(`${rig.adminUrl}/readyz`),
    ])
    await resumeBlocks()
    expect(refused.response.headers.get('retry-after')).toBe('5')
    expect(refused.body).toMatchObject({ code: 'service_not_ready', check: 'accepts_sales' })
    expect(ready.response.status).toBe(503)
    expect(ready.body).toMatchObject({ reasons: ['accepts_sales'] })
    const [response] = await answered
    const closed = once(response.socket, 'close')
    expect(response.statusCode, await text(response)).toBe(200)
    await closed
    // Not by the end of the time that calls in progress have, which closes every connection.
    expect(performance.now() - askedMs).toBeLessThan(DRAIN_MS_MAX)
    expect(await stopped).toBe(0)
  })

  test('does not wait so long for callers that it could not save its state', async () => {
    const silent = await connected()
    expect(await rig.stop()).toBe(0)
    silent?.destroy()
  })

  async function newPayment(): Promise<string> {
    const buyer = newBuyer()
    await rig.chain.fundUsdc(buyer.address, PRICE)
    const payTo = rig.chain.accounts.merchant.address
    return encodedPayment(await signedPayload(buyer, { amount: PRICE, payTo, nowMs: Date.now() }))
  }

  async function resumeBlocks(): Promise<void> {
    await node('evm_setAutomine', true)
    await node('evm_mine')
  }

  /** Asks the chain's node for what it does for tests. */
  async function node(method: string, ...params: unknown[]): Promise<unknown> {
    const response = await fetch(rig.chain.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return ((await response.json()) as { result: unknown }).result
  }

  /** A connection that says nothing; null where none is taken. */
  async function connected(): Promise<Socket | null> {
    const { hostname, port } = new URL(rig.url)
    const socket = connect(Number(port), hostname)
    return once(socket, 'connect').then(
      () => socket,
      () => null,
    )
  }
})

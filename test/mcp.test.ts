import { x402Client } from '@x402/core/client'
import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Ground } from './support/attacked.ts'
import { startGround } from './support/attacked.ts'
import type { DiscoveryGateway } from './support/discovery-gateway.ts'
import { discoveryGateway, standingMarket } from './support/discovery-gateway.ts'
import type { Caller } from './support/mcp-clients.ts'
import { generations, walletOn } from './support/mcp-clients.ts'
import { fromElsewhere } from './support/service.ts'
import { expectWithin, TOOLS_TOKENS_MAX } from './support/size-budgets.ts'

/** Everything that MCP offers. `interfaces.test.ts` buys over MCP from the built service. */

let ground: Ground
/** Sells every analysis of a market that stands still: nothing is older when it is paid than it was when it was quoted. */
let gateway: DiscoveryGateway
let gatewayUrl: string

beforeAll(async () => {
  ground = await startGround()
  const { facilitator } = ground
  gateway = discoveryGateway(standingMarket(), 'x402', { facilitator, paymentClock: systemClock })
  gatewayUrl = await gateway.app.listen({ host: '127.0.0.1', port: 0 })
})

afterAll(async () => {
  await gateway?.close()
  await ground?.close()
})

describe.each(Object.entries(generations))('an MCP client %s', (_name, connect) => {
  let caller: Caller

  beforeAll(async () => {
    caller = await connect(gatewayUrl)
  })

  afterAll(() => caller?.close())

  test('finds a tool for each analysis, in the order of the registry, and two free ones', async () => {
    const tools = await caller.list()
    expect(tools.map(({ name }) => name)).toEqual([
      ...contracts.map(({ id }) => `get_${id.replaceAll('-', '_')}`),
      'list_coins',
      'get_price_list',
    ])
    expectWithin(encode(JSON.stringify(tools)).length, TOOLS_TOKENS_MAX, 'tokens')
  })

  test.each(contracts)('buys $id and reads the structured result', async (contract) => {
    const name = `get_${contract.id.replaceAll('-', '_')}`
    const args = contract.scope === 'coin' ? { coin: 'BTC' } : {}
    const { pay, spent } = await walletOn(ground.chain)
    const quoted = await caller.call(name, args)
    expect(quoted.isError).toBe(true)
    expect(JSON.parse(quoted.content?.[0]?.text ?? '')).toEqual(quoted.structuredContent)
    const payment = await pay(quoted.structuredContent)
    const bought = await caller.call(name, args, { 'x402/payment': payment })
    expect(bought.isError ?? false, bought.content?.[0]?.text).toBe(false)
    expect(JSON.parse(bought.content?.[0]?.text ?? '')).toEqual(bought.structuredContent)
    expect(bought._meta?.['x402/payment-response'] as SettleResponse).toMatchObject({
      success: true,
      network: 'eip155:8453',
    })
    expect(await spent()).toBe(contract.priceUsdcAtomic)
  })

  test('gets the whole answer on request', async () => {
    const { pay } = await walletOn(ground.chain)
    const args = { coin: 'BTC', view: 'full' }
    const quoted = await caller.call('get_funding', args)
    const payment = await pay(quoted.structuredContent)
    const { structuredContent } = await caller.call('get_funding', args, {
      'x402/payment': payment,
    })
    const contract = contracts.find(({ id }) => id === 'funding')
    expect([...Compile(contract?.document ?? {}).Errors(structuredContent)]).toEqual([])
  })

  test('lists coins and prices for free', async () => {
    const coins = await caller.call('list_coins', {})
    expect(coins.structuredContent).toMatchObject({ coins: expect.arrayContaining(['BTC']) })
    const prices = await caller.call('get_price_list', {})
    expect(JSON.stringify(prices.structuredContent)).toContain('0.025')
  })

  test('receives the error of its call, without a quote', async () => {
    const { isError, content } = await caller.call('get_pulse', { coin: 'BTCC' })
    expect(isError).toBe(true)
    expect(JSON.parse(content?.[0]?.text ?? '')).toMatchObject({
      code: 'invalid_coin',
      did_you_mean: expect.arrayContaining(['BTC']),
    })
  })

  test.each(['btcusdt', 'BTC/USDC', 'BTC-PERP'])('is quoted for BTC as %s', async (coin) => {
    const { structuredContent } = await caller.call('get_pulse', { coin })
    expect(structuredContent).toMatchObject({ x402Version: 2, accepts: expect.any(Array) })
  })

  test('receives an error without a coin', async () => {
    const { isError, content } = await caller.call('get_pulse', {})
    expect(isError).toBe(true)
    expect(JSON.parse(content?.[0]?.text ?? '')).toMatchObject({
      code: 'invalid_coin',
      detail: expect.stringMatching(/^The coin is missing\./),
    })
  })

  test('receives an error for half a character as coin', async () => {
    const { isError, content } = await caller.call('get_pulse', { coin: 'BTC\ud83d' })
    expect(isError).toBe(true)
    expect(JSON.parse(content?.[0]?.text ?? '')).toMatchObject({ code: 'invalid_coin' })
  })

  test('receives the reason of a refused payment', async () => {
    const quoted = await caller.call('get_pulse', { coin: 'BTC' })
    const poor = new x402Client().register('eip155:8453', new ExactEvmScheme(newBuyer()))
    const payment = await poor.createPaymentPayload(quoted.structuredContent as PaymentRequired)
    const refused = await caller.call('get_pulse', { coin: 'BTC' }, { 'x402/payment': payment })
    expect(refused.isError).toBe(true)
    expect(refused.structuredContent).toMatchObject({
      diagnostics: { reason: expect.stringMatching(/insufficient/) },
    })
  })

  test('pays once for one payment, however often it calls, and not for another tool', async () => {
    const { pay, spent } = await walletOn(ground.chain)
    const quoted = await caller.call('get_oi', { coin: 'BTC' })
    const meta = { 'x402/payment': await pay(quoted.structuredContent) }
    const [one, two] = [
      await caller.call('get_oi', { coin: 'BTC' }, meta),
      await caller.call('get_oi', { coin: 'BTC' }, meta),
    ]
    expect(two.structuredContent).toEqual(one.structuredContent)
    const elsewhere = await caller.call('get_oi', { coin: 'ETH' }, meta)
    expect(JSON.parse(elsewhere.content?.[0]?.text ?? '')).toMatchObject({
      code: 'payment_replayed',
    })
    expect(await spent()).toBe(contracts.find(({ id }) => id === 'oi')?.priceUsdcAtomic)
  })
})

describe('no message is a way around payment', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fromElsewhere()(`${gatewayUrl}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const callOf = (params: unknown, id: number | undefined = 1) => ({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    method: 'tools/call',
    params,
  })

  test.each([
    ['a call without an initialization', callOf({ name: 'get_pulse', arguments: { coin: 'BTC' } })],
    ['a batch', [1, 2, 3].map((id) => callOf({ name: 'get_oi', arguments: { coin: 'BTC' } }, id))],
    ['a notification', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'get_oi' } }],
    ['a path for a coin', callOf({ name: 'get_pulse', arguments: { coin: '../health' } })],
    ['a query in a coin', callOf({ name: 'get_pulse', arguments: { coin: 'BTC?view=full#' } })],
    [
      'a payment that is none',
      callOf({ name: 'get_oi', arguments: { coin: 'BTC' }, _meta: { 'x402/payment': true } }),
    ],
  ])('%s', async (_what, body) => {
    const text = await (await post(body)).text()
    expect(text).not.toMatch(/(delta_24h|confluence)\\*"\s*:/)
  })

  test('and a body that is too large is refused before it is read', async () => {
    const response = await post(
      callOf({ name: 'get_pulse', arguments: { coin: 'x'.repeat(70_000) } }),
    )
    expect(response.status).toBeGreaterThanOrEqual(400)
  })
})

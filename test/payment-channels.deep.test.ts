import { toClientEvmSigner } from '@x402/evm'
import type { ClientChannelStorage } from '@x402/evm/batch-settlement/client'
import {
  BatchSettlementEvmScheme,
  InMemoryClientChannelStorage,
} from '@x402/evm/batch-settlement/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import type { ChannelDesk } from '../src/payment/testing/channel-rig.ts'
import { openChannelDesk } from '../src/payment/testing/channel-rig.ts'
import type { PaidHost } from '../src/payment/testing/paid-host.ts'
import { DEARER_PRICE, PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { putUsdc } from './support/usdc-balance.ts'

/** Payment channels with the SDK's own client, as published. */

const FUNDS = 100_000_000n
const DEPOSIT = 1_000_000n

let chain: EvmChain
let desk: ChannelDesk
let host: PaidHost

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
  const { facilitator, merchant } = chain.accounts
  const payTo = merchant.address
  desk = openChannelDesk({
    rpcUrl: chain.rpcUrl,
    key: facilitator.privateKey,
    payTo,
    clock: systemClock,
  })
  host = await startPaidHost({
    payTo,
    facilitator: localFacilitator({
      network: base,
      rpcUrl: chain.rpcUrl,
      privateKey: facilitator.privateKey,
      clock: systemClock,
    }),
    methods: [desk.method],
    clock: systemClock,
    limits: { paidCallsPerWalletPerMinute: 10_000 },
  })
})

afterEach(() => {
  expect(host.events.filter(({ kind }) => kind === 'failed')).toEqual([])
})

afterAll(async () => {
  await host?.close()
  desk?.store.close()
  await chain?.close()
})

async function fundedBuyer(): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, FUNDS)
  return buyer
}

function shopper(
  buyer: PrivateKeyAccount,
  storage: ClientChannelStorage = new InMemoryClientChannelStorage(),
) {
  const signer = toClientEvmSigner(
    buyer,
    createPublicClient({ transport: http(chain.rpcUrl) }) as never,
  )
  const scheme = new BatchSettlementEvmScheme(signer, { storage })
  const client = new x402Client().register(base.network, scheme)
  return { scheme, pay: wrapFetchWithPayment(fetch, client) }
}

const held = (address: string) => chain.balanceOf(address as `0x${string}`)

function receiptIn(headers: Headers) {
  return JSON.parse(Buffer.from(headers.get('payment-response') ?? '', 'base64').toString())
}

test('1,000 calls cost exactly 1,000 prices, and the rest of the deposits is refunded', async () => {
  const calls = 1_000
  const buyer = await fundedBuyer()
  const { merchant } = chain.accounts
  // Claims the sales of other tests.
  expect(await desk.collector.flush()).toBe(true)
  const merchantBefore = await held(merchant.address)
  const { scheme, pay } = shopper(buyer)
  let deposits = 0
  for (let call = 0; call < calls; call += 1) {
    const response = await pay(`${host.url}/pulse/C${call % 7}`)
    expect(response.status).toBe(200)
    const { transaction, extra } = receiptIn(response.headers)
    if (transaction !== '') deposits += 1
    expect(extra).toMatchObject({
      chargedAmount: PRICE.toString(),
      channelState: { chargedCumulativeAmount: (BigInt(call + 1) * PRICE).toString() },
    })
  }
  const sold = BigInt(calls) * PRICE
  expect(deposits, 'each a dollar').toBe(Number(sold / DEPOSIT))
  expect(FUNDS - (await held(buyer.address))).toBe(BigInt(deposits) * DEPOSIT)
  expect(await held(merchant.address), 'nothing is claimed yet').toBe(merchantBefore)
  expect((await desk.collector.unclaimed()).amount).toBe(sold)

  // One more call, so that the last deposit is not used up.
  expect((await pay(`${host.url}/pulse/BTC`)).status).toBe(200)
  const refund = await scheme.refund(`${host.url}/pulse/BTC`)
  expect(refund.success).toBe(true)
  expect(FUNDS - (await held(buyer.address))).toBe(sold + PRICE)
  expect(await desk.collector.flush()).toBe(true)
  expect(await held(merchant.address)).toBe(merchantBefore + sold + PRICE)
  expect(await desk.collector.unclaimed()).toEqual({ amount: 0n, oldestMs: null })
})

test('a client that lost its counter receives the current sum and continues', async () => {
  const buyer = await fundedBuyer()
  const { pay } = shopper(buyer)
  for (const coin of ['BTC', 'ETH', 'SOL']) {
    expect((await pay(`${host.url}/pulse/${coin}`)).status).toBe(200)
  }
  const forgetful = shopper(buyer)
  const response = await forgetful.pay(`${host.url}/pulse/DOGE`)
  expect(response.status).toBe(200)
  expect(receiptIn(response.headers).extra.channelState.chargedCumulativeAmount).toBe(
    (4n * PRICE).toString(),
  )
  expect((await forgetful.pay(`${host.url}/bundle/BTC`)).status).toBe(200)
  expect(FUNDS - (await held(buyer.address))).toBe(DEPOSIT)
})

test('a client without enough deposit for the next call adds to it by itself', async () => {
  const buyer = await fundedBuyer()
  const { pay } = shopper(buyer)
  const calls = Number(DEPOSIT / DEARER_PRICE) + 1
  for (let call = 0; call < calls; call += 1) {
    expect((await pay(`${host.url}/bundle/C${call}`)).status).toBe(200)
  }
  expect(FUNDS - (await held(buyer.address))).toBe(2n * DEPOSIT)
})

test('20 concurrent calls of one channel are each answered and charged once, or refused', async () => {
  const buyer = await fundedBuyer()
  const { pay } = shopper(buyer)
  expect((await pay(`${host.url}/pulse/BTC`)).status).toBe(200)
  const before = await chargedTo(buyer)
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, index) => pay(`${host.url}/pulse/X${index}`)),
  )
  const sold = responses.filter(({ status }) => status === 200).length
  expect(sold).toBeGreaterThan(0)
  expect(responses.every(({ status }) => [200, 402, 409].includes(status))).toBe(true)
  expect((await chargedTo(buyer)) - before).toBe(BigInt(sold) * PRICE)
  expect((await pay(`${host.url}/pulse/BTC`)).status, 'the channel goes on').toBe(200)
})

test('a channel remains usable after a partial refund', async () => {
  const buyer = await fundedBuyer()
  const { scheme, pay } = shopper(buyer)
  expect((await pay(`${host.url}/pulse/BTC`)).status).toBe(200)
  const { success } = await scheme.refund(`${host.url}/pulse/BTC`, { amount: '300000' })
  expect(success).toBe(true)
  expect(FUNDS - (await held(buyer.address))).toBe(DEPOSIT - 300_000n)
  expect((await pay(`${host.url}/pulse/BTC`)).status).toBe(200)
  await expect(
    shopper(await fundedBuyer()).scheme.refund(`${host.url}/pulse/BTC`),
    'there is nothing to refund',
  ).rejects.toThrow(/refund/i)
})

/** Sum of all sales on the buyer's channels. */
async function chargedTo({ address }: PrivateKeyAccount): Promise<bigint> {
  return (await desk.store.channels())
    .filter(({ config }) => config.payer === address)
    .reduce((sum, { charged }) => sum + charged, 0n)
}

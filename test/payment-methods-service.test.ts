import { toClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { solanaPayload } from '../src/payment/solana/testing/solana-buyer.ts'
import { encodedPayment, newBuyer } from '../src/payment/testing/buyer.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import type { Rig } from './support/service.ts'
import {
  fromElsewhere,
  mainMarketOnly,
  oneCoin,
  startRig,
  untilFresh,
  untilSold,
} from './support/service.ts'
import { FUNDS, receiptIn, solanaRig } from './support/solana-rig.ts'

/** The built service with every payment method, killed while it sells: what was paid on Solana or into a channel counts. */

type Accepted = {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly extra: Readonly<Record<string, string>>
}

const CHANNEL_FUNDS = 10_000_000n
let rig: Rig
let solana: SolanaChain
let wallets: ReturnType<typeof solanaRig>

beforeAll(async () => {
  const flags = [...mainMarketOnly, '--payment-channels', 'on']
  rig = await startRig({ coins: oneCoin, solana: true, flags })
  if (rig.solana === null) throw new TypeError('it was asked for')
  solana = rig.solana
  wallets = solanaRig(solana)
  await untilSold(rig.url, pulse.contract, 'BTC')
})

afterAll(async () => {
  if (rig === undefined) return
  const code = await rig.stop()
  await rig.close()
  expect(code, 'it ends as it should').toBe(0)
})

async function quoted() {
  const response = await fromElsewhere()(`${rig.url}/pulse/BTC`)
  const header = response.headers.get('payment-required') ?? ''
  const { accepts } = JSON.parse(Buffer.from(header, 'base64').toString())
  return { header, accepts: accepts as Accepted[] }
}

async function send(payment: string) {
  const headers = { 'payment-signature': payment }
  const response = await fromElsewhere()(`${rig.url}/pulse/BTC`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

test('the service quotes every payment method, exact on Base first, in a header below 4 KB', async () => {
  const { accepts, header } = await quoted()
  expect(accepts.map(({ scheme, network }) => [scheme, network])).toEqual([
    ['exact', 'eip155:8453'],
    ['exact', solana.network],
    ['batch-settlement', 'eip155:8453'],
  ])
  expect(accepts[1]?.extra).toEqual({ feePayer: solana.accounts.facilitator.address })
  expect(header.length).toBeLessThan(4_096)
})

test('after SIGKILL it sends an answer paid on Solana again, continues a channel, and refunds the rest', async () => {
  const { accepts } = await quoted()
  const amount = BigInt(accepts[1]?.amount ?? 0)
  const onSolana = wallets.fundedBuyer()
  const { transaction, ...choices } = await wallets.sign(onSolana, { amount })
  const payment = encodedPayment(solanaPayload(transaction, choices))
  const paid = await send(payment)
  expect(paid.status).toBe(200)
  expect(solana.balanceOf(onSolana.address)).toBe(FUNDS - amount)

  const { chain } = rig
  const buyer = newBuyer()
  await chain.fundUsdc(buyer.address, CHANNEL_FUNDS)
  const reader = createPublicClient({ transport: http(chain.rpcUrl) })
  const scheme = new BatchSettlementEvmScheme(toClientEvmSigner(buyer, reader as never))
  const client = new x402Client().register('eip155:8453', scheme)
  const pay = untilFresh(wrapFetchWithPayment(fetch, client))
  const url = `${rig.url}/pulse/BTC`
  const before = await chain.balanceOf(chain.accounts.merchant.address)
  for (let call = 0; call < 3; call += 1) expect((await pay(url)).status).toBe(200)
  expect(await metric('perpscope_channels_unclaimed_usdc')).toBe(0.075)

  await rig.kill()
  await rig.start()
  const again = await send(payment)
  expect(again.status).toBe(200)
  expect(again.text).toBe(paid.text)
  expect(receiptIn(again.headers)).toEqual(receiptIn(paid.headers))
  expect(solana.balanceOf(onSolana.address)).toBe(FUNDS - amount)

  await untilSold(rig.url, pulse.contract, 'BTC')
  expect((await pay(url)).status).toBe(200)
  expect(await metric('perpscope_channels_unclaimed_usdc')).toBe(0.1)
  expect((await scheme.refund(url)).success).toBe(true)
  expect(await chain.balanceOf(buyer.address)).toBe(CHANNEL_FUNDS - 100_000n)
  expect(await metric('perpscope_channels_unclaimed_usdc')).toBe(0)
  expect(await chain.balanceOf(chain.accounts.merchant.address), 'paid out later').toBe(before)
})

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${rig.adminUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

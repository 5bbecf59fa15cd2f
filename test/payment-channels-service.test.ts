import { toClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import type { Rig } from './support/service.ts'
import { startRig, untilSold } from './support/service.ts'

/** The built service with `--payment-channels on`, and a stateless agent. */

const FUNDS = 10_000_000n
let rig: Rig

beforeAll(async () => {
  rig = await startRig({ flags: ['--payment-channels', 'on'] })
  await untilSold(rig.url, pulse.contract, 'BTC')
})

afterAll(() => rig?.close())

test('sells through a channel, continues after SIGKILL, and refunds the rest', async () => {
  const { chain } = rig
  const buyer = newBuyer()
  await chain.fundUsdc(buyer.address, FUNDS)
  const reader = createPublicClient({ transport: http(chain.rpcUrl) })
  const scheme = new BatchSettlementEvmScheme(toClientEvmSigner(buyer, reader as never))
  const client = new x402Client().register('eip155:8453', scheme)
  const pay = wrapFetchWithPayment(fetch, client)
  const url = `${rig.url}/pulse/BTC`
  const before = await chain.balanceOf(chain.accounts.merchant.address)
  for (let call = 0; call < 3; call += 1) expect((await pay(url)).status).toBe(200)
  expect(await metric('perpscope_channels_unclaimed_usdc')).toBe(0.075)

  await rig.kill()
  await rig.start()
  await untilSold(rig.url, pulse.contract, 'BTC')
  expect((await pay(url)).status).toBe(200)
  expect(await metric('perpscope_channels_unclaimed_usdc')).toBe(0.1)

  expect((await scheme.refund(url)).success).toBe(true)
  expect(await chain.balanceOf(buyer.address)).toBe(FUNDS - 100_000n)
  expect(await metric('perpscope_channels_unclaimed_usdc')).toBe(0)
  expect(await chain.balanceOf(chain.accounts.merchant.address), 'paid out later').toBe(before)
  expect(await rig.stop()).toBe(0)
})

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${rig.adminUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import {
  channelConfig,
  channelPayment,
  openChannelDesk,
  signedDeposit,
  signedVoucher,
} from '../src/payment/testing/channel-rig.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'

const SECONDS_VALID = 600n
const WARM_UP = 20

/**
 * Sequential calls paid by vouchers of one channel, with ledger and channels on disk.
 * @returns the time from request to end of answer of each call, milliseconds
 */
export async function voucherCalls(calls: number): Promise<readonly number[]> {
  const chain = await startEvmChain({ clock: systemClock })
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-bench-'))
  const { facilitator, merchant } = chain.accounts
  const payTo = merchant.address
  const desk = openChannelDesk({
    rpcUrl: chain.rpcUrl,
    key: facilitator.privateKey,
    payTo,
    clock: systemClock,
    path: join(folder, 'channels.db'),
  })
  const host = await startPaidHost({
    payTo,
    facilitator: {} as never,
    methods: [desk.method],
    clock: systemClock,
    ledgerPath: join(folder, 'ledger.db'),
    limits: { paidCallsPerWalletPerMinute: 1e9 },
  })
  const pool = new Pool(host.url, { connections: 1 })
  const tookMs: number[] = []
  try {
    const total = 1 + WARM_UP + calls
    const headers = await signedHeaders(total, payTo, facilitator.address, chain.fundUsdc)
    for (const [at, header] of headers.entries()) {
      const before = performance.now()
      const answer = await pool.request({
        path: `/pulse/C${at}`,
        method: 'GET',
        headers: { 'payment-signature': header },
      })
      const body = await answer.body.text()
      if (at > WARM_UP) tookMs.push(performance.now() - before)
      assert.equal(answer.statusCode, 200, body)
    }
    assert.equal(
      (await desk.collector.unclaimed()).amount,
      PRICE * BigInt(total),
      'each is charged once',
    )
    assert(await desk.collector.flush(), 'all of it is claimed and paid out')
    assert.equal(await chain.balanceOf(payTo), PRICE * BigInt(total))
  } finally {
    await pool.close()
    await host.close()
    desk.store.close()
    await chain.close()
    rmSync(folder, { recursive: true })
  }
  return tookMs
}

/** The first request carries the deposit for all. */
async function signedHeaders(
  total: number,
  payTo: string,
  authorizer: `0x${string}`,
  fund: (address: `0x${string}`, atomic: bigint) => Promise<void>,
): Promise<readonly string[]> {
  const buyer = newBuyer()
  const deposit = PRICE * BigInt(total)
  await fund(buyer.address, deposit)
  const config = channelConfig(buyer.address, { payTo, authorizer })
  const validBefore = BigInt(Math.floor(systemClock.nowMs() / 1_000)) + SECONDS_VALID
  const headers: string[] = []
  for (let count = 1; count <= total; count += 1) {
    const voucher = await signedVoucher(buyer, config, PRICE * BigInt(count))
    const payload =
      count === 1
        ? { type: 'deposit', deposit: await signedDeposit(buyer, config, deposit, validBefore) }
        : { type: 'voucher' }
    headers.push(
      channelPayment(PRICE, { payTo, authorizer }, { ...payload, channelConfig: config, voucher }),
    )
  }
  return headers
}

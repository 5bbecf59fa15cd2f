import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { Rig } from './service.ts'
import { until, untilAnswerable } from './service.ts'

export const PRICE = 25_000n
const PAYMENTS_PER_KILL = 6

/** Each payment is by a new wallet, because the purchases of one wallet are limited per minute. */
export async function newPayment({ chain }: Pick<Rig, 'chain'>): Promise<string> {
  const buyer = newBuyer()
  await chain.fundUsdc(buyer.address, PRICE)
  const choices = {
    amount: PRICE,
    payTo: chain.accounts.merchant.address,
    nowMs: systemClock.nowMs(),
  }
  return encodedPayment(await signedPayload(buyer, choices))
}

export function buy(
  { url }: Pick<Rig, 'url'>,
  payment: string,
  speak: typeof fetch = fetch,
): Promise<Response> {
  return speak(`${url}/pulse/BTC`, { headers: { 'payment-signature': payment } })
}

/** Outcome of the sales during which the service was killed, after each has its answer. */
export type KilledSales = {
  readonly payments: number
  readonly answeredBeforeKill: number
  readonly receivedUsdcAtomic: bigint
}

/** Kills the service after each delay during a sale; then every buyer retries until its answer arrives. */
export async function killWhileSelling(
  rig: Rig,
  killsAfterMs: readonly number[],
): Promise<KilledSales> {
  const { address } = rig.chain.accounts.merchant
  const before = await rig.chain.balanceOf(address)
  const payments: string[] = []
  let answeredBeforeKill = 0
  for (const afterMs of killsAfterMs) {
    const batch = await Promise.all(
      Array.from({ length: PAYMENTS_PER_KILL }, () => newPayment(rig)),
    )
    payments.push(...batch)
    const calls = batch.map((payment) => buy(rig, payment).catch(() => null))
    await new Promise<void>((resolve) => systemClock.after(afterMs, resolve))
    await rig.kill()
    const replies = await Promise.all(calls)
    answeredBeforeKill += replies.filter((reply) => reply?.status === 200).length
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
  }
  for (const [at, payment] of payments.entries())
    await until(`payment ${at} is answered`, async () => (await buy(rig, payment)).status === 200)
  const receivedUsdcAtomic = (await rig.chain.balanceOf(address)) - before
  return { payments: payments.length, answeredBeforeKill, receivedUsdcAtomic }
}

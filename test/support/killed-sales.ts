import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { Rig } from './service.ts'
import { mainMarketOnly, oneCoin, startRig, until, untilAnswerable } from './service.ts'
import type { TransactionGate } from './transaction-gate.ts'
import { transactionGate } from './transaction-gate.ts'

export const PRICE = 25_000n
const PAYMENTS_PER_KILL = 6
const PAYMENT_LIFETIME_SECONDS = 3_600n

/** Each payment is by a new wallet, because the purchases of one wallet are limited per minute. */
export async function newPayment({ chain }: Pick<Rig, 'chain'>): Promise<string> {
  const buyer = newBuyer()
  await chain.fundUsdc(buyer.address, PRICE)
  const nowMs = systemClock.nowMs()
  const choices = {
    amount: PRICE,
    payTo: chain.accounts.merchant.address,
    nowMs,
    // It is sent again after all kills, whose restarts take minutes on a busy machine.
    validBeforeSeconds: BigInt(Math.floor(nowMs / 1_000)) + PAYMENT_LIFETIME_SECONDS,
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

/** A service that sells, whose transactions can be kept back. */
export type GatedService = {
  readonly rig: Rig
  readonly gate: TransactionGate
  close(): Promise<void>
}

export async function startGatedService(): Promise<GatedService> {
  const gate = await transactionGate()
  let rig: Rig | undefined
  const close = async () => {
    await rig?.close()
    await gate.close()
  }
  try {
    rig = await startRig({ coins: oneCoin, flags: mainMarketOnly, nodeUrl: gate.to })
    await untilAnswerable(rig.url, 'BTC')
    return { rig, gate, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** When the service is killed: its first or second transaction is kept back, and the payment of the first one is answered. */
export type KillMoment = {
  readonly transaction: 1 | 2
  readonly part: 'request' | 'reply'
}

/** The sales during one kill. */
export type KilledSales = {
  readonly payments: number
  readonly chargedBeforeKill: number
  readonly answeredBeforeKill: number
}

/**
 * Kills the service at each moment of several sales at once; then every buyer retries until its answer arrives.
 * A service sends the first payment by itself, and the others together.
 */
export async function killWhileSelling(
  { rig, gate }: GatedService,
  moments: readonly KillMoment[],
): Promise<{
  readonly kills: readonly KilledSales[]
  readonly receivedUsdcAtomic: bigint
  /** Answers that were not the same when their buyers asked again. */
  readonly changed: number
}> {
  const received = () => rig.chain.balanceOf(rig.chain.accounts.merchant.address)
  const before = await received()
  const payments: string[] = []
  const answers = new Map<string, string>()
  const kills: KilledSales[] = []
  for (const { transaction, part } of moments) {
    const [soldBefore, answeredBefore] = [await received(), answers.size]
    const batch = await Promise.all(
      Array.from({ length: PAYMENTS_PER_KILL }, () => newPayment(rig)),
    )
    payments.push(...batch)
    const kept = gate.keepBack(transaction, part)
    const calls = batch.map(async (payment) => {
      const reply = await buy(rig, payment)
      const body = await reply.text()
      if (reply.status !== 200) throw new Error(body)
      answers.set(payment, body)
    })
    const ended = Promise.allSettled(calls)
    await kept
    if (transaction > 1) await Promise.any(calls)
    await rig.kill()
    await ended
    kills.push({
      payments: batch.length,
      chargedBeforeKill: Number(((await received()) - soldBefore) / PRICE),
      answeredBeforeKill: answers.size - answeredBefore,
    })
    gate.open()
    await rig.start()
    await untilAnswerable(rig.url, 'BTC')
  }
  let changed = 0
  for (const [at, payment] of payments.entries())
    await until(`payment ${at} is answered`, async () => {
      const reply = await buy(rig, payment)
      const body = await reply.text()
      if (reply.status !== 200) return false
      if (body !== (answers.get(payment) ?? body)) changed += 1
      return true
    })
  return { kills, receivedUsdcAtomic: (await received()) - before, changed }
}

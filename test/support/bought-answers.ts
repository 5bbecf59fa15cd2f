import { contracts } from '../../src/compute/analyses/registry.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import type { AnswerFile } from '../../src/proof/answer-file.ts'
import { readAnswerFile } from '../../src/proof/answer-file.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { Rig } from './service.ts'

/** Buys the answer of one path with a new wallet. */
export async function boughtAnswer(rig: Rig, path: string): Promise<AnswerFile> {
  const buyer = newBuyer()
  const id = path.split('/')[1]?.split('?')[0]
  const amount = contracts.find((one) => one.id === id)?.priceUsdcAtomic ?? 0n
  await rig.chain.fundUsdc(buyer.address, amount)
  const choices = {
    amount,
    payTo: rig.chain.accounts.merchant.address,
    nowMs: systemClock.nowMs(),
  }
  const payment = encodedPayment(await signedPayload(buyer, choices))
  const response = await fetch(rig.url + path, { headers: { 'payment-signature': payment } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
  return { ...readAnswerFile(text, response.headers.get('payment-response') ?? ''), path }
}

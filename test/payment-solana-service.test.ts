import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { solanaPayload } from '../src/payment/solana/testing/solana-buyer.ts'
import { encodedPayment } from '../src/payment/testing/buyer.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import type { Rig } from './support/service.ts'
import { fromElsewhere, startRig, untilSold } from './support/service.ts'
import { FUNDS, receiptIn, solanaRig } from './support/solana-rig.ts'

let rig: Rig
let solana: SolanaChain
let wallets: ReturnType<typeof solanaRig>

beforeAll(async () => {
  rig = await startRig({ solana: true })
  if (rig.solana === null) throw new TypeError('it was asked for')
  solana = rig.solana
  wallets = solanaRig(solana)
})

// One of the tests restarts the service.
beforeEach(() => untilSold(rig.url, pulse.contract, 'BTC'))

afterAll(() => rig?.close())

async function quoted() {
  const response = await fromElsewhere()(`${rig.url}/pulse/BTC`)
  const header = response.headers.get('payment-required') ?? ''
  const { accepts } = JSON.parse(Buffer.from(header, 'base64').toString())
  return accepts as { network: string; amount: string; extra: Record<string, string> }[]
}

async function send(payment: string) {
  const headers = { 'payment-signature': payment }
  const response = await fromElsewhere()(`${rig.url}/pulse/BTC`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

test('the service quotes both networks, Base first', async () => {
  const accepts = await quoted()
  expect(accepts.map(({ network }) => network)).toEqual(['eip155:8453', solana.network])
  expect(accepts[1]?.extra).toEqual({ feePayer: solana.accounts.facilitator.address })
})

test('what was paid on Solana is given again after the service was killed', async () => {
  const [, terms] = await quoted()
  const amount = BigInt(terms?.amount ?? 0)
  const buyer = wallets.fundedBuyer()
  const { transaction, ...choices } = await wallets.sign(buyer, { amount })
  const payment = encodedPayment(solanaPayload(transaction, choices))
  const paid = await send(payment)
  expect(paid.status).toBe(200)
  expect(solana.balanceOf(buyer.address)).toBe(FUNDS - amount)
  await rig.kill()
  await rig.start()
  const again = await send(payment)
  expect(again.status).toBe(200)
  expect(again.text).toBe(paid.text)
  expect(receiptIn(again.headers)).toEqual(receiptIn(paid.headers))
  expect(solana.balanceOf(buyer.address)).toBe(FUNDS - amount)
})

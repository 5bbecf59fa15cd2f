import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { solanaPayload } from '../src/payment/solana/testing/solana-buyer.ts'
import { encodedPayment } from '../src/payment/testing/buyer.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import type { Rig } from './support/service.ts'
import { fromElsewhere, startRig, untilSold } from './support/service.ts'
import { FUNDS, receiptIn, solanaRig } from './support/solana-rig.ts'

type Accepted = {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly extra: Readonly<Record<string, string>>
}

let rig: Rig
let solana: SolanaChain
let wallets: ReturnType<typeof solanaRig>

beforeAll(async () => {
  rig = await startRig({ solana: true, flags: ['--payment-channels', 'on'] })
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

test('an answer paid on Solana is sent again after the service was killed', async () => {
  const { accepts } = await quoted()
  const terms = accepts[1]
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

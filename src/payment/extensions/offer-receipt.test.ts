import type { EIP712SignedOffer, EIP712SignedReceipt } from '@x402/extensions/offer-receipt'
import {
  verifyOfferSignatureEIP712,
  verifyReceiptSignatureEIP712,
} from '@x402/extensions/offer-receipt'
import type { FastifyRequest } from 'fastify'
import type { Hex } from 'viem'
import { recoverTypedDataAddress, sha256 } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { exactEvm } from '../evm/exact-evm.ts'
import { base, baseSepolia } from '../evm/networks.ts'
import type { HealthFault } from '../health-monitor.ts'
import type { DecodedPayment } from '../payment.ts'
import { Quotes } from '../quotes.ts'
import { termsOf } from '../terms.ts'
import { newSecret } from '../testing/new-secret.ts'
import type { SignedOffer } from './offer-receipt.ts'
import { OfferReceipts, prefersSignedOffer } from './offer-receipt.ts'

const payTo = '0x00000000000000000000000000000000000000A1'
const resourceUrl = 'https://api.example.com/pulse/BTC?timeframes=1h'
const TRANSACTION = `0x${'12'.repeat(32)}`

const unasked = () => Promise.reject(new Error('a signature asks nobody'))
const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
const { requirements } = termsOf(
  { priceUsdcAtomic: 25_000n, description: 'pulse' },
  [base, baseSepolia].map((network) => exactEvm({ network, payTo, facilitator })),
)

function signing() {
  const clock = new ManualClock()
  return { clock, receipts: new OfferReceipts({ key: generatePrivateKey(), clock }) }
}

function payment(hash: string): DecodedPayment {
  const [requirement] = requirements
  if (requirement === undefined) throw new Error('two were made')
  const facts = { hash, payer: payTo, nonce: '0x1', validBeforeSeconds: 0 }
  const wire = { x402Version: 2, accepted: requirement.wire, payload: {} }
  return { ...facts, requirement, resourceUrl, wire }
}

describe('a signed offer', () => {
  test('of every way to pay is verified by the public package', async () => {
    const { clock, receipts } = signing()
    const offers = await receipts.offers(resourceUrl, requirements)
    expect(offers).toHaveLength(2)
    for (const [index, offer] of offers.entries()) {
      const { signer, payload } = await verifyOfferSignatureEIP712(offer as EIP712SignedOffer)
      expect(signer).toBe(receipts.signer)
      const { scheme, network, asset, amount } = requirements[index]?.wire ?? {}
      expect(payload).toEqual({
        ...{ version: 1, resourceUrl, scheme, network, asset, payTo, amount },
        validUntil: clock.nowMs() / 1_000 + 600,
      })
      expect(offer.acceptIndex).toBe(index)
    }
  })

  test('names the entry of `accepts` that it signs, while another method is not ready', async () => {
    const { receipts } = signing()
    let fault: HealthFault | null = { reason: 'no gas', sinceMs: 0 }
    const [first, second] = requirements.map(({ method }) => method)
    if (first === undefined || second === undefined) throw new Error('two were made')
    const terms = termsOf({ priceUsdcAtomic: 25_000n, description: 'pulse' }, [
      { ...first, readiness: () => fault },
      second,
    ])
    const quotes = new Quotes({ publicUrl: 'https://api.example.com', newSecret, receipts })
    for (const count of [1, 2]) {
      const { headers } = await quotes.signedQuote({ url: '/pulse/BTC' } as FastifyRequest, terms)
      const header = Buffer.from(headers['payment-required'] ?? '', 'base64').toString()
      const { accepts, extensions } = JSON.parse(header)
      const { offers } = extensions['offer-receipt'].info as { offers: readonly SignedOffer[] }
      expect(offers).toHaveLength(count)
      for (const { acceptIndex, payload } of offers)
        expect(payload.network).toBe(accepts[acceptIndex]?.network)
      fault = null
    }
  })

  test('is signed once, and again before it is good for less than five minutes', async () => {
    const { clock, receipts } = signing()
    const first = await receipts.offers(resourceUrl, requirements)
    clock.advance(300_000)
    expect(await receipts.offers(resourceUrl, requirements)).toBe(first)
    clock.advance(1_000)
    const [next] = await receipts.offers(resourceUrl, requirements)
    expect(next?.payload.validUntil).toBe(clock.nowMs() / 1_000 + 600)
  })

  test('names its own resource', async () => {
    const { receipts } = signing()
    await receipts.offers(resourceUrl, requirements)
    const [other] = await receipts.offers(`${resourceUrl}&x`, requirements)
    expect(other?.payload.resourceUrl).toBe(`${resourceUrl}&x`)
  })
})

describe('a signed receipt', () => {
  const answer = Buffer.from('{"coin":"BTC"}')

  test('is verified by the public package, and is the same for every copy', async () => {
    const { clock, receipts } = signing()
    const info = await receipts.receipt(payment('0xa'), TRANSACTION, answer)
    const { signer, payload } = await verifyReceiptSignatureEIP712(
      info.receipt as EIP712SignedReceipt,
    )
    expect(signer).toBe(receipts.signer)
    expect(payload).toEqual({
      version: 1,
      network: 'eip155:8453',
      resourceUrl,
      payer: payTo,
      issuedAt: clock.nowMs() / 1_000,
      transaction: TRANSACTION,
    })
    clock.advance(5_000)
    expect(await receipts.receipt(payment('0xa'), TRANSACTION, answer)).toBe(info)
    expect(await receipts.receipt(payment('0xb'), TRANSACTION, answer)).not.toBe(info)
  })

  test('comes with a second one of the same facts that signs the bytes of the answer', async () => {
    const { receipts } = signing()
    const { receipt, contentReceipt } = await receipts.receipt(payment('0xa'), TRANSACTION, answer)
    if (contentReceipt === undefined) throw new Error('an answer has a body')
    const { contentHash, ...facts } = contentReceipt.payload
    expect(facts).toEqual({ ...receipt.payload, version: 2 })
    expect(contentHash).toBe(sha256(answer))
    const signerOf = (hash: Hex) =>
      recoverTypedDataAddress({
        domain: { name: 'x402 receipt', version: '1', chainId: 1 },
        types: {
          Receipt: [
            { name: 'version', type: 'uint256' },
            { name: 'network', type: 'string' },
            { name: 'resourceUrl', type: 'string' },
            { name: 'payer', type: 'string' },
            { name: 'issuedAt', type: 'uint256' },
            { name: 'transaction', type: 'string' },
            { name: 'contentHash', type: 'bytes32' },
          ],
        },
        primaryType: 'Receipt',
        message: {
          ...facts,
          version: BigInt(facts.version),
          issuedAt: BigInt(facts.issuedAt),
          contentHash: hash,
        },
        signature: contentReceipt.signature,
      })
    expect(await signerOf(contentHash)).toBe(receipts.signer)
    expect(await signerOf(sha256(Buffer.from('{"coin":"ETH"}')))).not.toBe(receipts.signer)
  })

  test('signs no content for a response without a body, also after one that had one', async () => {
    const { receipts } = signing()
    await receipts.receipt(payment('0xa'), TRANSACTION, answer)
    const bare = await receipts.receipt(payment('0xa'), TRANSACTION, Buffer.alloc(0))
    expect(Object.keys(bare)).toEqual(['receipt'])
  })
})

test.each([
  ['signed-offer', true],
  ['Signed-Offer; wait=5', true],
  ['respond-async, signed-offer', true],
  ['unsigned-offer', false],
  ['signed-offers', false],
  ['', false],
  [undefined, false],
  [['respond-async', 'signed-offer'], true],
])('Prefer: %j asks for signed offers: %s', (prefer, asked) => {
  expect(prefersSignedOffer(prefer)).toBe(asked)
})

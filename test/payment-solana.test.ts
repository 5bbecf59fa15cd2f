import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from '@solana/spl-token'
import {
  ComputeBudgetProgram,
  Connection,
  Keypair,
  PublicKey,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme, toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme as ExactSvmFacilitator } from '@x402/svm/exact/facilitator'
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { base } from '../src/payment/evm/networks.ts'
import type { TransactionCost } from '../src/payment/ledger/transaction-costs.ts'
import { MEMO_PROGRAM } from '../src/payment/solana/programs.ts'
import type { SolanaPaymentChoices } from '../src/payment/solana/testing/solana-buyer.ts'
import { memoInstruction, newSolanaBuyer } from '../src/payment/solana/testing/solana-buyer.ts'
import { encodedPayment } from '../src/payment/testing/buyer.ts'
import { directly } from '../src/payment/testing/directly.ts'
import type { PaidHost } from '../src/payment/testing/paid-host.ts'
import { DEARER_PRICE, PRICE } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { promptClock } from './support/prompt-clock.ts'
import { buy, receiptIn, solanaRig } from './support/solana-rig.ts'

const NETWORK = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'

let chain: SolanaChain
let rig: ReturnType<typeof solanaRig>
let host: PaidHost

beforeAll(async () => {
  chain = await startSolanaChain({ clock: systemClock })
  rig = solanaRig(chain, promptClock)
  host = await rig.hosted()
})

afterAll(async () => {
  await host?.close()
  await chain?.close()
})

/** The unmodified public client of both versions, with our node. */
async function publicClient(seed: Uint8Array) {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(seed)
  const config = { rpcUrl: chain.rpcUrl }
  return new x402Client()
    .register('solana:*', new ExactSvmScheme(signer, config))
    .registerV1('solana', new ExactSvmSchemeV1(signer, config))
}

/** Without the version 2 header the client falls back to the version 1 body. */
const withoutV2Header: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const headers = new Headers(response.headers)
  headers.delete('payment-required')
  return new Response(response.body, { status: response.status, headers })
}

describe('the quote', () => {
  test('offers both Base and Solana, in both versions of the protocol', async () => {
    const unasked = () => Promise.reject(new Error('nobody pays'))
    const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
    const payTo = '0x00000000000000000000000000000000000000A1'
    const both = await rig.hosted({
      methods: [exactEvm({ network: base, payTo, facilitator }), rig.method(rig.facilitator())],
    })
    const response = await fetch(`${both.url}/pulse/BTC`)
    const header = response.headers.get('payment-required') ?? ''
    const v1 = (await response.json()) as { accepts: { network: string }[] }
    await both.close()
    const v2 = JSON.parse(Buffer.from(header, 'base64').toString())
    expect(response.status).toBe(402)
    expect(header.length).toBeLessThan(4_000)
    expect(v1.accepts.map(({ network }) => network)).toEqual(['base', 'solana'])
    expect(v2.accepts[1]).toMatchObject({
      scheme: 'exact',
      network: NETWORK,
      amount: PRICE.toString(),
      asset: chain.usdc,
      payTo: chain.accounts.merchant.address,
      extra: { feePayer: chain.accounts.facilitator.address },
    })
  })
})

describe('public clients', () => {
  async function funded() {
    const seed = crypto.getRandomValues(new Uint8Array(32))
    const signer = await createKeyPairSignerFromPrivateKeyBytes(seed)
    chain.fundUsdc(signer.address, 1_000_000n)
    return { seed, address: signer.address }
  }

  test.each([
    [2, 'payment-response', NETWORK],
    [1, 'x-payment-response', 'solana'],
  ] as const)(
    '@x402/fetch pays as version %i, exactly the price',
    async (version, name, network) => {
      const { seed, address } = await funded()
      const client = await publicClient(seed)
      const before = rig.received()
      const speak = version === 2 ? fetch : withoutV2Header
      const response = await wrapFetchWithPayment(speak, client)(`${host.url}/pulse/BTC`)
      expect(response.status).toBe(200)
      expect(receiptIn(response.headers, name)).toMatchObject({
        success: true,
        network,
        payer: address,
        transaction: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/),
      })
      expect(chain.balanceOf(address)).toBe(1_000_000n - PRICE)
      expect(rig.received()).toBe(before + PRICE)
    },
  )

  test('@x402/fetch pays twice for two answers: a memo distinguishes its payments', async () => {
    const { seed, address } = await funded()
    const pay = wrapFetchWithPayment(fetch, await publicClient(seed))
    expect((await pay(`${host.url}/pulse/BTC`)).status).toBe(200)
    expect((await pay(`${host.url}/pulse/BTC`)).status).toBe(200)
    expect(chain.balanceOf(address)).toBe(1_000_000n - 2n * PRICE)
  })

  test.each(['payment-signature', 'x-payment'])(
    'a wallet on @solana/web3.js 1.x pays with a v2 payload in %s',
    async (header) => {
      const wallet = Keypair.generate()
      chain.fundUsdc(wallet.publicKey.toBase58(), 1_000_000n)
      const quoted = await fetch(`${host.url}/pulse/ETH`)
      const required = JSON.parse(
        Buffer.from(quoted.headers.get('payment-required') ?? '', 'base64').toString(),
      )
      const [accepted] = required.accepts
      const payload = { transaction: await web3Transfer(wallet, accepted) }
      const payment = encodedPayment({ x402Version: 2, accepted, payload })
      const before = rig.received()
      const paid = await buy(host, payment, '/pulse/ETH', header)
      expect(paid.status).toBe(200)
      expect(rig.received()).toBe(before + PRICE)
      expect(chain.balanceOf(wallet.publicKey.toBase58())).toBe(1_000_000n - PRICE)

      const connection = new Connection(chain.rpcUrl, 'confirmed')
      const { transaction } = receiptIn(paid.headers)
      const landed = await connection.getTransaction(transaction, {
        maxSupportedTransactionVersion: 0,
      })
      expect(landed?.meta?.err).toBeNull()
      expect((await connection.getSignatureStatus(transaction)).value?.confirmationStatus).toMatch(
        /confirmed|finalized/,
      )
    },
  )

  /** A transfer as built by a client without the SDK. */
  async function web3Transfer(
    wallet: Keypair,
    terms: { asset: string; payTo: string; amount: string; extra: { feePayer: string } },
  ): Promise<string> {
    const connection = new Connection(chain.rpcUrl, 'confirmed')
    const mint = new PublicKey(terms.asset)
    const { blockhash } = await connection.getLatestBlockhash()
    const message = new TransactionMessage({
      payerKey: new PublicKey(terms.extra.feePayer),
      recentBlockhash: blockhash,
      instructions: [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 40_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
        createTransferCheckedInstruction(
          getAssociatedTokenAddressSync(mint, wallet.publicKey),
          mint,
          getAssociatedTokenAddressSync(mint, new PublicKey(terms.payTo)),
          wallet.publicKey,
          BigInt(terms.amount),
          6,
        ),
        new TransactionInstruction({
          programId: new PublicKey(MEMO_PROGRAM),
          keys: [],
          data: Buffer.from(wallet.publicKey.toBase58()),
        }),
      ],
    }).compileToV0Message()
    const transaction = new VersionedTransaction(message)
    transaction.sign([wallet])
    return Buffer.from(transaction.serialize()).toString('base64')
  }
})

describe('a payment', () => {
  test('in the legacy transaction format is accepted like one of version 0', async () => {
    const buyer = rig.fundedBuyer()
    expect((await buy(host, await rig.paymentOf(buyer, { version: 'legacy' }))).status).toBe(200)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('costs the fee payer two signatures and the priority, and the buyer no SOL', async () => {
    const buyer = rig.fundedBuyer()
    const { facilitator } = chain.accounts
    const before = chain.lamportsOf(facilitator.address)
    await buy(host, await rig.paymentOf(buyer, { units: 100_000, microlamports: 10n }))
    expect(before - chain.lamportsOf(facilitator.address)).toBe(10_000n + 1n)
    expect(chain.lamportsOf(buyer.address)).toBe(0n)
  })

  test('has the recorded cost that its fee payer has paid', async () => {
    const costs: TransactionCost[] = []
    const settler = rig.facilitator({ recordCost: (cost) => costs.push(cost) })
    const before = chain.lamportsOf(chain.accounts.facilitator.address)
    const payment = await rig.read(rig.fundedBuyer(), settler, { microlamports: 7n })
    const settlement = await payment.settle('confirmed')
    const fee = before - chain.lamportsOf(chain.accounts.facilitator.address)
    expect(settlement).toMatchObject({ kind: 'settled', transaction: costs[0]?.transaction })
    expect(costs).toMatchObject([{ purpose: 'settlement', payments: 1, fee }])
  })

  test('sent in twenty concurrent copies is rendered once and transferred once', async () => {
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    const before = host.runs()
    const answers = await Promise.all(Array.from({ length: 20 }, () => buy(host, payment)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(host.runs()).toBe(before + 1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('that is resent later gets the same answer and receipt without a charge', async () => {
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    const first = await buy(host, payment)
    const again = await buy(host, payment)
    expect(again.text).toBe(first.text)
    expect(receiptIn(again.headers)).toEqual(receiptIn(first.headers))
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('keeps its identity regardless of the fee payer’s signature bytes', async () => {
    const buyer = rig.fundedBuyer()
    const { transaction, ...choices } = await rig.sign(buyer)
    const bytes = Buffer.from(transaction, 'base64')
    const runsBefore = host.runs()
    for (const filler of [0, 7]) {
      bytes.fill(filler, 1, 65)
      const payload = { transaction: bytes.toString('base64') }
      const accepted = {
        scheme: 'exact',
        network: NETWORK,
        asset: chain.usdc,
        amount: choices.amount.toString(),
        payTo: choices.payTo,
      }
      const payment = encodedPayment({ x402Version: 2, accepted, payload })
      expect((await buy(host, payment)).status).toBe(200)
    }
    expect(host.runs()).toBe(runsBefore + 1)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('buys one URL and no other', async () => {
    const buyer = rig.fundedBuyer()
    const payment = await rig.paymentOf(buyer)
    expect((await buy(host, payment)).status).toBe(200)
    expect((await buy(host, payment, '/pulse/ETH')).status).toBe(409)
    expect(rig.spent(buyer)).toBe(PRICE)
  })

  test('for one price does not buy at another', async () => {
    const buyer = rig.fundedBuyer()
    const { status, problem } = await buy(host, await rig.paymentOf(buyer), '/bundle/BTC')
    expect(status).toBe(402)
    expect(problem().diagnostics).toMatchObject({
      field: 'accepted.amount',
      expected: DEARER_PRICE.toString(),
    })
    expect(rig.spent(buyer)).toBe(0n)
  })

  test('without sufficient funds is refused with that reason', async () => {
    const poor = rig.fundedBuyer(PRICE - 1n)
    const refused = await buy(host, await rig.paymentOf(poor))
    expect(refused.status).toBe(402)
    expect(refused.problem().diagnostics.reason).toBe('invalid_exact_svm_insufficient_funds')
    const penniless = await buy(host, await rig.paymentOf(newSolanaBuyer()))
    expect(penniless.problem().diagnostics.reason).toBe('invalid_exact_svm_insufficient_funds')
    expect(chain.balanceOf(poor.address)).toBe(PRICE - 1n)
  })

  test('for an answer that fails is not charged', async () => {
    const buyer = rig.fundedBuyer()
    expect((await buy(host, await rig.paymentOf(buyer), '/status/503')).status).toBe(503)
    expect((await buy(host, await rig.paymentOf(buyer), '/throws')).status).toBe(500)
    expect(rig.spent(buyer)).toBe(0n)
  })

  test('is settled concurrently with others', async () => {
    const buyers = Array.from({ length: 30 }, () => rig.fundedBuyer())
    const payments = await Promise.all(buyers.map((buyer) => rig.paymentOf(buyer)))
    const before = rig.received()
    const answers = await Promise.all(payments.map((payment) => buy(host, payment)))
    expect(answers.map(({ status }) => status)).toEqual(buyers.map(() => 200))
    expect(rig.received()).toBe(before + BigInt(buyers.length) * PRICE)
  })

  test('that cannot be decoded ends in 400 with the reason', async () => {
    for (const transaction of ['', '%%%', 'AAAA', 'A'.repeat(2_000), 7]) {
      const payload = {
        x402Version: 1,
        scheme: 'exact',
        network: 'solana',
        payload: { transaction },
      }
      const { status, problem } = await buy(host, encodedPayment(payload))
      expect(status).toBe(400)
      expect(problem().code).toBe('malformed_payment')
    }
  })
})

describe("the SDK's own facilitator", () => {
  /** Verdicts of both facilitators on one payment. */
  async function judged(choices: Partial<SolanaPaymentChoices>) {
    const signer = toFacilitatorSvmSigner(
      await createKeyPairSignerFromPrivateKeyBytes(chain.accounts.facilitator.seed),
      { defaultRpcUrl: chain.rpcUrl },
    )
    const payment = await rig.read(rig.fundedBuyer(), rig.facilitator(), choices)
    return {
      payer: payment.payer,
      ours: await payment.check(systemClock.nowMs(), directly),
      theirs: await new ExactSvmFacilitator(signer).verify(payment.wire, payment.requirement.wire),
    }
  }

  test.each([
    ['as clients make it', {}],
    ['in the legacy format', { version: 'legacy' }],
    ['with a second memo', { edit: (all) => [...all, memoInstruction('and one more')] }],
  ] satisfies [string, Partial<SolanaPaymentChoices>][])(
    'accepts a payment %s, as we do',
    async (_what, choices) => {
      const { payer, ours, theirs } = await judged(choices)
      expect(ours).toBeNull()
      expect(theirs).toMatchObject({ isValid: true, payer })
    },
  )

  const stranger = newSolanaBuyer().address
  const foreign = { programAddress: stranger, accounts: [], data: Uint8Array.of(1) }
  test.each([
    ['to somebody else', { destination: stranger }],
    ['by another fee payer', { feePayer: stranger }],
    ['at a price beyond the cap', { microlamports: 5_000_001n }],
    ['with no memo and no transfer', { edit: (all) => all.slice(0, 2) }],
    ['without a limit', { edit: (all) => [...all.slice(1), memoInstruction('x')] }],
    ['that the payer did not sign', { authority: stranger }],
  ] satisfies [string, Partial<SolanaPaymentChoices>][])(
    'refuses a payment %s for the reason for which we do',
    async (_what, choices) => {
      const { ours, theirs } = await judged(choices)
      expect(theirs.isValid).toBe(false)
      expect(ours?.reason).toBe(theirs.invalidReason)
    },
  )

  // Both refuse it; theirs names the index, ours the field and the reason.
  test('refuses a payment that calls an unknown program, as we do', async () => {
    const { ours, theirs } = await judged({ edit: (all) => [...all, foreign] })
    expect(ours).not.toBeNull()
    expect(theirs.isValid).toBe(false)
  })
})

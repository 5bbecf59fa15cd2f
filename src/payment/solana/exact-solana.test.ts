import { fc, test } from '@fast-check/vitest'
import { AccountRole, address } from '@solana/kit'
import { describe, expect } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { MalformedPayment } from '../payload.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
import { directly } from '../testing/directly.ts'
import { exactSolana } from './exact-solana.ts'
import { priorityFeeMax, SOL_USD_MAX } from './fee-share.ts'
import { solanaMainnet } from './networks.ts'
import { ASSOCIATED_TOKEN_PROGRAM, LIGHTHOUSE_PROGRAM } from './programs.ts'
import type { SolanaPaymentChoices } from './testing/solana-buyer.ts'
import {
  memoInstruction,
  newSolanaBuyer,
  signedTransfer,
  transferInstruction,
} from './testing/solana-buyer.ts'
import { associatedTokenAccount } from './token-account.ts'

const AMOUNT = 20_000n
const BLOCKHASH = '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM'
const SYSTEM_PROGRAM = address('11111111111111111111111111111111')

const payTo = newSolanaBuyer('payee').address
const feePayer = newSolanaBuyer('fee payer').address
const buyer = newSolanaBuyer()
const stranger = newSolanaBuyer('stranger')
const otherMint = address('Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB')

/** Fails if it is called: all of these checks work without a network. */
const unasked = () => Promise.reject(new Error('a facilitator was asked'))

function methodOn(
  clock = new ManualClock(),
  solUsdMax = SOL_USD_MAX,
  failures = StoredFailedSettlements.inMemory(),
) {
  const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
  const limits = { solUsdMax, failures }
  return exactSolana({ network: solanaMainnet, payTo, feePayer, facilitator, clock, ...limits })
}

function read(transaction: unknown, method = methodOn()) {
  const wire = {
    ...{ scheme: 'exact', network: method.network, amount: AMOUNT.toString() },
    ...{ asset: method.asset, payTo: method.payTo, maxTimeoutSeconds: 60, extra: method.extra },
  }
  const requirement = { method, amount: AMOUNT, wire }
  return method.read({ transaction }, { requirement, resourceUrl: 'https://api.example.com/x' })
}

const sign = (choices: Partial<SolanaPaymentChoices> = {}) =>
  signedTransfer(buyer, { amount: AMOUNT, payTo, feePayer, blockhash: BLOCKHASH, ...choices })

async function rejectionOf(choices: Partial<SolanaPaymentChoices>) {
  return read(await sign(choices)).check(0, directly)
}

describe('a payment on Solana', () => {
  test.each(['legacy', 0] as const)(
    'of version %s that meets the terms is accepted',
    async (version) => {
      const payment = read(await sign({ version }))
      expect(payment.payer).toBe(buyer.address)
      expect(await payment.check(0, directly)).toBeNull()
    },
  )

  test.each([
    ['with no memo', { edit: (all) => all.slice(0, 3) }],
    ["with a wallet's assertion", { edit: (all) => [...all, lighthouse()] }],
    ['with seven instructions', { edit: (all) => [...all, ...threeMemos()] }],
    ['as the SDK’s client asks for it', { units: 20_000, microlamports: 1n }],
  ] satisfies [string, Partial<SolanaPaymentChoices>][])(
    '%s is accepted',
    async (_name, choices) => {
      expect(await rejectionOf(choices)).toBeNull()
    },
  )

  const place = 'transaction.instructions'
  test.each([
    ['of another token', { mint: otherMint }, 'mint_mismatch', `${place}[2].mint`],
    ['of one unit less', { amount: AMOUNT - 1n }, 'amount_mismatch', `${place}[2].amount`],
    ['of one unit more', { amount: AMOUNT + 1n }, 'amount_mismatch', `${place}[2].amount`],
    ['of other decimals', { decimals: 9 }, 'decimals_mismatch', `${place}[2].decimals`],
    [
      'to somebody else',
      { payTo: stranger.address },
      'recipient_mismatch',
      `${place}[2].destination`,
    ],
    [
      'to the wallet in place of its account',
      { destination: payTo },
      'recipient_mismatch',
      `${place}[2].destination`,
    ],
    [
      'from an account of somebody else',
      { source: stranger.address },
      'source_mismatch',
      `${place}[2].source`,
    ],
    [
      'with another fee payer',
      { feePayer: stranger.address },
      'fee_payer_mismatch',
      'transaction.feePayer',
    ],
    [
      'with the fee payer as authority',
      { authority: feePayer },
      'fee_payer_transferring_funds',
      `${place}[2].accounts`,
    ],
    [
      'that is not signed by the authority',
      { authority: stranger.address },
      'signature_invalid',
      'transaction.signatures[1]',
    ],
    [
      'with a third signature that we would pay for',
      { edit: (all) => [...all, cosigned()] },
      'excessive_signers',
      'transaction.signers',
    ],
    [
      'with no room for a transfer',
      { edit: (all) => all.slice(0, 2) },
      'instructions_length',
      place,
    ],
    [
      'with eight instructions',
      { edit: (all) => [...all, ...threeMemos(), memoInstruction('8')] },
      'instructions_length',
      place,
    ],
    [
      'with the limit behind the price',
      { edit: ([a, b, ...rest]) => [b, a, ...rest] as never },
      'compute_limit_instruction',
      `${place}[0]`,
    ],
    [
      'with no price',
      { edit: ([a, , ...rest]) => [a, ...rest, memoInstruction('x')] as never },
      'compute_price_instruction',
      `${place}[1]`,
    ],
    [
      'for more units than a transfer needs',
      { units: 200_001 },
      'compute_limit_instruction_too_high',
      `${place}[0].units`,
    ],
    [
      'at a price beyond the cap',
      { microlamports: 5_000_001n },
      'compute_price_instruction_too_high',
      `${place}[1].microLamports`,
    ],
    [
      'that drains the fee payer within both caps',
      { units: 200_000, microlamports: 5_000_000n },
      'compute_price_instruction_too_high',
      `${place}[1].microLamports`,
    ],
    [
      'with a memo in place of the transfer',
      { edit: (all) => [...all.slice(0, 2), memoInstruction('x')] },
      'no_transfer_instruction',
      `${place}[2]`,
    ],
    [
      'that calls a program nobody knows',
      { edit: (all) => [...all, unknownCall()] },
      'unknown_optional_instruction',
      `${place}[4].program`,
    ],
    [
      'that creates an account at our expense',
      { edit: (all) => [...all, ataCreation()] },
      'unknown_optional_instruction',
      `${place}[4].program`,
    ],
    [
      'with a second budget',
      { edit: (all) => [...all, all[1]] as never },
      'unknown_optional_instruction',
      `${place}[4].program`,
    ],
    [
      'that spends SOL of the fee payer',
      { edit: (all) => [...all, solTransfer()] },
      'fee_payer_transferring_funds',
      `${place}[4].accounts`,
    ],
  ] satisfies [string, Partial<SolanaPaymentChoices>, string, string][])(
    '%s is refused before anybody is asked',
    async (_name, choices, reason, field) => {
      const rejected = await rejectionOf(choices)
      expect(rejected?.reason).toMatch(new RegExp(`^invalid_exact_svm_.*${reason}$`))
      expect(rejected?.field).toBe(field)
      expect(rejected?.expected).not.toBe(rejected?.received)
      expect(rejected?.hint).not.toBe('')
    },
  )

  test('with a second transfer is refused, whatever that one moves', async () => {
    const second = transferInstruction({
      source: await associatedTokenAccount(buyer.address, solanaMainnet.asset),
      mint: solanaMainnet.asset,
      destination: await associatedTokenAccount(stranger.address, solanaMainnet.asset),
      authority: buyer.address,
      amount: 1n,
      decimals: 6,
    })
    const rejected = await rejectionOf({ edit: (all) => [...all, second] })
    expect(rejected?.reason).toMatch(/unknown_optional_instruction$/)
  })

  test('that was changed after it was signed is refused', async () => {
    const bytes = Buffer.from(await sign({ memo: 'paid for tea' }), 'base64')
    bytes.write('paid for war', bytes.indexOf('paid for tea'))
    const rejected = await read(bytes.toString('base64')).check(0, directly)
    expect(rejected?.reason).toBe('invalid_exact_svm_payload_signature_invalid')
  })

  test('with a signature of somebody else is refused', async () => {
    const bytes = Buffer.from(await sign(), 'base64')
    const payment = read(bytes.toString('base64'))
    bytes.set(stranger.key.sign(payment.transaction.message), 65)
    expect((await read(bytes.toString('base64')).check(0, directly))?.reason).toMatch(
      /signature_invalid$/,
    )
  })
})

describe('the name of a payment', () => {
  test('is its message, so that a memo tells two equal ones apart', async () => {
    const method = methodOn()
    const one = read(await sign({ memo: '1' }), method)
    const two = read(await sign({ memo: '2' }), method)
    expect(one.nonce).not.toBe(two.nonce)
    expect(read(await sign({ memo: '1' }), method)).toMatchObject({
      nonce: one.nonce,
      hash: one.hash,
    })
  })

  test('does not depend on what stands where the fee payer signs', async () => {
    const bytes = Buffer.from(await sign(), 'base64')
    const before = read(bytes.toString('base64'))
    bytes.fill(9, 1, 65)
    const after = read(bytes.toString('base64'))
    expect(after.hash).toBe(before.hash)
    expect(after.wire).toEqual(before.wire)
  })

  test('covers the signature of the payer: a forged copy is another payment', async () => {
    const bytes = Buffer.from(await sign(), 'base64')
    const before = read(bytes.toString('base64'))
    bytes.writeUInt8(bytes.readUInt8(65) ^ 1, 65)
    const forged = read(bytes.toString('base64'))
    expect(forged.nonce).toBe(before.nonce)
    expect(forged.hash).not.toBe(before.hash)
  })
})

describe('the life of a payment', () => {
  test('is counted from when it came first, also when it comes again', async () => {
    const clock = new ManualClock(1_000_000)
    const method = methodOn(clock)
    const transaction = await sign()
    expect(read(transaction, method).validBeforeSeconds).toBe(1_090)
    clock.advance(30_000)
    expect(read(transaction, method).validBeforeSeconds).toBe(1_090)
  })
})

describe('what is no transaction', () => {
  test.each([
    ['a number', 7],
    ['nothing', null],
    ['an empty text', ''],
    ['a text that is not base64', 'not base64!'],
    ['zeros', 'AAAA'],
    ['more than a packet carries', Buffer.alloc(1_233).toString('base64')],
  ])('such as %s is malformed', (_name, transaction) => {
    expect(() => read(transaction)).toThrow(MalformedPayment)
  })
})

function threeMemos() {
  return [memoInstruction('5'), memoInstruction('6'), memoInstruction('7')]
}

function cosigned() {
  const accounts = [{ address: stranger.address, role: AccountRole.READONLY_SIGNER }]
  return { ...memoInstruction('seen'), accounts } as const
}

function lighthouse() {
  return {
    programAddress: LIGHTHOUSE_PROGRAM,
    accounts: [{ address: buyer.address, role: AccountRole.READONLY_SIGNER }],
    data: Uint8Array.of(1),
  }
}

function unknownCall() {
  return { programAddress: stranger.address, accounts: [], data: Uint8Array.of(1) }
}

/** The commonest way to make a fee payer lose money: rent for accounts that others own. */
function ataCreation() {
  return {
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    accounts: [
      { address: buyer.address, role: AccountRole.WRITABLE_SIGNER },
      { address: stranger.address, role: AccountRole.WRITABLE },
    ],
    data: Uint8Array.of(1),
  }
}

function solTransfer() {
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: feePayer, role: AccountRole.WRITABLE_SIGNER },
      { address: buyer.address, role: AccountRole.WRITABLE },
    ],
    data: Buffer.from('020000000100000000000000', 'hex'),
  }
}

describe('what we pay for a payment on Solana', () => {
  const lamports = (amount: bigint, solUsdMax: number) =>
    10_000n + priorityFeeMax(amount, solUsdMax)

  test.each([
    // 10 % of 0.06 USD are 40,000 lamports at 150 USD, two signatures included.
    { amount: 60_000n, solUsdMax: 150, expected: 40_000n },
    { amount: 60_000n, solUsdMax: 500, expected: 12_000n },
    // 10 % of 0.01 USD are 2,000 lamports at 500 USD, less than the signatures cost: no priority worth the name.
    { amount: 10_000n, solUsdMax: 500, expected: 10_001n },
  ])('$amount atoms at $solUsdMax USD: $expected lamports', ({ amount, solUsdMax, expected }) => {
    expect(lamports(amount, solUsdMax)).toBe(expected)
  })

  test.prop([fc.bigInt({ min: 1n, max: 1_000_000n }), fc.integer({ min: 1, max: 10_000 })])(
    'is at most a tenth of the price, where the signatures are less than that',
    (amount, solUsdMax) => {
      const paidUsd = (Number(lamports(amount, solUsdMax)) / 1e9) * solUsdMax
      const signaturesUsd = (10_001 / 1e9) * solUsdMax
      expect(paidUsd).toBeLessThanOrEqual(Math.max(Number(amount) / 1e7, signaturesUsd) * 1.000_001)
    },
  )

  test('is what the check allows, to the lamport', async () => {
    const method = methodOn(new ManualClock(), 150)
    // 10 % of 0.02 USD are 13,333 lamports.
    for (const [microlamports, reason] of [
      [33_330n, undefined],
      [
        33_340n,
        'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high',
      ],
    ] as const) {
      const transaction = await sign({ units: 100_000, microlamports })
      expect((await read(transaction, method).check(0, directly))?.reason).toBe(reason)
    }
  })
})

test('a wallet that is barred is refused before anybody is asked', async () => {
  const failures = StoredFailedSettlements.inMemory()
  const clock = new ManualClock()
  const method = methodOn(clock, 150, failures)
  const payment = read(await sign(), method)
  const named = { network: solanaMainnet.network, payer: buyer.address, code: null }
  for (const transaction of ['1', '2', '3']) {
    expect(await payment.check(0, directly)).toBeNull()
    await failures.failed({ ...named, transaction, cost: 10_000n, strikes: 1 }, null, clock.nowMs())
  }
  expect(await payment.check(0, directly)).toMatchObject({
    reason: 'invalid_exact_svm_payer_barred',
  })
  const cheaper = read(await sign({ amount: 1n }), method)
  expect(
    await cheaper.check(0, directly),
    'a payment of other terms could be sold as paid',
  ).toMatchObject({
    reason: 'invalid_exact_svm_payload_amount_mismatch',
  })
})

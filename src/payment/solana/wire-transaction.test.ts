import { fc, test as property } from '@fast-check/vitest'
import { getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import { describe, expect, test } from 'vitest'
import { MalformedPayment } from '../payload.ts'
import { memoInstruction, newSolanaBuyer, signedTransfer } from './testing/solana-buyer.ts'
import { decodeTransaction, encodeTransaction } from './wire-transaction.ts'

const buyer = newSolanaBuyer()
const choices = {
  amount: 20_000n,
  payTo: newSolanaBuyer('payee').address,
  feePayer: newSolanaBuyer('fee payer').address,
  blockhash: '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM',
}

/** The same transaction as the public library reads it. */
function asKitReads(base64: string) {
  const { messageBytes, signatures } = getTransactionDecoder().decode(Buffer.from(base64, 'base64'))
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  if (message.version === 1) throw new Error('no such transaction is made here')
  const { staticAccounts, instructions, header, lifetimeToken, version } = message
  return {
    version,
    blockhash: lifetimeToken,
    signers: staticAccounts.slice(0, header.numSignerAccounts),
    signatures: Object.values(signatures).map((bytes) => Buffer.from(bytes ?? Buffer.alloc(64))),
    message: Buffer.from(messageBytes),
    lookupTables: 0,
    instructions: instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
      program: staticAccounts[programAddressIndex],
      accounts: accountIndices.map((index) => staticAccounts[index]),
      data: Buffer.from(data ?? []),
    })),
  }
}

describe('a transaction', () => {
  property.prop([
    fc.constantFrom('legacy' as const, 0 as const),
    fc.array(fc.string({ maxLength: 150 }), { maxLength: 4 }),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  ])('is read as @solana/kit reads it', async (version, memos, amount) => {
    const edit = (all: readonly ReturnType<typeof memoInstruction>[]) => [
      ...all,
      ...memos.map(memoInstruction),
    ]
    const base64 = await signedTransfer(buyer, { ...choices, version, amount, edit: edit as never })
    fc.pre(Buffer.from(base64, 'base64').length <= 1_232)
    expect(decodeTransaction(base64)).toEqual(asKitReads(base64))
  })

  property.prop([fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'with any byte changed is read or is malformed, and nothing else happens',
    async (place, change) => {
      const bytes = Buffer.from(await signedTransfer(buyer, choices), 'base64')
      const at = place % bytes.length
      bytes.writeUInt8(bytes.readUInt8(at) ^ change, at)
      expect(readOrMalformed(bytes)).toBeDefined()
    },
  )

  property.prop([fc.uint8Array({ maxLength: 300 })])(
    'of random bytes does not throw elsewise',
    (bytes) => {
      expect(readOrMalformed(Buffer.from(bytes))).toBeDefined()
    },
  )

  property.prop([fc.nat()])('that ends early is malformed wherever it ends', async (place) => {
    const bytes = Buffer.from(await signedTransfer(buyer, choices), 'base64')
    const cut = bytes.subarray(0, place % bytes.length)
    expect(readOrMalformed(cut)).toBe('malformed')
  })

  test('is written as it was read, with the signature that was missing', async () => {
    const base64 = await signedTransfer(buyer, choices)
    const transaction = decodeTransaction(base64)
    expect(encodeTransaction(transaction, null)).toBe(base64)
    const sealed = decodeTransaction(encodeTransaction(transaction, Buffer.alloc(64, 5)))
    expect(sealed.signatures[0]).toEqual(Buffer.alloc(64, 5))
    expect(sealed.signatures[1]).toEqual(transaction.signatures[1])
    expect(sealed.message).toEqual(transaction.message)
  })

  test('with bytes behind its end is malformed: they would be signed and never shown', async () => {
    const bytes = Buffer.from(
      await signedTransfer(buyer, { ...choices, version: 'legacy' }),
      'base64',
    )
    expect(readOrMalformed(Buffer.concat([bytes, Buffer.of(0)]))).toBe('malformed')
  })

  test('with a length in more bytes than it needs is malformed', async () => {
    const bytes = Buffer.from(await signedTransfer(buyer, choices), 'base64')
    const spelled = Buffer.concat([Buffer.of(0x82, 0x00), bytes.subarray(1)])
    expect(bytes[0]).toBe(2)
    expect(readOrMalformed(spelled)).toBe('malformed')
  })

  test('that takes accounts from a lookup table is read, and they are not known', async () => {
    const bytes = Buffer.from(await signedTransfer(buyer, choices), 'base64')
    const table = Buffer.concat([Buffer.of(1), Buffer.alloc(32, 3), Buffer.of(1, 0), Buffer.of(0)])
    const { lookupTables } = decodeTransaction(
      Buffer.concat([bytes.subarray(0, -1), table]).toString('base64'),
    )
    expect(lookupTables).toBe(1)
  })
})

function readOrMalformed(bytes: Buffer) {
  try {
    return decodeTransaction(bytes.toString('base64'))
  } catch (cause) {
    if (cause instanceof MalformedPayment) return 'malformed'
    throw cause
  }
}

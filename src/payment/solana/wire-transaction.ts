import type { Address } from '@solana/addresses'
import { getAddressDecoder } from '@solana/addresses'
import { MalformedPayment } from '../payload.ts'

/** An instruction; an account is null if it is in a lookup table. */
export type Instruction = {
  readonly program: Address
  readonly accounts: readonly (Address | null)[]
  readonly data: Buffer
}

/** A serialized transaction with some or all signatures. */
export type WireTransaction = {
  readonly version: 'legacy' | 0
  /** In the order of signers; zeros for a missing one. */
  readonly signatures: readonly Buffer[]
  /** The signed bytes. */
  readonly message: Buffer
  /** The first one is the fee payer. */
  readonly signers: readonly Address[]
  readonly blockhash: string
  readonly instructions: readonly Instruction[]
  /** Number of lookup tables. */
  readonly lookupTables: number
}

/** Packet size of the network. */
const TRANSACTION_BYTES_MAX = 1_232
const SIGNATURE_BYTES = 64
const KEY_BYTES = 32
const VERSIONED = 0x80

const keys = getAddressDecoder()

/**
 * Decodes a legacy or version 0 transaction in its canonical encoding.
 * @throws MalformedPayment
 */
export function decodeTransaction(base64: string): WireTransaction {
  if (base64.length > Math.ceil(TRANSACTION_BYTES_MAX / 3) * 4)
    throw new MalformedPayment(`payload.transaction is longer than ${TRANSACTION_BYTES_MAX} bytes`)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new MalformedPayment('payload.transaction is not base64')
  const reader = new Reader(Buffer.from(base64, 'base64'))
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES))
  const messageAt = reader.at
  const version = readVersion(reader)
  const header = [reader.byte(), reader.byte(), reader.byte()] as const
  const accounts = reader.list(() => keys.decode(reader.take(KEY_BYTES)))
  const blockhash = keys.decode(reader.take(KEY_BYTES))
  const compiled = reader.list(() => ({
    program: reader.byte(),
    accounts: reader.list(() => reader.byte()),
    data: reader.take(reader.length()),
  }))
  const lookedUp = version === 'legacy' ? [] : reader.list(() => readLookup(reader))
  if (!reader.isAtEnd) throw malformed('has extra bytes at its end')
  checkHeader(header, accounts.length, signatures.length)
  const known: (Address | null)[] = [...accounts, ...lookedUp.flatMap(nulls)]
  return {
    version,
    signatures,
    message: reader.since(messageAt),
    signers: accounts.slice(0, header[0]),
    blockhash,
    instructions: compiled.map((instruction) => ({
      program: named(accounts, instruction.program),
      accounts: instruction.accounts.map((index) => named(known, index)),
      data: instruction.data,
    })),
    lookupTables: lookedUp.length,
  }
}

/**
 * Encodes in base64 with another fee payer signature.
 * @param feePayerSignature null: unsigned
 */
export function encodeTransaction(
  { signatures, message }: WireTransaction,
  feePayerSignature: Uint8Array | null,
): string {
  const [, ...others] = signatures
  const first = feePayerSignature ?? new Uint8Array(SIGNATURE_BYTES)
  // A packet cannot hold enough signatures for a second length byte.
  const count = Uint8Array.of(signatures.length)
  return Buffer.concat([count, first, ...others, message]).toString('base64')
}

/**
 * Whether a transaction has the same message; the fee payer's signature may differ.
 * @param bytes serialized
 */
export function hasMessage(bytes: Buffer, { message, signatures }: WireTransaction): boolean {
  const messageAt = 1 + signatures.length * SIGNATURE_BYTES
  return bytes[0] === signatures.length && bytes.subarray(messageAt).equals(message)
}

function readVersion(reader: Reader): 'legacy' | 0 {
  const prefix = reader.peek()
  if (prefix < VERSIONED) return 'legacy'
  if (prefix !== VERSIONED)
    throw malformed(`has version ${prefix - VERSIONED}; only 0 and legacy are supported`)
  reader.byte()
  return 0
}

/** @returns the number of accounts from the table */
function readLookup(reader: Reader): number {
  reader.take(KEY_BYTES)
  const writable = reader.list(() => reader.byte())
  const readonly = reader.list(() => reader.byte())
  return writable.length + readonly.length
}

/** As required by the network. */
function checkHeader(
  [signers, readonlySigners, readonlyOthers]: readonly [number, number, number],
  accounts: number,
  signatures: number,
): void {
  if (readonlySigners >= signers || signers + readonlyOthers > accounts)
    throw malformed('has a header that contradicts its accounts')
  if (signatures !== signers) throw malformed('does not have one signature per signer')
}

function named<T>(accounts: readonly T[], index: number): T {
  const account = accounts[index]
  if (account === undefined) throw malformed(`refers to account ${index}, which does not exist`)
  return account
}

function nulls(count: number): null[] {
  return Array.from({ length: count }, () => null)
}

function malformed(what: string): MalformedPayment {
  return new MalformedPayment(`The transaction ${what}`)
}

/** Reads forwards within the buffer. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  since(at: number): Buffer {
    return this.#bytes.subarray(at, this.#at)
  }

  peek(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw malformed('is truncated')
    return byte
  }

  byte(): number {
    const byte = this.peek()
    this.#at += 1
    return byte
  }

  take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw malformed('is truncated')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  /** A canonical compact-u16: seven bits per byte, lowest first. */
  length(): number {
    let value = 0
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = this.byte()
      value |= (byte & 0x7f) << shift
      const isLongerThanNeeded = byte === 0 && shift > 0
      if (isLongerThanNeeded || value > 0xffff) break
      if (byte < 0x80) return value
    }
    throw malformed('has an invalid length')
  }

  list<T>(item: () => T): T[] {
    return Array.from({ length: this.length() }, item)
  }
}

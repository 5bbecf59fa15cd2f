import type { PythPrice } from '../pyth-price.ts'
import { pythPrice } from '../pyth-price.ts'
import type { SolanaAccount } from './account.ts'

export type PriceUpdate = {
  readonly price: PythPrice
  readonly ema: PythPrice | null
  readonly publishTimeMs: number
}

/** The first eight bytes of the SHA-256 of `account:PriceUpdateV2`, by the convention of Anchor. */
const DISCRIMINATOR = Buffer.from('22f123639d7ef4cd', 'hex')
const ID_BYTES = 32
/** After the authority, the verification level has one byte (full) or two (partial, with the count). */
const ID_AT = [41, 42]
const FIELDS_BYTES = 60

/**
 * One account of Pyth's push oracle. The owner is not checked: the address can only be created by the
 * program, and the owner changed with the upgrade of 2026.
 * @param id of the feed, hexadecimal
 * @returns null for an account that holds no plausible price of that feed
 */
export function readPriceUpdate(account: SolanaAccount | null, id: string): PriceUpdate | null {
  if (account === null) return null
  const { data } = account
  if (!data.subarray(0, DISCRIMINATOR.length).equals(DISCRIMINATOR)) return null
  const wanted = Buffer.from(id, 'hex')
  const idAt = ID_AT.find((at) => data.subarray(at, at + ID_BYTES).equals(wanted))
  if (idAt === undefined) return null
  const fields = data.subarray(idAt + ID_BYTES)
  if (fields.length < FIELDS_BYTES) return null
  const exponent = fields.readInt32LE(16)
  const price = pythPrice(fields.readBigInt64LE(0), fields.readBigUInt64LE(8), exponent)
  if (price === null) return null
  return {
    price,
    ema: pythPrice(fields.readBigInt64LE(36), fields.readBigUInt64LE(44), exponent),
    publishTimeMs: Number(fields.readBigInt64LE(20)) * 1_000,
  }
}

import type { Account } from './account.ts'

/** What a pushed feed of Pyth says, in USD. */
export type PriceUpdate = {
  readonly priceUsd: number
  /** One scale of the distribution around the price. */
  readonly confidenceUsd: number
  readonly emaPriceUsd: number
  readonly emaConfidenceUsd: number
  readonly publishTimeMs: number
}

/** As Anchor marks its accounts: the first eight bytes of the SHA-256 of `account:PriceUpdateV2`. */
const DISCRIMINATOR = Buffer.from('22f123639d7ef4cd', 'hex')
const ID_BYTES = 32
/** Behind the authority: one byte says how it was verified, and a second one by how many where not by all. */
const ID_AT = [41, 42]
const FIELDS_BYTES = 60
const EXPONENT_MAX = 18

/**
 * One account of Pyth's push oracle. Only its programs can make an account at an address of theirs, so it is
 * its address that vouches for it; who owns it changed with the upgrade.
 * @param id of the feed, hexadecimal
 * @returns null for what is no update of that feed
 */
export function readPriceUpdate(account: Account | null, id: string): PriceUpdate | null {
  if (account === null) return null
  const { data } = account
  if (!data.subarray(0, DISCRIMINATOR.length).equals(DISCRIMINATOR)) return null
  const wanted = Buffer.from(id, 'hex')
  const idAt = ID_AT.find((at) => data.subarray(at, at + ID_BYTES).equals(wanted))
  if (idAt === undefined) return null
  const fields = data.subarray(idAt + ID_BYTES)
  if (fields.length < FIELDS_BYTES) return null
  const exponent = fields.readInt32LE(16)
  if (Math.abs(exponent) > EXPONENT_MAX) return null
  const scaled = (value: bigint) => Number(`${value}e${exponent}`)
  return {
    priceUsd: scaled(fields.readBigInt64LE(0)),
    confidenceUsd: scaled(fields.readBigUInt64LE(8)),
    publishTimeMs: Number(fields.readBigInt64LE(20)) * 1_000,
    emaPriceUsd: scaled(fields.readBigInt64LE(36)),
    emaConfidenceUsd: scaled(fields.readBigUInt64LE(44)),
  }
}

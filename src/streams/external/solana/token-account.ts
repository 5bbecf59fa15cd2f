import { getAddressDecoder } from '@solana/kit'
import type { Account } from './account.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const BYTES = 165
const HOLDER_AT = 32
const AMOUNT_AT = 64

const addresses = getAddressDecoder()

/**
 * A node answers accounts by their place, so the account itself has to tell whose it is.
 * @returns how much of a token it holds for somebody, in its smallest unit; null for an account of another
 */
export function readTokenAmount(
  account: Account | null,
  mint: string,
  holder: string,
): bigint | null {
  if (account === null || account.owner !== TOKEN_PROGRAM || account.data.length !== BYTES)
    return null
  const { data } = account
  const isTheirs = addresses.decode(data) === mint && addresses.decode(data, HOLDER_AT) === holder
  return isTheirs ? data.readBigUInt64LE(AMOUNT_AT) : null
}

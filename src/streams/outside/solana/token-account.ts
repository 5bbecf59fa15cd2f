import { getAddressDecoder } from '@solana/kit'
import type { Account } from './account.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const BYTES = 165
const AMOUNT_AT = 64

const addresses = getAddressDecoder()

/** @returns how much of a token an account holds, in its smallest unit; null for an account of another token */
export function readTokenAmount(account: Account | null, mint: string): bigint | null {
  if (account === null || account.owner !== TOKEN_PROGRAM || account.data.length !== BYTES)
    return null
  return addresses.decode(account.data) === mint ? account.data.readBigUInt64LE(AMOUNT_AT) : null
}

import { getAddressDecoder } from '@solana/addresses'
import type { SolanaAccount } from './account.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const BYTES = 165
const HOLDER_AT = 32
const AMOUNT_AT = 64

const addresses = getAddressDecoder()

/**
 * The balance of a token account in smallest units. Mint and holder are checked, because a node could return
 * the accounts in another order.
 * @returns null for any other account
 */
export function readTokenAmount(
  account: SolanaAccount | null,
  mint: string,
  holder: string,
): bigint | null {
  if (account === null || account.owner !== TOKEN_PROGRAM || account.data.length !== BYTES)
    return null
  const { data } = account
  const isExpected = addresses.decode(data) === mint && addresses.decode(data, HOLDER_AT) === holder
  return isExpected ? data.readBigUInt64LE(AMOUNT_AT) : null
}

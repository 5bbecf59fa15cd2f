import type { Address } from '@solana/kit'
import { address } from '@solana/kit'
import { tokenData } from '../external/solana/account-layouts.ts'
import { addressBytes, programAddress } from '../external/solana/program-address.ts'

export const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')
export const TOKEN_ACCOUNT_BYTES = 165
const MINT_BYTES = 82
const AMOUNT_AT = 64

/** Where a wallet holds a token, unless it says otherwise. */
export function tokenAccountOf(owner: Address, mint: Address): Address {
  const seeds = [owner, TOKEN_PROGRAM, mint].map(addressBytes)
  return programAddress(ASSOCIATED_TOKEN_PROGRAM, seeds).address
}

/** A mint without authorities: what is minted here is written into accounts by hand. */
export function mintData(supplyAtomic: bigint, decimals: number): Uint8Array {
  const data = Buffer.alloc(MINT_BYTES)
  data.writeBigUInt64LE(supplyAtomic, 36)
  data.writeUInt8(decimals, 44)
  data.writeUInt8(1, 45)
  return data
}

export function tokenAccountData(mint: Address, owner: Address, atomic: bigint): Uint8Array {
  return tokenData(mint, owner, atomic)
}

/** @param data of a token account */
export function tokenAmount(data: ArrayLike<number>): bigint {
  return Buffer.from(Uint8Array.from(data)).readBigUInt64LE(AMOUNT_AT)
}

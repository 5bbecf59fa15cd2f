import type { Address } from '@solana/addresses'
import { getAddressEncoder, getProgramDerivedAddress } from '@solana/addresses'
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'

const keys = getAddressEncoder()

/** The associated token account of a wallet, which wallets and the protocol use by default. */
export async function associatedTokenAccount(owner: Address, mint: Address): Promise<Address> {
  const [account] = await getProgramDerivedAddress({
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    seeds: [owner, TOKEN_PROGRAM_ADDRESS, mint].map((key) => keys.encode(key)),
  })
  return account
}

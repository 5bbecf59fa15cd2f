import type { Address } from '@solana/kit'
import { getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'

const keys = getAddressEncoder()

/** Where a wallet holds a token unless it says otherwise: wallets and the protocol know no other place. */
export async function associatedTokenAccount(owner: Address, mint: Address): Promise<Address> {
  const [account] = await getProgramDerivedAddress({
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    seeds: [owner, TOKEN_PROGRAM_ADDRESS, mint].map((key) => keys.encode(key)),
  })
  return account
}

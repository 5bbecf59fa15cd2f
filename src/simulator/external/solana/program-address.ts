import type { Address } from '@solana/kit'
import { getAddressDecoder, getAddressEncoder, isOffCurveAddress } from '@solana/kit'
import { concat, sha256, stringToBytes } from 'viem'

const MARK = stringToBytes('ProgramDerivedAddress')
const BUMP_MAX = 255

const encoder = getAddressEncoder()
const decoder = getAddressDecoder()

export function addressBytes(address: Address): Uint8Array {
  return Uint8Array.from(encoder.encode(address))
}

/** A program derived address, computed synchronously (https://solana.com/docs/core/pda). */
export function programAddress(
  program: Address,
  seeds: readonly Uint8Array[],
): { readonly address: Address; readonly bump: number } {
  for (let bump = BUMP_MAX; bump >= 0; bump -= 1) {
    const preimage = concat([...seeds, Uint8Array.of(bump), addressBytes(program), MARK])
    const address = decoder.decode(sha256(preimage, 'bytes'))
    if (isOffCurveAddress(address)) return { address, bump }
  }
  throw new Error(`no address of ${program} for these seeds`)
}

export function seedOf(value: string | number): Uint8Array {
  if (typeof value === 'string') return stringToBytes(value)
  return Uint8Array.of(value & 0xff, value >> 8)
}

import type { Hex } from 'viem'
import { keccak256 } from 'viem'
import type { KeyRecovery } from './key-recovery.ts'

/** SEC 2, secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** A larger `s` makes the twin of a signature, which the token refuses. */
const S_MAX = ORDER / 2n
const RS_DIGITS = 128

/**
 * Who made an ECDSA signature of 65 bytes, with all restrictions of the token.
 * @returns the address in lower case, null for a signature that the token takes from nobody
 */
export async function signerOf(
  digest: Uint8Array,
  signature: Hex,
  recovery: KeyRecovery,
): Promise<Hex | null> {
  const rs = signature.slice(2, 2 + RS_DIGITS)
  const v = Number.parseInt(signature.slice(2 + RS_DIGITS), 16)
  const [r, s] = [BigInt(`0x${rs.slice(0, 64)}`), BigInt(`0x${rs.slice(64)}`)]
  if (r === 0n || r >= ORDER || s === 0n || s > S_MAX || (v !== 27 && v !== 28)) return null
  const key = await recovery.publicKey(digest, Buffer.from(rs, 'hex'), v === 27 ? 0 : 1)
  // The address is the end of the hash of the key without the byte that tells its form.
  return key === null ? null : `0x${keccak256(key.subarray(1)).slice(-40)}`
}

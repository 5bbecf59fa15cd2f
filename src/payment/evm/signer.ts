import type { Hex } from 'viem'
import { keccak256 } from 'viem'
import { keyRecovery } from './key-recovery.ts'

/** Order of secp256k1 (SEC 2). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** USDC rejects a larger `s`, which a malleated signature has. */
const S_MAX = ORDER / 2n
const RS_DIGITS = 128

/**
 * Signer of an ECDSA signature of 65 bytes, under the restrictions of the token.
 * @returns the address in lower case; null for a signature that the token rejects
 */
export function signerOf(digest: Uint8Array, signature: Hex, recovery = keyRecovery): Hex | null {
  const rs = signature.slice(2, 2 + RS_DIGITS)
  const v = Number.parseInt(signature.slice(2 + RS_DIGITS), 16)
  const [r, s] = [BigInt(`0x${rs.slice(0, 64)}`), BigInt(`0x${rs.slice(64)}`)]
  if (r === 0n || r >= ORDER || s === 0n || s > S_MAX || (v !== 27 && v !== 28)) return null
  const key = recovery.publicKey(digest, Buffer.from(rs, 'hex'), v === 27 ? 0 : 1)
  // The first byte of the key names its format and is not hashed.
  return key === null ? null : `0x${keccak256(key.subarray(1)).slice(-40)}`
}

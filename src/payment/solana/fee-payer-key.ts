import type { Address } from '@solana/addresses'
import { getAddressDecoder } from '@solana/addresses'
import { getBase58Encoder } from '@solana/codecs-strings'
import type { Ed25519Key } from './ed25519.ts'
import { ed25519Key } from './ed25519.ts'

export type FeePayer = { readonly key: Ed25519Key; readonly address: Address }

const SEED_BYTES = 32

/**
 * Reads an exported key in base58 or as the JSON list of a key file: the seed, or seed and public key.
 * @throws RangeError, which does not repeat the key
 */
export function readFeePayer(text: string): FeePayer {
  const bytes = bytesOf(text.trim())
  const isKey = bytes?.length === SEED_BYTES || bytes?.length === 2 * SEED_BYTES
  if (bytes === null || !isKey)
    throw new RangeError('not a key: use 32 or 64 bytes in base58 or as a JSON list of numbers')
  const key = ed25519Key(bytes.subarray(0, SEED_BYTES))
  const written = bytes.subarray(SEED_BYTES)
  if (written.length > 0 && !written.equals(Buffer.from(key.publicKey)))
    throw new RangeError('not a key: its public key does not match its seed')
  return { key, address: getAddressDecoder().decode(key.publicKey) }
}

function bytesOf(text: string): Buffer | null {
  try {
    if (!text.startsWith('[')) return Buffer.from(getBase58Encoder().encode(text))
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every(isByte) ? Buffer.from(list) : null
  } catch {
    return null
  }
}

function isByte(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255
}

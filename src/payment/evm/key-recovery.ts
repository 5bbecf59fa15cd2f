import { createRequire } from 'node:module'
import { bytesToHex, hexToBytes, recoverPublicKey } from 'viem'
import { nativeBinding } from '../native-binding.ts'

/** Elliptic-curve arithmetic on secp256k1, by whatever this machine has for it. */
export type KeyRecovery = {
  readonly name: 'native' | 'wasm' | 'viem'
  /**
   * @param rs the 64 bytes of a signature, both halves inside the order of the curve
   * @returns the 65 bytes of the public key that made it, null where no key can have
   */
  publicKey(digest: Uint8Array, rs: Uint8Array, parity: 0 | 1): MaybePromise<Uint8Array | null>
}

type MaybePromise<T> = T | Promise<T>

const load = createRequire(import.meta.url)

/**
 * libsecp256k1, 20 times as fast as JavaScript. Loaded by its binding: the package itself falls back to
 * slow JavaScript and does not say so. @throws where the platform has no binary
 */
export function nativeRecovery(): KeyRecovery {
  const { ecdsaRecover }: typeof import('secp256k1') = load(nativeBinding)
  return {
    name: 'native',
    publicKey(digest, rs, parity) {
      try {
        return ecdsaRecover(rs, parity, digest, false)
      } catch {
        return null
      }
    },
  }
}

/** The same library in WebAssembly, 6 times as fast as JavaScript. @throws where it cannot be loaded */
export function wasmRecovery(): KeyRecovery {
  const { recover }: typeof import('tiny-secp256k1') = load('tiny-secp256k1')
  return {
    name: 'wasm',
    publicKey(digest, rs, parity) {
      try {
        return recover(digest, rs, parity, false)
      } catch {
        return null
      }
    },
  }
}

/** JavaScript, about 2 ms a signature. */
export const viemRecovery: KeyRecovery = {
  name: 'viem',
  async publicKey(digest, rs, parity) {
    const signature = bytesToHex(rs)
    const [r, s] = [`0x${signature.slice(2, 66)}`, `0x${signature.slice(66)}`] as const
    try {
      const key = await recoverPublicKey({ hash: digest, signature: { r, s, yParity: parity } })
      return hexToBytes(key)
    } catch {
      return null
    }
  },
}

/** The best that loads here. */
export const keyRecovery: KeyRecovery = firstThatLoads([nativeRecovery, wasmRecovery])

function firstThatLoads(candidates: readonly (() => KeyRecovery)[]): KeyRecovery {
  for (const candidate of candidates) {
    try {
      return candidate()
    } catch {
      // No binary for this platform, or the optional package is not installed.
    }
  }
  return viemRecovery
}

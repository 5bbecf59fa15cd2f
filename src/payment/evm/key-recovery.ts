import { createRequire } from 'node:module'
import { nativeBinding } from '../native-binding.ts'

/**
 * Public-key recovery on secp256k1 by libsecp256k1, native or in WebAssembly. CPU per recovery on one core of an AMD
 * EPYC: native 0.06 ms, WebAssembly 0.25 ms, viem in JavaScript 1.9 ms. A paid call takes about 0.4 ms in all, so native
 * is used where its binary exists (`docs/decisions/024-the-package.md`), and WebAssembly on every other platform.
 */
export type KeyRecovery = {
  readonly name: 'native' | 'wasm'
  /**
   * @param rs the 64 bytes of a signature, both values below the order of the curve
   * @returns the uncompressed public key of 65 bytes; null if there is none
   */
  publicKey(digest: Uint8Array, rs: Uint8Array, parity: 0 | 1): Uint8Array | null
}

const load = createRequire(import.meta.url)

/** Loads the binding itself: the package would fall back to slow JavaScript. @throws without a binary */
export function nativeRecovery(): KeyRecovery {
  const { ecdsaRecover }: typeof import('secp256k1') = load(nativeBinding)
  return {
    name: 'native',
    publicKey: (digest, rs, parity) => orNull(() => ecdsaRecover(rs, parity, digest, false)),
  }
}

export function wasmRecovery(): KeyRecovery {
  const { recover }: typeof import('tiny-secp256k1') = load('tiny-secp256k1')
  return {
    name: 'wasm',
    publicKey: (digest, rs, parity) => orNull(() => recover(digest, rs, parity, false)),
  }
}

export const keyRecovery: KeyRecovery = nativeOrWasm()

function nativeOrWasm(): KeyRecovery {
  try {
    return nativeRecovery()
  } catch {
    return wasmRecovery()
  }
}

/** Both libraries throw where no key can have made the signature. */
function orNull<T>(recover: () => T): T | null {
  try {
    return recover()
  } catch {
    return null
  }
}

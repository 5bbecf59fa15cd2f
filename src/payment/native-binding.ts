import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Copied from the package `secp256k1` by the build, so that a user does not install the package. */
const built = join(import.meta.dirname, '../../dist/secp256k1/secp256k1.cjs')

/** Path of the libsecp256k1 binding for `require`. */
export const nativeBinding = existsSync(built) ? built : 'secp256k1/bindings.js'

import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** What the build makes of the package `secp256k1`, so that those who install perpscope do not need the package. */
const built = join(import.meta.dirname, '../../dist/secp256k1/secp256k1.cjs')

/** The binding of libsecp256k1, for `require`. */
export const nativeBinding = existsSync(built) ? built : 'secp256k1/bindings.js'

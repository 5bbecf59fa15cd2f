import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { brotliDecompressSync } from 'node:zlib'

/** `build.ts` writes it there, so that the package needs no dependency for it. */
const BUILT = new URL('../viewer/openapi-explorer.min.js.br', import.meta.url)
const PACKAGED = 'openapi-explorer/dist/browser/openapi-explorer.min.js'

/** The script that shows an OpenAPI document. */
export function readDocsViewer(): Buffer {
  return existsSync(BUILT)
    ? brotliDecompressSync(readFileSync(BUILT))
    : readFileSync(createRequire(import.meta.url).resolve(PACKAGED))
}

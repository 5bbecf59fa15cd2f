import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { brotliDecompressSync } from 'node:zlib'
import type { PackedContent } from '../api/send-document.ts'

/** `build.ts` writes it there, so that the package needs no dependency for it. */
const BUILT = new URL('../viewer/openapi-explorer.min.js.br', import.meta.url)
const PACKAGED = 'openapi-explorer/dist/browser/openapi-explorer.min.js'

/** The script that shows an OpenAPI document. */
export function readDocsViewer(): PackedContent {
  if (!existsSync(BUILT)) {
    const path = createRequire(import.meta.url).resolve(PACKAGED)
    return { bytes: () => readFileSync(path), coded: {} }
  }
  const br = readFileSync(BUILT)
  return { bytes: () => brotliDecompressSync(br), coded: { br } }
}

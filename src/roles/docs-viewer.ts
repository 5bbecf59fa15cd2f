import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** `build.ts` copies it there, so that the package needs no dependency for it. */
const BUILT = new URL('../viewer/openapi-explorer.min.js', import.meta.url)
const PACKAGED = 'openapi-explorer/dist/browser/openapi-explorer.min.js'

/** The script that shows an OpenAPI document. */
export function readDocsViewer(): Buffer {
  return readFileSync(existsSync(BUILT) ? BUILT : createRequire(import.meta.url).resolve(PACKAGED))
}

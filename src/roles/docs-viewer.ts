import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Copied there by `build.ts`, so that the installed service has one file instead of a package. */
const BUILT = new URL('../viewer/openapi-explorer.min.js', import.meta.url)
const PACKAGED = 'openapi-explorer/dist/browser/openapi-explorer.min.js'

/** The script that shows an OpenAPI document. */
export function readDocsViewer(): Buffer {
  return readFileSync(existsSync(BUILT) ? BUILT : createRequire(import.meta.url).resolve(PACKAGED))
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import wabt from 'wabt'

/**
 * Rebuilds `src/compute/analyses/correlation/scratch-wasm.ts` from the text beside it:
 * `node_modules/.bin/tsx test/golden/compile-scratch.ts`. The artefact is committed, so that only its test
 * needs an assembler; `product-kernel.test.ts` holds it to this.
 */
const folder = join(import.meta.dirname, '../../src/compute/analyses/correlation')

/** The bytes of the module. */
export async function assembleScratch(): Promise<Uint8Array> {
  const { parseWat } = await wabt()
  const text = readFileSync(join(folder, 'scratch.wat'), 'utf8')
  const module = parseWat('scratch.wat', text, { simd: true })
  try {
    return module.toBinary({}).buffer
  } finally {
    module.destroy()
  }
}

/** The artefact as it must lie in the repository. */
function artefact(bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,92}/g) ?? []
  const text = lines.map((line, at) => `${at === 0 ? '' : '  '}'${line}'`).join(' +\n')
  return `/** \`scratch.wat\`, assembled by \`test/golden/compile-scratch.ts\`; base64. */\nexport const scratchWasm =\n  ${text}\n`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  writeFileSync(join(folder, 'scratch-wasm.ts'), artefact(await assembleScratch()))

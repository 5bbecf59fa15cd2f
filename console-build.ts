/** Bundles the console for browsers: hashed files and the page that names them, compressed in advance. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Metafile } from 'esbuild'
import { build } from 'esbuild'
import { brotli } from './brotli.ts'

const SOURCE = 'src/console'
/** Where the service serves the files; `CONSOLE_PATH` of `src/api/console/console-page.ts`. */
const SERVED_AT = '/console'

/** Writes all files into a folder. @returns what was bundled */
export async function buildConsole(folder: string): Promise<Metafile> {
  const { metafile, outputFiles } = await build({
    entryPoints: [`${SOURCE}/main.tsx`],
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    // Browsers of the last three years.
    target: ['chrome115', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'linked',
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  mkdirSync(folder, { recursive: true })
  const files = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }))
  const named = (pattern: RegExp) =>
    `${SERVED_AT}/${files.find(({ name }) => pattern.test(name))?.name}`
  const page = readFileSync(`${SOURCE}/page.html`, 'utf8')
    .replace('{style}', named(/^main-.*\.css$/))
    .replace('{script}', named(/^main-.*\.js$/))
  for (const { name, contents } of [...files, { name: 'page.html', contents: Buffer.from(page) }]) {
    // Notices are in THIRD-PARTY-NOTICES.txt.
    if (name.endsWith('.LEGAL.txt')) continue
    writeFileSync(join(folder, `${name}.br`), brotli(contents))
  }
  return metafile
}

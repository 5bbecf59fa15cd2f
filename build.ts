/**
 * Bundles what `npm run build` starts the service from over what `tsc` has emitted: 1,500 small files take Node
 * seconds to load. The client and the demo stay as `tsc` emitted them. The licences of what is bundled are put beside it.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Metafile } from 'esbuild'
import { build } from 'esbuild'
import { shipped } from './shipped.ts'

const OUT = 'dist'
/** What several commands share. One folder deep, as are the modules that look for a file beside theirs. */
const CHUNKS = 'chunks'

const { metafile, outputFiles } = await build({
  // Whatever is started by its path. The other commands are chunks, and `serve` finds the engine beside it.
  entryPoints: ['cli', 'roles/serve', 'roles/engine-thread', 'workers/market-worker'].map(
    (name) => `src/${name}.ts`,
  ),
  outbase: 'src',
  outdir: OUT,
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  ...shipped,
  splitting: true,
  legalComments: 'linked',
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  write: false,
  logLevel: 'warning',
})

checkPlaces(metafile)
// Each build names them anew.
rmSync(`${OUT}/${CHUNKS}`, { recursive: true, force: true })
for (const { path, contents } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}

// `tsc` leaves JavaScript where it is.
copyFileSync('src/node-version.cjs', `${OUT}/node-version.cjs`)
/** The script of `/docs`, as its makers bundled it: `src/api/docs-viewer.ts` reads it there. */
const VIEWER = 'node_modules/openapi-explorer'
mkdirSync(`${OUT}/viewer`, { recursive: true })
copyFileSync(
  `${VIEWER}/dist/browser/openapi-explorer.min.js`,
  `${OUT}/viewer/openapi-explorer.min.js`,
)

writeFileSync(`${OUT}/THIRD-PARTY-NOTICES.txt`, notices(metafile))

/** Their licences ask that whoever passes their code on says whose it is. */
function notices({ inputs }: Metafile): string {
  const packages = Object.keys(inputs).filter((path) => path.startsWith('node_modules/'))
  const folders = new Set([...packages.map(packageFolder), ...withDependencies(VIEWER)])
  return Array.from(folders)
    .toSorted()
    .map((folder) => {
      const { name, version, license } = manifest(folder)
      const texts = readdirSync(folder)
        .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
        .map((file) => readFileSync(join(folder, file), 'utf8').trim())
      return [`${name} ${version} (${license})`, ...texts].join('\n\n')
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
}

/** A package and all that it may have bundled. */
function withDependencies(folder: string, found = new Set<string>()): Set<string> {
  if (found.has(folder)) return found
  found.add(folder)
  for (const name of Object.keys(manifest(folder).dependencies ?? {})) {
    const nested = join(folder, 'node_modules', name)
    withDependencies(existsSync(nested) ? nested : join('node_modules', name), found)
  }
  return found
}

/** The package that a file is part of: not every folder with a manifest is one. */
function packageFolder(path: string): string {
  const folder = dirname(path)
  const isPackage = existsSync(join(folder, 'package.json')) && 'version' in manifest(folder)
  return isPackage ? folder : packageFolder(folder)
}

type Manifest = {
  readonly name?: string
  readonly version?: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** A file that a module finds from its own place has to be the same from where the bundle has put the module. */
function checkPlaces({ outputs }: Metafile): void {
  for (const [output, { inputs }] of Object.entries(outputs)) {
    for (const input of Object.keys(inputs).filter((path) => path.startsWith('src/'))) {
      const emitted = input.replace(/^src/, OUT)
      const code = readFileSync(input, 'utf8').replaceAll('createRequire(import.meta.url)', '')
      const places = [
        ...code.matchAll(
          /new URL\('(.+)', import\.meta\.url\)|join\(import\.meta\.dirname, '(.+)'\)/g,
        ),
      ]
      const isMoved = places.some(
        ([, url, path]) =>
          resolve(dirname(emitted), url ?? path ?? '') !==
          resolve(dirname(output), url ?? path ?? ''),
      )
      if (isMoved || places.length !== code.split('import.meta').length - 1)
        throw new Error(
          `${input} is in ${output}, and may not find the files that it looks for there`,
        )
    }
  }
}

/**
 * Bundles what is shipped: the service with its commands (1,500 small files take Node seconds to load), the client, and
 * the native library of signatures. The licences of what is bundled are put beside it.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
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
import { brotli } from './brotli.ts'
import { clientTypes } from './client-types.ts'
import { buildConsole } from './console-build.ts'
import type { LockedPackages } from './sbom.ts'
import { sbomOf } from './sbom.ts'
import { shipped } from './shipped.ts'

const OUT = 'dist'
/** What several commands share. One folder deep, as are the modules that look for a file beside theirs. */
const CHUNKS = 'chunks'
/** `tsc -p tsconfig.build.json` emits there. */
const EMITTED_TYPES = 'node_modules/.cache/perpscope/types/client'
const SECP256K1 = 'node_modules/secp256k1'
/** Others verify signatures by WebAssembly. The file for Windows would be a twentieth of the tarball. */
const SECP256K1_PLATFORMS = ['linux-x64', 'darwin-arm64']
/** The script of `/docs`, as its makers bundled it: `src/roles/docs-viewer.ts` reads it in `viewer`. */
const VIEWER = 'node_modules/openapi-explorer'

const lock: LockedPackages = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages

const service = await build({
  // Whatever is started by its path. The other commands are chunks, and `serve` finds the engine beside it.
  entryPoints: [
    'cli',
    'roles/serve',
    'roles/engine-thread',
    'store/wal-checkpoint-worker',
    'workers/market-worker',
  ].map((name) => `src/${name}.ts`),
  outbase: 'src',
  outdir: OUT,
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  ...shipped,
  splitting: true,
  // THIRD-PARTY-NOTICES.txt has the licences. A letter outside ASCII, as in a name, doubles a source of a million characters.
  legalComments: 'none',
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  write: false,
  logLevel: 'warning',
})

/** Asks for the version of Node before anything else is loaded, so it is by itself, in the syntax of Node 12. */
const entry = await build({
  entryPoints: ['src/main.ts'],
  outdir: OUT,
  bundle: true,
  plugins: [
    {
      name: 'beside it',
      setup({ onResolve }) {
        const [external, filter] = [true, /^\.\/(cli\.ts|node-version\.cjs)$/]
        onResolve({ filter }, ({ path }) => ({ path: path.replace(/\.ts$/, '.js'), external }))
      },
    },
  ],
  platform: 'node',
  format: 'esm',
  target: 'node12.20',
  metafile: true,
  write: false,
  logLevel: 'warning',
})

/** For browsers too, so nothing of Node and no package. */
const client = await build({
  entryPoints: ['src/client/client.ts'],
  outdir: `${OUT}/client`,
  bundle: true,
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  metafile: true,
  write: false,
  logLevel: 'warning',
})

/** The package has an install script, and brings an implementation in JavaScript that is never used here. */
const secp256k1 = await build({
  entryPoints: [`${SECP256K1}/bindings.js`],
  outfile: `${OUT}/secp256k1/secp256k1.cjs`,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: shipped.target,
  metafile: true,
  write: false,
  logLevel: 'warning',
})

const bundles = [entry, service, client, secp256k1]
checkPlaces(service.metafile)
rmSync(OUT, { recursive: true, force: true })
for (const { path, contents } of bundles.flatMap(({ outputFiles }) => outputFiles)) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}
// npm does so where it installs the package, and not in a checkout, where `npx perpscope` starts the same file.
chmodSync(`${OUT}/main.js`, 0o755)
for (const [name, text] of await clientTypes(EMITTED_TYPES))
  writeFileSync(`${OUT}/client/${name}`, text)
for (const platform of SECP256K1_PLATFORMS)
  cpSync(`${SECP256K1}/prebuilds/${platform}`, `${OUT}/secp256k1/prebuilds/${platform}`, {
    recursive: true,
  })
copyFileSync('src/node-version.cjs', `${OUT}/node-version.cjs`)
mkdirSync(`${OUT}/viewer`)
writeFileSync(
  `${OUT}/viewer/openapi-explorer.min.js.br`,
  brotli(readFileSync(`${VIEWER}/dist/browser/openapi-explorer.min.js`)),
)

const console = await buildConsole(`${OUT}/console`)

const bundled = bundledFolders([...bundles.map(({ metafile }) => metafile), console])
writeFileSync(`${OUT}/THIRD-PARTY-NOTICES.txt`, notices(bundled))
writeFileSync(
  `${OUT}/sbom.cdx.json`,
  JSON.stringify(
    sbomOf({
      manifest: JSON.parse(readFileSync('package.json', 'utf8')),
      lock,
      bundled,
      licenceOf: (path) => manifest(path).license ?? 'NOASSERTION',
    }),
    null,
    1,
  ),
)

/** Folders of the packages whose code is in the bundles. */
function bundledFolders(
  metafiles: readonly { readonly inputs: Readonly<Record<string, unknown>> }[],
): readonly string[] {
  const packages = metafiles
    .flatMap(({ inputs }) => Object.keys(inputs))
    .filter((path) => path.startsWith('node_modules/'))
  return [...new Set([...packages.map(packageFolder), ...withDependencies(VIEWER)])].toSorted()
}

/** Their licences ask that whoever passes their code on says whose it is. Packages with the same text share it. */
function notices(folders: readonly string[]): string {
  const packagesByText = new Map<string, string[]>()
  for (const folder of folders) {
    const { name, version, license } = manifest(folder)
    const text = readdirSync(folder)
      .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8').trim())
      .join('\n\n')
    const packages = packagesByText.get(text) ?? []
    packagesByText.set(text, [...packages, `${name} ${version} (${license})`])
  }
  // Texts of one licence have much the same length, and what stands together is packed together: a third of the bytes.
  return [...packagesByText]
    .toSorted(([one], [other]) => one.length - other.length)
    .map(([text, packages]) => `${packages.join('\n')}\n\n${text}`)
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
  return folder in lock ? folder : packageFolder(folder)
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

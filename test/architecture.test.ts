import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

const SRC = join(import.meta.dirname, '../src')

/** Who may import whom, and which packages. This table is the architecture; docs/architecture.md quotes it. */
const layers: Readonly<
  Record<string, { readonly folders: readonly string[]; readonly packages: readonly string[] }>
> = {
  domain: { folders: [], packages: ['typebox', 'node:zlib'] },
  compute: { folders: ['domain'], packages: ['typebox', 'node:assert', 'node:crypto'] },
  streams: {
    folders: ['domain'],
    packages: ['rxjs', 'ws', 'undici', 'viem', '@solana/addresses', 'node:assert', 'node:zlib'],
  },
  store: {
    folders: ['domain'],
    packages: [
      'better-sqlite3',
      'csv-parse',
      'node:crypto',
      'node:fs',
      'node:path',
      'node:buffer',
      'node:worker_threads',
      'node:zlib',
    ],
  },
  workers: { folders: ['domain', 'compute'], packages: ['node:process'] },
  link: { folders: ['domain'], packages: ['@redis/client', 'node:zlib'] },
  engine: {
    folders: ['domain', 'compute', 'streams', 'store', 'link'],
    packages: ['pino', 'rxjs', 'node:crypto', 'node:path', 'node:zlib'],
  },
  payment: {
    folders: ['domain'],
    packages: [
      'fastify',
      'viem',
      '@solana/addresses',
      '@solana/codecs-strings',
      '@solana/keys',
      '@x402/core',
      '@x402/evm',
      'better-sqlite3',
      'pg',
      'rate-limiter-flexible',
      'secp256k1',
      'tiny-secp256k1',
      'node:assert',
      'node:crypto',
      'node:fs',
      'node:http',
      'node:module',
      'node:net',
      'node:path',
    ],
  },
  api: {
    folders: ['domain', 'link', 'payment'],
    packages: [
      'fastify',
      '@fastify',
      'negotiator',
      'typebox',
      'prom-client',
      '@a2a-js/sdk',
      '@modelcontextprotocol/server',
      '@x402/core',
      'node:assert',
      'node:crypto',
      'node:http',
      'node:net',
      'node:util',
      'node:zlib',
    ],
  },
  simulator: {
    folders: ['domain'],
    packages: [
      'ws',
      'viem',
      '@solana/kit',
      'litesvm',
      'node:assert',
      'node:child_process',
      'node:fs',
      'node:http',
      'node:module',
      'node:net',
      'node:path',
      'node:readline',
      'node:stream',
      'node:url',
      'node:zlib',
    ],
  },
  client: { folders: ['domain', 'compute'], packages: ['typebox'] },
  proof: { folders: ['domain', 'client'], packages: ['viem'] },
  console: {
    folders: ['domain', 'client', 'proof'],
    packages: ['preact', '@preact/signals', 'lightweight-charts', 'uplot', 'viem'],
  },
  config: {
    folders: ['domain', 'payment', 'streams'],
    packages: ['commander', '@solana/addresses', 'smol-toml', 'node:fs', 'node:net', 'node:path'],
  },
  roles: { folders: ['*'], packages: ['*'] },
}

const VENUE = 'streams/hyperliquid/'

/** The folders of the venue feed: which others each imports, and which of its files those may import. */
const venueFolders: Readonly<
  Record<string, { readonly imports: readonly string[]; readonly doors?: readonly string[] }>
> = {
  // Decoders without state: every one is a door.
  wire: { imports: [] },
  timing: { imports: ['wire'], doors: ['receive-times.ts'] },
  plausibility: {
    imports: ['wire'],
    doors: ['plausibility.ts', 'universe-cache.ts', 'confirmed-symbols.ts', 'funding-filter.ts'],
  },
  ingest: {
    imports: ['wire', 'timing', 'plausibility'],
    doors: ['arrival.ts', 'ingest.ts', 'coin-monitor.ts', 'feed-event.ts'],
  },
  session: {
    imports: ['wire', 'ingest'],
    doors: ['sockets.ts', 'subscription-plan.ts', 'quarantine.ts'],
  },
  backfill: { imports: ['wire', 'plausibility', 'ingest', 'session'] },
}

/** Ambient time, chance and configuration. Each has its doors, named on the right. */
const ambient: readonly (readonly [RegExp, string, readonly string[]])[] = [
  [
    /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bhrtime\b/,
    'the clock',
    ['src/roles/', 'src/client/platform.ts', 'src/console/'],
  ],
  [/\bMath\.random\b|\brandomBytes\b|\brandomUUID\b/, 'chance', ['src/roles/']],
  [
    /\bset(Timeout|Interval|Immediate)\(|AbortSignal\.timeout\(/,
    'a timer',
    ['src/roles/', 'src/client/platform.ts', 'src/console/'],
  ],
  [/\bprocess\.env\b/, 'the environment', ['src/config/environment.ts']],
]

/** The part of RxJS we use: wiring. Routing, sharing and state belong to named objects. */
const rxjsNames = new Set(
  'Observable Subscription SchedulerLike asyncScheduler MonoTypeOperatorFunction catchError concat concatMap defer EMPTY exhaustMap filter ignoreElements interval map merge mergeMap of retry takeUntil tap throwError timeout timer'.split(
    ' ',
  ),
)

const bannedNames =
  /(^|\/)(utils?|helpers?|common|shared|misc|lib|services|managers)(\/|\.ts$)|(^|\/)index\.ts$/

/** Code that ships. Tests and their support may do what they need. */
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
  .filter((file) => !file.includes('/testing/'))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), 'utf8') }))

describe('architecture', () => {
  test.each(files)('$file respects its layer', ({ file, text }) => {
    const layer = layers[layerOf(file)]
    expect(layer, `${file} is in no known layer`).toBeDefined()
    if (layer === undefined || layer.folders.includes('*')) return
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) {
        const target = layerOf(relative(SRC, join(SRC, dirname(file), specifier)))
        if (target !== layerOf(file))
          expect(layer.folders, `${file} imports ${specifier}`).toContain(target)
      } else {
        expect(
          layer.packages.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
          `${file} imports ${specifier}`,
        ).toBe(true)
      }
    }
  })

  test.each(files)(
    '$file learns time, chance and configuration only from its arguments',
    ({ file, text }) => {
      const code = withoutComments(text)
      for (const [pattern, what, doors] of ambient) {
        if (doors.some((door) => `src/${file}`.startsWith(door))) continue
        expect(pattern.test(code), `${file} reaches for ${what}; only ${doors} may`).toBe(false)
      }
    },
  )

  test.each(files)('$file uses only the wiring half of RxJS', ({ text }) => {
    for (const [, names] of text.matchAll(/import (?:type )?\{([^}]*)\} from 'rxjs'/g)) {
      for (const name of names?.match(/\w+/g) ?? []) {
        if (name !== 'type') expect(rxjsNames, 'see CONTRIBUTING, "RxJS"').toContain(name)
      }
    }
  })

  test.each(files)('$file is named after what it holds', ({ file }) => {
    expect(file).not.toMatch(bannedNames)
  })

  test.each(files)('$file names every module that it loads', ({ file, text }) => {
    const dynamic = withoutComments(text).match(/\bimport\((?!')/)
    expect(dynamic, `${file} imports a computed name, which no layer rule can see`).toBeNull()
  })

  test('no files import each other in a circle, not by types either', () => {
    expect(circlesOf(files)).toEqual([])
  })

  test('the client takes types from the engine, and no code', () => {
    const client = files.filter(({ file }) => layerOf(file) === 'client')
    expect(client).not.toHaveLength(0)
    for (const { file, text } of client)
      for (const [line] of text.matchAll(/^import .* from '\.\.\/(compute|domain)\/.*$/gm))
        expect(line, `${file} loads code`).toMatch(/^import type /)
  })

  test('nobody imports a composition root', () => {
    for (const { file, text } of files) {
      if (layerOf(file) === 'roles') continue
      for (const specifier of importsOf(text))
        expect(specifier, `${file} imports ${specifier}`).not.toContain('/roles/')
    }
  })

  test('what several analyses use knows none of them', () => {
    for (const { file, text } of files) {
      if (!file.startsWith('compute/') || file.startsWith('compute/analyses/')) continue
      for (const specifier of importsOf(text))
        expect(specifier, `${file} imports ${specifier}`).not.toContain('/analyses/')
    }
  })

  test('an analysis imports no other analysis', () => {
    for (const { file, text } of files) {
      const home = /^compute\/analyses\/([^/]+)\//.exec(file)
      if (home === null) continue
      for (const target of targetsOf(file, text))
        if (target.startsWith('compute/analyses/'))
          expect(target, `${file} imports ${target}`).toContain(`compute/analyses/${home[1]}/`)
    }
  })

  test('a folder of the venue feed imports only the folders above it, through their doors', () => {
    for (const { file, text } of files) {
      if (!file.startsWith(VENUE)) continue
      const home = venueFolderOf(file)
      for (const target of targetsOf(file, text)) {
        const folder = venueFolderOf(target)
        if (folder === undefined || folder === home) continue
        if (home !== undefined)
          expect(venueFolders[home]?.imports, `${file} imports ${target}`).toContain(folder)
        const doors = venueFolders[folder]?.doors
        if (doors !== undefined && home !== undefined)
          expect(doors, `${file} imports ${target}`).toContain(target.split('/').at(-1))
      }
    }
  })

  test('every analysis is listed in the registry', () => {
    const registry = readFileSync(join(SRC, 'compute/analyses/registry.ts'), 'utf8')
    for (const entry of readdirSync(join(SRC, 'compute/analyses'), { withFileTypes: true })) {
      if (entry.isDirectory())
        expect(registry, `the registry forgets ${entry.name}`).toContain(`./${entry.name}/`)
    }
  })
})

/** Files that reach each other (Tarjan 1972). */
function circlesOf(all: typeof files): string[][] {
  const targets = new Map(all.map(({ file, text }) => [file, targetsOf(file, text)]))
  const [indexOf, lowOf] = [new Map<string, number>(), new Map<string, number>()]
  const open: string[] = []
  const circles: string[][] = []
  const visit = (file: string) => {
    const index = indexOf.size
    indexOf.set(file, index)
    lowOf.set(file, index)
    open.push(file)
    for (const target of targets.get(file) ?? []) {
      if (!targets.has(target)) continue
      if (!indexOf.has(target)) visit(target)
      const reached = open.includes(target) ? (lowOf.get(target) ?? index) : index
      lowOf.set(file, Math.min(lowOf.get(file) ?? index, reached))
    }
    if (lowOf.get(file) !== index) return
    const circle = open.splice(open.indexOf(file))
    if (circle.length > 1) circles.push(circle)
  }
  for (const file of targets.keys()) if (!indexOf.has(file)) visit(file)
  return circles
}

/** Files of this repository that a file imports. */
function targetsOf(file: string, text: string): string[] {
  return importsOf(text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative(SRC, join(SRC, dirname(file), specifier)))
}

/** undefined for a file that is in none of them. */
function venueFolderOf(file: string): string | undefined {
  return Object.keys(venueFolders).find((folder) => file.startsWith(`${VENUE}${folder}/`))
}

function layerOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '') : 'roles'
}

function importsOf(text: string): string[] {
  const declared = text.matchAll(/^(?:import|export)\b[^'"`;]*?\bfrom '([^']+)'/gm)
  const bare = text.matchAll(/^import '([^']+)'/gm)
  const dynamic = withoutComments(text).matchAll(/\bimport\('([^']+)'\)/g)
  return [...declared, ...bare, ...dynamic].map((match) => match[1] ?? '')
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '')
}

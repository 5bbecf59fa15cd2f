import { execFileSync, spawnSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inheritedEnv } from '../../src/config/environment.ts'

export const ROOT = join(import.meta.dirname, '../..')

type Manifest = {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

export const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest

/** A user's folder: the package from its tarball and only the named other packages. */
export type Installed = {
  readonly folder: string
  readonly main: string
  readonly tarballBytes: number
  /** Size of the installed package that `import` resolves. */
  readonly packageBytes: number
  run(args: readonly string[]): {
    readonly code: number | null
    readonly output: string
    readonly errors: string
  }
  remove(): void
}

/** @param packages are taken from this repository, so that no registry is needed */
export function installed(packages: readonly string[]): Installed {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-installed-'))
  const packed = execFileSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
    { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const { filename, size } = oneOf(JSON.parse(packed))
  const home = join(folder, 'node_modules/perpscope')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['xzf', join(folder, filename), '-C', home, '--strip-components=1'])
  for (const name of packages) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
  const main = join(home, 'dist/main.js')
  return {
    folder,
    main,
    tarballBytes: size,
    packageBytes: bytesOf(home),
    run: (args) => {
      const options = {
        cwd: folder,
        env: inheritedEnv(),
        encoding: 'utf8',
        timeout: 150_000,
      } as const
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
      return { code: status, output: stdout, errors: stderr }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** npm up to 11 prints a list, later versions an object by name. */
function oneOf(packed: unknown): { readonly filename: string; readonly size: number } {
  const [first] = Object.values(packed as object)
  return first
}

export function bytesOf(path: string): number {
  const stat = lstatSync(path)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}

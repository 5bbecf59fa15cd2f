import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inheritedEnv } from '../src/config/environment.ts'
// biome-ignore lint/correctness/useImportExtensions: it is JavaScript
import nodeVersion from '../src/node-version.cjs'

const ROOT = join(import.meta.dirname, '..')
const { engines, scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-node-'))
  // The entry file alone, so that any other import fails.
  cpSync(join(ROOT, 'dist/main.js'), join(folder, 'dist/main.js'))
  cpSync(join(ROOT, 'dist/node-version.cjs'), join(folder, 'dist/node-version.cjs'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
})

afterAll(() => rmSync(folder, { recursive: true }))

const { refusalOf } = nodeVersion

test.each(['22.13.0', '22.23.3', '24.0.0', '26.12.1', '100.0.0'])('Node %s will do', (version) => {
  expect(refusalOf(version)).toBeNull()
})

test.each(['12.22.12', '20.20.2', '21.7.3', '22.0.0', '22.12.0'])(
  'Node %s is refused',
  (version) => {
    expect(refusalOf(version)).toContain('perpscope needs Node 22.13 or later, and ')
    expect(refusalOf(version)).toContain(` is Node ${version}.`)
  },
)

test('the checked version is that of the package', () => {
  const lowest = engines.node.replace('>=', '')
  const [major, minor] = lowest.split('.').map(Number)
  expect(refusalOf(`${lowest}.0`)).toBeNull()
  expect(refusalOf(`${major}.${minor - 1}.9`)).not.toBeNull()
})

test.each(['dist/main.js', 'dist/node-version.cjs'])('%s is in a syntax of 2018', (file) => {
  const code = readFileSync(join(ROOT, file), 'utf8')
  expect(transformSync(code, { target: 'es2018' }).code).toBe(transformSync(code).code)
})

test('every script that starts the service checks the version before it builds', () => {
  expect(scripts.build).toMatch(/^node src\/node-version\.cjs && /)
  const starting = Object.entries<string>(scripts).filter(([, line]) =>
    line.includes('dist/main.js'),
  )
  expect(starting.map(([name]) => name)).toEqual(['demo', 'start'])
  for (const [name, line] of starting)
    expect(line, name).toMatch(/^npm run --silent build && node /)
})

type Run = { readonly code: number | null; readonly output: string; readonly errors: string }

function run(program: string, args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(program, args, (_, output, errors) =>
      resolve({ code: child.exitCode, output, errors }),
    )
  })
}

describe('on a Node that says it is older', () => {
  const pretending = (version: string) => {
    const preload = join(folder, `${version}.cjs`)
    writeFileSync(
      preload,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`,
    )
    return run(process.execPath, ['--require', preload, join(folder, 'dist/main.js'), 'serve'])
  }

  test('perpscope reports it in one sentence, exits with 78, and loads nothing else', async () => {
    expect(await pretending('20.20.2')).toEqual({
      code: 78,
      output: '',
      errors: `${String(refusalOf('20.20.2'))}\n`,
    })
  })

  test('a version that is new enough continues', async () => {
    const { errors } = await pretending('22.13.0')
    expect(errors).toContain('ERR_MODULE_NOT_FOUND')
    expect(errors).toContain('cli.js')
  })
})

/** The first on the path that is none of this repository's, and its version. */
function nodeOfTheMachine() {
  const { PATH = '' } = inheritedEnv()
  for (const place of PATH.split(delimiter).filter((path) => !path.includes('node_modules'))) {
    const { status, stdout } = spawnSync(join(place, 'node'), ['--version'], { encoding: 'utf8' })
    if (status === 0) return { program: join(place, 'node'), version: stdout.trim().slice(1) }
  }
  return null
}

const machine = nodeOfTheMachine()
const isOlder = machine !== null && refusalOf(machine.version) !== null

describe.skipIf(!isOlder)(`on Node ${machine?.version} of this machine, if it is too old`, () => {
  test.each(['dist/main.js', 'src/node-version.cjs'])('%s says so and exits 78', async (file) => {
    const { code, output, errors } = await run(machine?.program ?? '', [join(ROOT, file), 'serve'])
    expect({ code, output }).toEqual({ code: 78, output: '' })
    expect(errors).toMatch(/^perpscope needs Node 22\.13 or later, and .* is Node .*\.\n$/)
    expect(errors).toContain(` is Node ${machine?.version}.`)
  })
})

import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { end } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { runCommand, runScript, until } from './support/service.ts'

const ROOT = join(import.meta.dirname, '..')
const MAIN = join(ROOT, 'dist/main.js')
/** An address without a venue: the engine waits for its market. */
const NO_VENUE = ['--source', 'http://127.0.0.1:1/info', '--outside', 'off']
const PAID = [
  ...['--pay-to', '0xd8da6bf26964af9d7eed9e03e53415d37aa96045', '--outcome-node', 'off'],
  ...['--facilitator-url', 'http://127.0.0.1:1'],
]

let folder: string
let dataDir: string
const running: ChildProcess[] = []

function newFolder(): void {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-one-'))
  dataDir = join(folder, 'data')
}

async function removeFolder(): Promise<void> {
  for (const child of running.splice(0)) await end(child)
  rmSync(folder, { recursive: true })
}

async function serveFlags(directory = dataDir): Promise<readonly string[]> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const ports = ['--port', String(port), '--admin-port', String(adminPort)]
  return ['serve', ...NO_VENUE, '--data-dir', directory, ...ports]
}

type Logged = { readonly msg: string; readonly reason?: string }

/** Starts a service. @returns its log */
async function started(...flags: string[]): Promise<readonly Logged[]> {
  const args = [...(await serveFlags()), '--log-level', 'info', ...flags]
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  running.push(child)
  const logged: Logged[] = []
  createInterface({ input: child.stderr }).on('line', (line) => logged.push(JSON.parse(line)))
  await until('it is up', async () => logged.some(({ msg }) => msg.endsWith(' is up')))
  return logged
}

describe('a data directory is one process’s', () => {
  beforeAll(async () => {
    newFolder()
    await started('--payment', 'open')
  })

  afterAll(removeFolder)

  test.each([
    ['that gives its answers away', ['--payment', 'open']],
    ['that is paid', PAID],
  ])('a second service %s ends, and says which directory is in use', async (_, flags) => {
    const { code, output, errors } = await runCommand([...(await serveFlags()), ...flags])
    expect(errors).toBe(
      `perpscope: another process (perpscope serve, record or restore) uses ${dataDir}: ` +
        'end it first, or give another --data-dir',
    )
    expect({ code, output }).toEqual({ code: 1, output: '' })
  })

  test('so does a recorder, before it creates a file', async () => {
    const before = readdirSync(folder)
    const out = join(folder, 'day.plog')
    const { code, errors } = await runCommand([
      'record',
      ...NO_VENUE,
      '--data-dir',
      dataDir,
      '--out',
      out,
    ])
    expect(errors).toContain(`uses ${dataDir}: end it first`)
    expect(code).toBe(1)
    expect(readdirSync(folder)).toEqual(before)
  })

  test('a restore is refused before the service has a file that it holds', async () => {
    const backup = join(folder, 'backup')
    await until('there is something to back up', async () =>
      readdirSync(dataDir).includes('engine.db'),
    )
    expect((await runCommand(['backup', backup, '--data-dir', dataDir])).code).toBe(0)
    const { code, errors } = await runCommand(['restore', backup, '--data-dir', dataDir])
    expect(errors).toContain(`uses ${dataDir}: end it first`)
    expect(code).toBe(1)
  })

  test('one that was killed leaves it to the next', async () => {
    for (const child of running.splice(0)) await end(child, 'SIGKILL')
    await started('--payment', 'open')
  })
})

// At once, because each waits for locks.
describe.concurrent('a file that another program holds', () => {
  beforeAll(newFolder)
  afterAll(removeFolder)

  test('an engine whose file another program holds reports it, and continues when it is free', async () => {
    mkdirSync(dataDir)
    const holder = new Database(join(dataDir, 'engine.db'))
    holder.exec('BEGIN EXCLUSIVE')
    const logged = await started('--payment', 'open')
    await until('the engine has failed', async () => logged.some(({ reason }) => reason))
    expect(logged.find(({ reason }) => reason)?.reason).toBe(
      `the checkpoint ${dataDir}/engine.db is held by another program: database is locked (code 1)`,
    )
    holder.close()
    await until('it begins its files', async () => readdirSync(dataDir).includes('history.db'))
  })

  test('a ledger that another program holds is not reported as damaged', async () => {
    const directory = join(folder, 'paid')
    mkdirSync(directory)
    const holder = new Database(join(directory, 'ledger.db'))
    holder.exec('BEGIN EXCLUSIVE')
    const { code, errors } = await runCommand([...(await serveFlags(directory)), ...PAID])
    holder.close()
    expect(errors).toBe(
      `perpscope: the payment ledger ${directory}/ledger.db is locked by another program: database is locked`,
    )
    expect(code).toBe(1)
  })
})

describe('without a loadable binding of SQLite', () => {
  let main: string

  beforeAll(() => {
    newFolder()
    main = broken()
  })

  afterAll(removeFolder)

  afterEach(() => rmSync(dataDir, { recursive: true }))

  /** A separate installation whose binding is for another machine. */
  const broken = () => {
    const place = join(folder, 'perpscope')
    const modules = join(place, 'node_modules')
    mkdirSync(modules, { recursive: true })
    cpSync(join(ROOT, 'dist'), join(place, 'dist'), { recursive: true })
    cpSync(join(ROOT, 'package.json'), join(place, 'package.json'))
    for (const name of readdirSync(join(ROOT, 'node_modules')))
      if (name !== 'better-sqlite3')
        symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
    const sqlite = join(modules, 'better-sqlite3')
    cpSync(join(ROOT, 'node_modules/better-sqlite3/lib'), join(sqlite, 'lib'), { recursive: true })
    cpSync(join(ROOT, 'node_modules/better-sqlite3/package.json'), join(sqlite, 'package.json'))
    mkdirSync(join(sqlite, 'build/Release'), { recursive: true })
    writeFileSync(join(sqlite, 'build/Release/better_sqlite3.node'), 'of another machine')
    return join(place, 'dist/main.js')
  }
  const reason =
    /SQLite cannot be loaded on this machine \(.*better_sqlite3\.node.*\): reinstall the packages/

  test('every command that needs it reports that, exits with 78 and changes no file', async () => {
    const ledger = Buffer.from('what was sold')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'ledger.db'), ledger)
    const out = join(folder, 'day.plog')
    const commands = [
      [...(await serveFlags()), '--payment', 'open'],
      [...(await serveFlags()), ...PAID],
      ['record', ...NO_VENUE, '--data-dir', dataDir, '--out', out],
      ['ledger', '--data-dir', dataDir],
      ['backup', join(folder, 'backup'), '--data-dir', dataDir],
      ['restore', folder, '--data-dir', dataDir],
    ]
    await Promise.all(
      commands.map(async (args) => {
        const { code, output, errors } = await runScript(main, args)
        expect(errors, args.join(' ')).toMatch(reason)
        expect(errors.split('\n'), args.join(' ')).toHaveLength(1)
        expect({ code, output }, args.join(' ')).toEqual({ code: 78, output: '' })
      }),
    )
    expect(readdirSync(folder).toSorted()).toEqual(['data', 'perpscope'])
    expect(readdirSync(dataDir)).toEqual(['ledger.db'])
    expect(readFileSync(join(dataDir, 'ledger.db'))).toEqual(ledger)
  })

  test('the doctor finds that, and nothing wrong with the files', async () => {
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'ledger.db'), 'what was sold')
    const [, ...flags] = await serveFlags()
    const { code, output } = await runScript(main, ['doctor', ...flags, ...PAID, '--json'])
    const { checks } = JSON.parse(output) as { checks: { check: string; found: string }[] }
    expect(checks.find(({ check }) => check === 'SQLite')?.found).toMatch(/^cannot be loaded/)
    expect(checks.map(({ check }) => check)).not.toContain('ledger')
    expect(code).toBe(1)
  })
})

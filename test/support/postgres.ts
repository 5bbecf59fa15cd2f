import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inheritedEnv } from '../../src/config/environment.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'

const DEBIAN = '/usr/lib/postgresql'
const folders = [
  ...(existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin')) : []),
  ...(inheritedEnv()['PATH'] ?? '').split(':'),
]
const bin = folders.find((folder) => existsSync(join(folder, 'initdb')))

/** Tests of a real server skip where its binaries are absent (Debian: the package `postgresql`). */
export const hasPostgres = bin !== undefined

/** An own server on a free loopback port, in a temporary folder. */
export type PostgresServer = {
  readonly port: number
  /** Of the process that accepts connections; its children serve them. */
  pid(): number
  /** A new empty database. @returns its URL */
  createDatabase(): Promise<string>
  /** Ends the server as a crash does: clients lose their connections, committed rows stay. */
  crash(): Promise<void>
  /** After a crash, on the same port; does nothing while it runs. */
  start(): Promise<void>
  /** Stops or resumes the process that accepts connections. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  close(): Promise<void>
}

let ofWorker: Promise<PostgresServer> | null = null

/**
 * One server for all test files of a worker, which ends with it: a new one costs more than most tests. Each test takes a
 * database of its own, and a file that ends the server is followed by a new start.
 */
export async function postgresOfWorker(): Promise<PostgresServer> {
  ofWorker ??= startPostgres()
  const server = await ofWorker
  await server.start()
  return server
}

/** @param isDurable whether rows survive a crash of the machine, at the cost of time; a crash of the server they always do */
export async function startPostgres({ isDurable = false } = {}): Promise<PostgresServer> {
  if (bin === undefined) throw new Error('checked: `hasPostgres`')
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-postgres-'))
  const user = userOf(folder)
  const data = join(folder, 'data')
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const port = await freePort()
  const settings = {
    fsync: isDurable ? 'on' : 'off',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: '16MB',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let child: ChildProcess | null = null
  let databases = 0
  const remove = () => {
    child?.kill('SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', remove)

  async function start(): Promise<void> {
    if (child !== null) return
    child = spawn(join(bin ?? '', 'postgres'), ['-D', data, '-p', String(port), ...args], {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let log = ''
    child.stderr?.on('data', (bytes: Buffer) => {
      log = `${log}${bytes.toString()}`.slice(-2_000)
    })
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended: ${log}`)
    }
  }

  async function crash(): Promise<void> {
    if (child === null || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGQUIT')
    await ended
    child = null
  }

  await start()
  return {
    port,
    pid: () => {
      if (child?.pid === undefined) throw new Error('the server was started')
      return child.pid
    },
    createDatabase: async () => {
      databases += 1
      const name = `test_${databases}`
      // By copied files: half the time of the default, which logs every page.
      await inDatabase(urlOf(port, 'postgres'), `CREATE DATABASE ${name} STRATEGY FILE_COPY`)
      return urlOf(port, name)
    },
    crash,
    start,
    signal: (signal) => child?.kill(signal),
    close: async () => {
      await crash()
      process.off('exit', remove)
      remove()
    },
  }
}

/** Removes what tests create in a database. A new database costs several times as much. */
export async function emptyDatabase(url: string): Promise<void> {
  await inDatabase(url, 'DROP SCHEMA IF EXISTS perpscope, public CASCADE; CREATE SCHEMA public')
}

/** The server refuses to run as root, so it runs as the user of its package. */
function userOf(folder: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })),
  )
  chownSync(folder, uid, gid)
  return { uid, gid }
}

async function answers(port: number): Promise<boolean> {
  try {
    await inDatabase(urlOf(port, 'postgres'), 'SELECT 1')
    return true
  } catch {
    return new Promise((resolve) => setTimeout(() => resolve(false), 20))
  }
}

/** Runs one statement on a connection of its own. */
export async function inDatabase(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function urlOf(port: number, database: string): string {
  return `postgres://postgres@127.0.0.1:${port}/${database}`
}

import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { programFolders } from '../../config/environment.ts'
import type { Child, ProgramUser } from '../child-process.ts'
import { startProgram } from '../child-process.ts'
import { freePort } from './free-port.ts'

/** A server on loopback with a temporary folder of its own, which `stop` removes. */
export type LocalServer = Child & { readonly url: string }

export type ServerPrograms = {
  readonly broker: string
  readonly initdb: string
  readonly postgres: string
}

/** Where Debian keeps the programs of each PostgreSQL version, outside the path. */
const DEBIAN_POSTGRES = '/usr/lib/postgresql'

/** @throws ConfigError naming the packages of the programs that are missing */
export function serverPrograms(): ServerPrograms {
  const broker = programOf('valkey-server') ?? programOf('redis-server')
  const initdb = programOf('initdb')
  const postgres = programOf('postgres')
  if (broker !== null && initdb !== null && postgres !== null) return { broker, initdb, postgres }
  const missing = [
    ...(broker === null ? ['valkey-server or redis-server (Debian: redis-server)'] : []),
    ...(initdb === null || postgres === null ? ['PostgreSQL (Debian: postgresql)'] : []),
  ]
  throw new ConfigError(
    `The demo of several processes needs programs that are not installed: ${missing.join(', and ')}. Nothing was started.`,
  )
}

/** A broker that keeps nothing on disk. */
export async function startLocalBroker({ broker }: ServerPrograms): Promise<LocalServer> {
  const port = await freePort()
  return inFolder({}, (folder) => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
    const started = startProgram(
      broker,
      [...args, '--save', '', '--appendonly', 'no'],
      'Ready to accept connections',
    )
    return { started, url: `redis://127.0.0.1:${port}` }
  })
}

/** An empty PostgreSQL that trusts every user of this machine. */
export async function startLocalPostgres(programs: ServerPrograms): Promise<LocalServer> {
  const port = await freePort()
  const user = unprivilegedUser()
  return inFolder(user, (folder) => {
    const data = join(folder, 'data')
    execFileSync(
      programs.initdb,
      ['-D', data, '-U', 'perpscope', '-A', 'trust', '-E', 'UTF8', '--locale=C'],
      { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const started = startProgram(
      programs.postgres,
      ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''],
      'database system is ready to accept connections',
      user,
    )
    return { started, url: `postgres://perpscope@127.0.0.1:${port}/postgres` }
  })
}

async function inFolder(
  { uid, gid }: ProgramUser,
  start: (folder: string) => { readonly started: Promise<Child>; readonly url: string },
): Promise<LocalServer> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-server-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
    const { started, url } = start(folder)
    const child = await started
    return {
      url,
      stop: async () => {
        await child.stop()
        await remove()
      },
    }
  } catch (cause) {
    await remove()
    throw cause
  }
}

/** PostgreSQL refuses to run as root, so it runs as the user of its package. */
function unprivilegedUser(): ProgramUser {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })),
  )
  if (uid === undefined || gid === undefined) throw new Error('there are two')
  return { uid, gid }
}

function programOf(name: string): string | null {
  const versions = existsSync(DEBIAN_POSTGRES) ? readdirSync(DEBIAN_POSTGRES) : []
  const folders = [
    ...versions
      .sort()
      .reverse()
      .map((version) => join(DEBIAN_POSTGRES, version, 'bin')),
    ...programFolders(),
  ]
  const folder = folders.find((candidate) => existsSync(join(candidate, name)))
  return folder === undefined ? null : join(folder, name)
}

import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { inheritedEnv } from '../../src/config/environment.ts'
import { end } from '../../src/roles/child-process.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'

/** The installed server, or null; tests skip without one (`test.skipIf(redisBinary === null)`). */
export const redisBinary = installedServer()

/** A server of the test's own, on loopback, that keeps nothing on disk. */
export type RedisServer = {
  readonly url: string
  readonly port: number
  /** Stops or resumes it, with everything that it stores. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** After `kill`, on the same port and empty; does nothing while it runs. */
  start(): Promise<void>
  /** Ends it by SIGKILL. */
  kill(): Promise<void>
  /** Ends it and removes its folder, also after a failure. */
  close(): Promise<void>
}

/** @param settings further lines of the server's configuration, such as `['maxmemory 1mb']` */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  if (redisBinary === null) throw new Error('neither valkey-server nor redis-server is installed')
  const binary = redisBinary
  const dir = await mkdtemp(join(tmpdir(), 'perpscope-redis-'))
  const port = await freePort()
  let server: ChildProcess | null = null
  const start = async () => {
    if (server !== null) return
    server = launch(binary, dir, port, settings)
    await accepting(server)
  }
  const kill = async () => {
    if (server !== null) await end(server, 'SIGKILL')
    server = null
  }
  const signal = (name: 'SIGSTOP' | 'SIGCONT') => server?.kill(name)
  const close = async () => {
    await kill()
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await start()
  } catch (cause) {
    await close()
    throw cause
  }
  return { url: `redis://127.0.0.1:${port}`, port, signal, start, kill, close }
}

function launch(
  binary: string,
  dir: string,
  port: number,
  settings: readonly string[],
): ChildProcess {
  const server = spawn(binary, ['-'], { cwd: dir, stdio: 'pipe', env: inheritedEnv() })
  server.stdin?.end(
    [`bind 127.0.0.1`, `port ${port}`, 'save ""', 'appendonly no', ...settings, ''].join('\n'),
  )
  const killAtExit = () => server.kill('SIGKILL')
  process.once('exit', killAtExit)
  server.once('exit', () => process.removeListener('exit', killAtExit))
  return server
}

function accepting(server: ChildProcess): Promise<void> {
  const lines: string[] = []
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`the server ended:\n${lines.join('\n')}`)))
    // Read to the end, because a full pipe would block the server.
    createInterface({ input: server.stdout ?? process.stdin }).on('line', (line) => {
      if (lines.length < 100) lines.push(line)
      if (line.includes('Ready to accept connections')) resolve()
    })
    server.stderr?.resume()
  })
}

function installedServer(): string | null {
  const folders = (inheritedEnv()['PATH'] ?? '').split(delimiter)
  for (const name of ['valkey-server', 'redis-server'])
    for (const folder of folders) {
      const path = join(folder, name)
      if (isExecutable(path)) return path
    }
  return null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

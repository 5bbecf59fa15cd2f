import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { inheritedEnv } from '../../src/config.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const DEMO = join(import.meta.dirname, '../../dist/roles/demo.js')
const POLL_MS = 50
const READY_MS_MAX = 45_000

/** System tests work on processes, so they live in real time. */
const realClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs)
    return () => clearInterval(timer)
  },
}

/** The built service with its venue and its chain, each a process of its own. */
export type Rig = {
  readonly chain: EvmChain
  readonly url: string
  readonly adminUrl: string
  readonly adminPort: number
  readonly dataDir: string
  /** Starts the service again after `kill`. */
  start(): Promise<void>
  /** Ends the service by SIGKILL: it learns nothing of it. */
  kill(): Promise<void>
  /** Ends the service as an operator does. @returns its exit code. */
  stop(): Promise<number | null>
  /** Ends everything that was started, also after a failure. */
  close(): Promise<void>
}

export async function startRig(): Promise<Rig> {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run "npm run build" first`)
  const cleanups: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  try {
    const dataDir = await mkdtemp(join(tmpdir(), 'perpscope-test-'))
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
    const chain = await startEvmChain({ clock: realClock })
    cleanups.push(() => chain.close())
    const simulator = run(['simulate', '--weight-per-minute', '60000'], 'pipe')
    cleanups.push(() => end(simulator, 'SIGTERM'))
    const { venue } = JSON.parse(await firstLine(simulator)) as { venue: { http: string } }
    const [port, adminPort] = [await freePort(), await freePort()]
    let service: ChildProcess | null = null
    const rig: Rig = {
      chain,
      url: `http://127.0.0.1:${port}`,
      adminUrl: `http://127.0.0.1:${adminPort}`,
      adminPort,
      dataDir,
      start: async () => {
        service = run(
          [
            'serve',
            ...['--source', venue.http, '--port', String(port), '--admin-port', String(adminPort)],
            ...['--data-dir', dataDir, '--pay-to', chain.accounts.merchant.address],
            ...['--rpc-url', chain.rpcUrl, '--weight-per-minute', '50000'],
            ...['--log-level', 'silent'],
          ],
          'ignore',
          { PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey },
        )
        await until(`${rig.url}/health answers`, async () => (await fetch(`${rig.url}/health`)).ok)
      },
      kill: async () => {
        if (service !== null) await end(service, 'SIGKILL')
      },
      stop: async () => {
        if (service === null) return null
        await end(service, 'SIGTERM')
        return service.exitCode
      },
      close,
    }
    cleanups.push(rig.kill)
    await rig.start()
    return rig
  } catch (cause) {
    await close()
    throw cause
  }
}

/** Resolves when `holds` is true; whatever it throws counts as not yet. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + READY_MS_MAX
  while (Date.now() < deadlineMs) {
    if (await holds().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`within ${READY_MS_MAX / 1000} s it did not become true that ${what}`)
}

export async function untilAnswerable(url: string, coin: string): Promise<void> {
  await until(`${coin} is listed`, async () => {
    const { coins } = (await (await fetch(`${url}/coins`)).json()) as { coins: string[] }
    return coins.includes(coin)
  })
}

export type Ended = {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs one of our commands to its end. */
export function runCommand(args: readonly string[]): Promise<Ended> {
  return runToEnd(MAIN, args)
}

export function runDemo(args: readonly string[]): Promise<Ended> {
  return runToEnd(DEMO, args)
}

async function runToEnd(script: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['--enable-source-maps', script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: inheritedEnv(),
  })
  const [output, errors, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, output, errors }
}

function run(
  args: readonly string[],
  output: 'pipe' | 'ignore',
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, ['--enable-source-maps', MAIN, ...args], {
    stdio: ['ignore', output, 'inherit'],
    env: { ...inheritedEnv(), ...env },
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the output of this child is not read')
  const lines = createInterface({ input: child.stdout })
  return new Promise((resolve, reject) => {
    lines.once('line', resolve)
    child.once('exit', (code) => reject(new Error(`ended with code ${code}`)))
  })
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill(signal)
  await ended
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}

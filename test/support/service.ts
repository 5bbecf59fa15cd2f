import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { inheritedEnv } from '../../src/config/environment.ts'
import type { AnalysisContract } from '../../src/domain/contract.ts'
import { pathOf } from '../../src/domain/contract.ts'
import { end, firstLineOf, launch } from '../../src/roles/child-process.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../../src/simulator/solana/solana-chain.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const POLL_MS = 50
/** For what hangs: a service is ready within 15 s, beside four other jobs within 60. */
const READY_MS_MAX = 120_000

/** The built service with its venue and its chain, each a process of its own. */
export type Rig = {
  readonly chain: EvmChain
  /** Where it was asked for; runs in the process of the test. */
  readonly solana: SolanaChain | null
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

export type RigOptions = {
  /** With a local Solana, on which the service is paid too. */
  readonly solana?: boolean
  /** What `serve` is told beyond the usual. */
  readonly flags?: readonly string[]
}

export async function startRig({
  solana: withSolana = false,
  flags = [],
}: RigOptions = {}): Promise<Rig> {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run "npm run build" first`)
  const cleanups: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  try {
    const dataDir = await mkdtemp(join(tmpdir(), 'perpscope-test-'))
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
    const chain = await startEvmChain({ clock: systemClock })
    cleanups.push(() => chain.close())
    const solana = withSolana ? await startSolanaChain({ clock: systemClock }) : null
    cleanups.push(async () => solana?.close())
    const simulator = launch(
      MAIN,
      ['simulate', '--weight-per-minute', '60000', '--past', dataDir],
      'pipe',
    )
    cleanups.push(() => end(simulator))
    const { venue } = JSON.parse(await firstLineOf(simulator)) as { venue: { http: string } }
    const [port, adminPort] = [await freePort(), await freePort()]
    let service: ChildProcess | null = null
    const rig: Rig = {
      chain,
      solana,
      url: `http://127.0.0.1:${port}`,
      adminUrl: `http://127.0.0.1:${adminPort}`,
      adminPort,
      dataDir,
      start: async () => {
        service = launch(
          MAIN,
          [
            'serve',
            ...['--source', venue.http, '--port', String(port), '--admin-port', String(adminPort)],
            ...['--data-dir', dataDir, '--pay-to', chain.accounts.merchant.address],
            ...['--rpc-url', chain.rpcUrl, '--weight-per-minute', '50000'],
            ...solanaFlags(solana),
            // Tests come from one machine and stand for buyers from many.
            ...['--log-level', 'silent', '--trust-proxy', 'loopback'],
            ...flags,
          ],
          'ignore',
          {
            PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey,
            ...solanaKey(solana),
          },
        )
        await until(`${rig.url}/health answers`, async () => (await fetch(`${rig.url}/health`)).ok)
      },
      kill: async () => {
        if (service !== null) await end(service, 'SIGKILL')
      },
      stop: async () => {
        if (service === null) return null
        await end(service)
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

function solanaFlags(solana: SolanaChain | null): readonly string[] {
  if (solana === null) return []
  const { merchant } = solana.accounts
  return ['--solana-pay-to', merchant.address, '--solana-rpc-url', solana.rpcUrl]
}

function solanaKey(solana: SolanaChain | null): Readonly<Record<string, string>> {
  if (solana === null) return {}
  const { seed } = solana.accounts.facilitator
  return { PERPSCOPE_SOLANA_FACILITATOR_KEY: JSON.stringify([...seed]) }
}

/** Resolves when `holds` is true; whatever it throws counts as not yet. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = systemClock.nowMs() + READY_MS_MAX
  while (systemClock.nowMs() < deadlineMs) {
    if (await holds().catch(() => false)) return
    await new Promise<void>((resolve) => systemClock.after(POLL_MS, resolve))
  }
  throw new Error(`within ${READY_MS_MAX / 1000} s it did not become true that ${what}`)
}

export async function untilAnswerable(url: string, coin: string): Promise<void> {
  await until(`${coin} is listed`, async () => {
    const { coins } = (await (await fetch(`${url}/coins`)).json()) as { coins: string[] }
    return coins.includes(coin)
  })
}

/** Until an analysis can be bought: a payment that is none is refused for itself only where it is sold. */
export async function untilSold(url: string, contract: AnalysisContract, coin: string) {
  const path = pathOf(contract, coin)
  const speak = fromElsewhere()
  await until(`${path} is sold`, async () => {
    const refused = await speak(url + path, { headers: { 'x-payment': '%%%' } })
    return ((await refused.json()) as { code: string }).code === 'malformed_payment'
  })
}

let addresses = 0

/** `fetch` from an address of its own, for whoever trusts a proxy on this machine: limits go by address. */
export function fromElsewhere(speak: typeof fetch = fetch): typeof fetch {
  addresses += 1
  const address = `10.1.${addresses >> 8}.${addresses & 255}`
  return (input, init) => {
    const request = new Request(input, init)
    request.headers.set('x-forwarded-for', address)
    return speak(request)
  }
}

export type Ended = {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** What a test may do to a command while it runs. */
export type Meddling = {
  readonly env?: Readonly<Record<string, string>>
  readonly onStart?: (child: ChildProcess) => void
  /** Called with each line on standard error. */
  readonly onLine?: (line: string, child: ChildProcess) => void
}

/** Runs one of our commands to its end. */
export function runCommand(args: readonly string[], meddling: Meddling = {}): Promise<Ended> {
  return runScript(MAIN, args, meddling)
}

export function runDemo(args: readonly string[], meddling: Meddling = {}): Promise<Ended> {
  return runScript(MAIN, ['demo', ...args], meddling)
}

/** Processes that `pid` has started, from the system's own list. */
export function childrenOf(pid: number): { readonly pid: number; readonly command: string }[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((row) => Number(row?.[2]) === pid)
    .map((row) => ({ pid: Number(row?.[1]), command: row?.[3] ?? '' }))
    .filter(({ command }) => !command.startsWith('ps '))
}

/** Any script, to its end. */
export async function runScript(
  script: string,
  args: readonly string[],
  { env = {}, onStart = () => undefined, onLine = () => undefined }: Meddling = {},
): Promise<Ended> {
  const child = spawn(process.execPath, ['--enable-source-maps', script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnv(), ...env },
  })
  onStart(child)
  const errors: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    errors.push(line)
    onLine(line, child)
  })
  const [output, [code]] = await Promise.all([
    textOf(child.stdout),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, output, errors: errors.join('\n') }
}

/** Below the ports that systems give to outgoing connections and to `listen(0)`, in tests that run at the same time. */
const PORT_FIRST = 20_000
const PORT_COUNT = 12_000
/** More than one worker needs; workers have neighbouring process ids. */
const PORTS_PER_WORKER = 97

let nextPort = process.pid * PORTS_PER_WORKER

/** A port for a process that must know it before it starts, and again when it is started once more. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORT_COUNT; tries += 1) {
    const port = PORT_FIRST + (nextPort % PORT_COUNT)
    nextPort += 1
    if (await isFree(port)) return port
  }
  throw new Error(`no port is free from ${PORT_FIRST} to ${PORT_FIRST + PORT_COUNT - 1}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

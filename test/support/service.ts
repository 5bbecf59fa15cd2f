import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { inheritedEnv } from '../../src/config/environment.ts'
import type { AnalysisContract } from '../../src/domain/contract.ts'
import { pathOf } from '../../src/domain/contract.ts'
import { end, firstLineOf, launch } from '../../src/roles/child-process.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../../src/simulator/solana/solana-chain.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const POLL_MS = 50
/** A simulated market of which every analysis is sold. All would be 227. */
export const marketCoins = ['--coins', '24'] as const
/** Enough for what is sold of one coin, of BTC for instance. A service of them takes a fraction of the CPU. */
export const fewCoins = ['--coins', '5'] as const
/** Enough where the market does not matter. */
export const oneCoin = ['--coins', '1'] as const
/** Flags of `serve` where only the main market of the venue matters. */
export const mainMarketOnly = ['--outside', 'off', '--dexes', 'off'] as const
/** Limit for a hang: a service is ready within 15 s, and within 60 s next to four other jobs. */
const READY_MS_MAX = 120_000

/** The built service, its venue and its chain, each in its own process. */
export type Rig = {
  readonly chain: EvmChain
  /** Present if requested; runs in the process of the test. */
  readonly solana: SolanaChain | null
  readonly url: string
  readonly adminUrl: string
  readonly adminPort: number
  readonly dataDir: string
  /** Starts the service again after `kill`. */
  start(): Promise<void>
  /** Ends the service by SIGKILL, without a shutdown. */
  kill(): Promise<void>
  /** Ends the service as an operator does. @returns its exit code. */
  stop(): Promise<number | null>
  /** Ends everything that was started, also after a failure. */
  close(): Promise<void>
}

export type RigOptions = {
  /** `marketCoins` where analyses of the whole market are bought. */
  readonly coins?: readonly string[]
  /** Adds a local Solana as a second payment network. */
  readonly solana?: boolean
  /** Puts something between the service and the node of its chain. @returns the URL that the service gets for the node */
  readonly nodeUrl?: (rpcUrl: string) => string
  /** Additional flags of `serve`. */
  readonly flags?: readonly string[]
  /** Additional variables of `serve`. */
  readonly env?: Readonly<Record<string, string>>
}

export async function startRig({
  coins = fewCoins,
  solana: withSolana = false,
  nodeUrl = (rpcUrl) => rpcUrl,
  flags = [],
  env = {},
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
      ['simulate', ...coins, '--weight-per-minute', '60000', '--past', dataDir],
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
            ...['--rpc-url', nodeUrl(chain.rpcUrl), '--weight-per-minute', '50000'],
            ...solanaFlags(solana),
            // Tests run on one machine and simulate buyers from many addresses.
            ...['--log-level', 'silent', '--trust-proxy', 'loopback'],
            ...flags,
          ],
          'ignore',
          {
            PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey,
            ...solanaKey(solana),
            ...env,
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

/** Resolves when `holds` is true; an exception counts as not yet. */
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

/** Waits until an analysis is sold; only then is an invalid payment refused as such. */
export async function untilSold(url: string, contract: AnalysisContract, coin: string) {
  const path = pathOf(contract, coin)
  const speak = fromElsewhere()
  await until(`${path} is sold`, async () => {
    const refused = await speak(url + path, { headers: { 'x-payment': '%%%' } })
    return ((await refused.json()) as { code: string }).code === 'malformed_payment'
  })
}

/**
 * A paying `fetch` that buys again what was refused without a charge because the data is older than quoted, as where a
 * busy machine delays a book. The time limit of the test ends it.
 */
export function untilFresh(pay: typeof fetch): typeof fetch {
  return async (input, init) => {
    for (;;) {
      const response = await pay(input, init)
      if (response.status !== 503) return response
      const { code, charged } = (await response.clone().json()) as Partial<Problem>
      if (code !== 'data_stale' || charged !== false) return response
      await new Promise<void>((resolve) => systemClock.after(POLL_MS, resolve))
    }
  }
}

type Problem = { readonly code: string; readonly charged: boolean }

let addresses = 0

/** `fetch` from a new client address, for a service that trusts a local proxy; limits are per address. */
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

/** How a test interferes with a running command. */
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
  return runScript(MAIN, ['demo', ...marketCoins, ...args], meddling)
}

/** Child processes of `pid`, from the system's process list. */
export function childrenOf(pid: number): { readonly pid: number; readonly command: string }[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((row) => Number(row?.[2]) === pid)
    .map((row) => ({ pid: Number(row?.[1]), command: row?.[3] ?? '' }))
    .filter(({ command }) => !command.startsWith('ps '))
}

/** Runs a script to its end. */
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

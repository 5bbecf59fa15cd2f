import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { shipped } from '../../shipped.ts'
import type { Clock } from '../../src/domain/clock.ts'

/** Its bundle finds native packages from here. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache')

/** A planted defect. `forgets`: a paid answer is sent once and never again. */
export type HostDefect = 'forgets' | 'other bytes' | 'believes'

export type HostOptions = {
  readonly port: number
  readonly ledgerPath: string
  readonly payTo: string
  readonly rpcUrl: string
  readonly facilitatorUrls: readonly string[]
  readonly priceUsdcAtomic: string
  readonly defect: HostDefect | null
}

let bundle: Promise<string> | null = null

/** The bundle of `host.ts`, made once for each process, which removes it at its end. @returns its path */
function hostModule(): Promise<string> {
  bundle ??= bundled()
  return bundle
}

async function bundled(): Promise<string> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'chaos-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'host.mjs')
  const entryPoints = [join(import.meta.dirname, 'host.ts')]
  await build({ ...shipped, entryPoints, outfile, logLevel: 'warning' })
  return outfile
}

/**
 * The service as a real process that can be killed at any instant. It is bundled, because it must start within a
 * fraction of its lifetime, also on a slow machine.
 */
export class HostProcess {
  readonly #options: HostOptions
  readonly #clock: Clock
  readonly #module: string
  readonly #killAtExit = () => void this.#child?.kill('SIGKILL')
  #child: ChildProcess | null = null
  /** Uptime of earlier processes. */
  #servedMs = 0
  /** NaN: not running. */
  #listensSinceMs = Number.NaN

  private constructor(options: HostOptions, clock: Clock, module: string) {
    this.#options = options
    this.#clock = clock
    this.#module = module
    process.once('exit', this.#killAtExit)
  }

  static async built(clock: Clock, options: HostOptions): Promise<HostProcess> {
    return new HostProcess(options, clock, await hostModule())
  }

  /** Total uptime of all processes. */
  get servedMs(): number {
    const sinceMs = this.#listensSinceMs
    return this.#servedMs + (Number.isNaN(sinceMs) ? 0 : this.#clock.nowMs() - sinceMs)
  }

  async start(): Promise<void> {
    const child = fork(this.#module, [JSON.stringify(this.#options)])
    this.#child = child
    const ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the host ended while it started: ${signal ?? code}`)
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    this.#listensSinceMs = this.#clock.nowMs()
  }

  /** SIGKILL, without a shutdown. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    this.#servedMs = this.servedMs
    this.#listensSinceMs = Number.NaN
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async close(): Promise<void> {
    await this.kill()
    process.removeListener('exit', this.#killAtExit)
  }
}

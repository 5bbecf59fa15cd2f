import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Something wrong that the checker must find. `forgets`: what was paid for is sent once and never again. */
export type HostDefect = 'forgets' | 'other bytes'

export type HostOptions = {
  readonly port: number
  readonly ledgerPath: string
  readonly payTo: string
  readonly rpcUrl: string
  readonly facilitatorUrls: readonly string[]
  readonly priceUsdcAtomic: string
  readonly defect: HostDefect | null
}

/** The service as a real process, which can be ended at any instant. */
export class HostProcess {
  readonly #options: HostOptions
  readonly #killAtExit = () => void this.#child?.kill('SIGKILL')
  #child: ChildProcess | null = null

  constructor(options: HostOptions) {
    this.#options = options
    process.once('exit', this.#killAtExit)
  }

  async start(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'host.ts'), [JSON.stringify(this.#options)], {
      execArgv: ['--import', 'tsx'],
    })
    this.#child = child
    const ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the host ended while it started: ${signal ?? code}`)
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
  }

  /** SIGKILL: it learns nothing of it. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
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

import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { end } from '../src/roles/child-process.ts'
import { until } from '../test/support/service.ts'
import type { MirrorDigests, MirrorQuestion, MirrorReport } from './mirror-process.ts'

const MIRROR = join(import.meta.dirname, 'mirror-process.ts')

/** A gateway's mirror in a process of its own. */
export class MirrorProcess {
  readonly #child: ChildProcess

  constructor(brokerUrl: string) {
    this.#child = fork(MIRROR, [brokerUrl])
    const killAtExit = () => this.#child.kill('SIGKILL')
    process.once('exit', killAtExit)
    this.#child.once('exit', () => process.removeListener('exit', killAtExit))
  }

  report(): Promise<MirrorReport> {
    return this.#ask('report')
  }

  digests(): Promise<MirrorDigests> {
    return this.#ask('digests')
  }

  async isReady(): Promise<MirrorReport> {
    let report = await this.report()
    await until('a mirror is full', async () => {
      report = await this.report()
      return report.readyMs !== null
    })
    return report
  }

  async #ask<Reply>(question: MirrorQuestion): Promise<Reply> {
    const replied = once(this.#child, 'message')
    this.#child.send(question)
    const [reply] = await replied
    return reply as Reply
  }

  end(): Promise<void> {
    return end(this.#child, 'SIGKILL')
  }
}

import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Clock } from '../domain/clock.ts'
import type { DoctorFinding, DoctorReport } from '../domain/desk-reports.ts'
import { reasonOf } from '../domain/errors.ts'

/** The venue and the sources take some ten seconds, a large ledger longer. */
const RUN_MS_MAX = 180_000
const OUTPUT_CHARS_MAX = 1_000_000

/** A command line of this package, in the environment of this process. */
export type CommandLine = { readonly program: string; readonly args: readonly string[] }

/** `perpscope doctor` with the options of this process, which is `perpscope serve`. */
export function doctorCommand({
  argv,
  execArgv,
  execPath,
}: Pick<NodeJS.Process, 'argv' | 'execArgv' | 'execPath'>): CommandLine {
  const [, script = '', , ...options] = argv
  return { program: execPath, args: [...execArgv, script, 'doctor', ...options, '--json'] }
}

/**
 * Runs the doctor on request, one at a time, as a process of its own: its checks read whole databases, for which no call
 * may wait. The last result is kept.
 */
export class DoctorRun {
  readonly #command: CommandLine
  readonly #clock: Clock
  #report: DoctorReport = {
    ...{ state: 'never', startedAtMs: null, endedAtMs: null, failure: null, findings: [] },
  }
  #stop = () => {}

  constructor(command: CommandLine, clock: Clock) {
    this.#command = command
    this.#clock = clock
  }

  report(): DoctorReport {
    return this.#report
  }

  /** @returns false while a run is in progress */
  start(): boolean {
    if (this.#report.state === 'running') return false
    const { program, args } = this.#command
    this.#report = { ...this.#report, state: 'running', startedAtMs: this.#clock.nowMs() }
    let child: ChildProcess
    try {
      child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    } catch (cause) {
      this.#ended({ failure: reasonOf(cause) })
      return true
    }
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    const cancel = this.#clock.after(RUN_MS_MAX, kill)
    this.#stop = kill
    let output = ''
    let reason: string | null = null
    let isOver = false
    const finish = (code: number | null, signal: string | null) => {
      if (isOver) return
      isOver = true
      cancel()
      process.removeListener('exit', kill)
      const failure = reason ?? (signal === null ? null : `ended by ${signal}`)
      this.#ended(failure === null ? findingsIn(output, code) : { failure })
    }
    child.once('error', (cause) => {
      reason = reasonOf(cause)
      // Without file descriptors it never began, has no output and emits no `close`.
      if (child.pid === undefined) finish(null, null)
    })
    child.once('close', finish)
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, OUTPUT_CHARS_MAX)
    })
    return true
  }

  stop(): void {
    this.#stop()
  }

  #ended(result: { readonly findings: readonly DoctorFinding[] } | { readonly failure: string }) {
    const endedAtMs = this.#clock.nowMs()
    this.#report =
      'failure' in result
        ? { ...this.#report, state: 'failed', endedAtMs, failure: result.failure }
        : { ...this.#report, state: 'done', endedAtMs, failure: null, findings: result.findings }
  }
}

/** The exit code is 1 also if a check has failed. */
function findingsIn(output: string, code: number | null) {
  try {
    const { checks } = JSON.parse(output) as { readonly checks: readonly DoctorFinding[] }
    return { findings: checks }
  } catch {
    return { failure: `it ended with exit code ${code} and without a report` }
  }
}

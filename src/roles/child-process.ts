import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inheritedEnv } from '../config/environment.ts'
import { OperatingError } from '../domain/errors.ts'
import { systemClock } from './system-clock.ts'

/** The command line of this package. */
export const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))
const STOP_MS_MAX = 20_000
const RESTART_DELAY_MS = 500
/** Last output of a program, for the message of a failed start. */
const TAIL_CHARS_MAX = 2_000

/** A `perpscope` command as a child process. It is killed when this process exits, except by SIGKILL. */
export type Child = {
  stop(): Promise<void>
}

/** The user of a program; empty for the user of this process. */
export type ProgramUser = { readonly uid?: number; readonly gid?: number }

/** Starts a command; `firstLine` is its first line on standard output. */
export function startCommand(
  args: readonly string[],
): Child & { readonly firstLine: Promise<string> } {
  const child = launch(MAIN, args, 'pipe')
  return { firstLine: firstLineOf(child), stop: () => end(child) }
}

/** Keeps a command running, as an init system would, until it is stopped. */
export function superviseCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  onExit: (code: number | null, signal: string | null) => void,
): Child {
  let isStopping = false
  let child = start()

  function start(): ChildProcess {
    const started = launch(MAIN, args, 'ignore', env)
    started.once('exit', (code, signal) => {
      if (isStopping) return
      onExit(code, signal)
      systemClock.after(RESTART_DELAY_MS, () => {
        if (!isStopping) child = start()
      })
    })
    return started
  }

  return {
    stop: () => {
      isStopping = true
      return end(child)
    },
  }
}

/** The child logs to our standard error, because standard output is for the report. */
export function launch(
  script: string,
  args: readonly string[],
  output: 'pipe' | 'ignore',
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', output, 'inherit'],
    env: { ...inheritedEnv(), ...env },
  })
  killAtExit(child)
  return child
}

/** Also at an early exit of the parent. */
function killAtExit(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
}

/**
 * Starts a program of another package, and waits for the line by which it reports that it is ready.
 * @throws OperatingError with its last lines if it ends before that
 */
export async function startProgram(
  path: string,
  args: readonly string[],
  ready: string,
  user: ProgramUser = {},
): Promise<Child> {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...user })
  killAtExit(child)
  let tail = ''
  await new Promise<void>((resolve, reject) => {
    const read = (bytes: Buffer) => {
      tail = (tail + bytes.toString()).slice(-TAIL_CHARS_MAX)
      if (tail.includes(ready)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('error', reject)
    // Not `exit`, after which the last lines can still arrive.
    child.once('close', () => reject(new OperatingError('child', `${path} ended: ${tail}`)))
  })
  return { stop: () => end(child) }
}

export function firstLineOf(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  return new Promise((resolve, reject) => {
    lines.once('line', resolve)
    // Not `exit`, after which the line can still arrive.
    child.once('close', (code, signal) =>
      reject(new OperatingError('child', `a child ended with ${signal ?? `code ${code}`}`)),
    )
    child.once('error', reject)
  })
}

/** Ends a child, with SIGKILL after a time limit. */
export async function end(
  child: ChildProcess,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    const cancel = systemClock.after(STOP_MS_MAX, () => child.kill('SIGKILL'))
    child.once('exit', () => {
      cancel()
      resolve()
    })
    child.kill(signal)
  })
}

import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inheritedEnv } from '../config/environment.ts'
import { OperatingError } from '../domain/errors.ts'
import { systemClock } from './system-clock.ts'

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))
const STOP_MS_MAX = 20_000
const RESTART_DELAY_MS = 500

/** A command of ours as a child process. It never outlives its parent. */
export type Child = {
  stop(): Promise<void>
}

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
  // No child survives an early exit of the parent.
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  child.once('exit', () => process.removeListener('exit', killAtExit))
  return child
}

export function firstLineOf(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  return new Promise((resolve, reject) => {
    lines.once('line', resolve)
    child.once('exit', (code, signal) =>
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

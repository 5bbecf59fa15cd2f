import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inheritedEnv } from '../config.ts'
import { OperatingError } from '../domain/errors.ts'
import { systemClock } from './system-clock.ts'

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))
const STOP_MS_MAX = 20_000
const RESTART_DELAY_MS = 500

/** One of our own commands as a child. It is ended by its own handle, and never outlives its parent. */
export type Child = {
  readonly pid: () => number | undefined
  stop(): Promise<void>
}

/** Starts a command and resolves with its first line on standard output. */
export async function startCommand(
  args: readonly string[],
): Promise<{ readonly child: Child; readonly firstLine: string }> {
  const child = launch(args, 'pipe')
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const firstLine = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve)
    child.once('exit', (code) =>
      reject(new OperatingError('child', `perpscope ${args[0]} ended with code ${code}`)),
    )
    child.once('error', reject)
  })
  return { child: { pid: () => child.pid, stop: () => stop(child) }, firstLine }
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
    const started = launch(args, 'ignore', env)
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
    pid: () => child.pid,
    stop: () => {
      isStopping = true
      return stop(child)
    },
  }
}

/** Standard output is the report's alone, so the logs of children go where ours go. */
function launch(
  args: readonly string[],
  output: 'pipe' | 'ignore',
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, ['--enable-source-maps', MAIN, ...args], {
    stdio: ['ignore', output, 'inherit'],
    env: { ...inheritedEnv(), ...env },
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    const cancel = systemClock.after(STOP_MS_MAX, () => child.kill('SIGKILL'))
    child.once('exit', () => {
      cancel()
      resolve()
    })
    child.kill('SIGTERM')
  })
}

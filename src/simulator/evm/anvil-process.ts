import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'

/** Limit for a hang; a busy machine takes ten seconds to start it. */
const START_MS_MAX = 60_000
const STOP_MS_MAX = 3_000
/** What anvil said on standard error is kept for the message of a failed start. */
const COMPLAINT_CHARS_MAX = 2_000

export type AnvilProcess = {
  readonly rpcUrl: string
  readonly pid: number
  close(): Promise<void>
}

/** Starts the `anvil` binary of the npm package on a free loopback port. */
export async function startAnvil(args: readonly string[], clock: Clock): Promise<AnvilProcess> {
  const child = spawn(anvilBinary(), ['--host', '127.0.0.1', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // A parent that exits without `close` must not leave a chain behind.
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  try {
    const address = await listeningAddress(child, clock)
    return {
      rpcUrl: `http://${address}`,
      pid: child.pid ?? 0,
      close: () => stop(child, clock, killAtExit),
    }
  } catch (cause) {
    await stop(child, clock, killAtExit)
    throw cause
  }
}

/** The platform's package is a dependency of `@foundry-rs/anvil`, so it is looked up from there. */
export function anvilBinary(): string {
  const platform = process.platform === 'win32' ? 'win32' : process.platform
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const suffix = process.platform === 'win32' ? '.exe' : ''
  try {
    const anvil = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
    return createRequire(anvil).resolve(
      `@foundry-rs/anvil-${platform}-${architecture}/bin/anvil${suffix}`,
    )
  } catch (cause) {
    throw new OperatingError(
      'anvil_missing',
      `the local Base needs the package @foundry-rs/anvil with its binary for ${platform}-${architecture}`,
      { cause },
    )
  }
}

function listeningAddress(child: ChildProcess, clock: Clock): Promise<string> {
  return new Promise((resolve, reject) => {
    let complaint = ''
    const fail = (reason: string, cause?: unknown) => {
      cancelTimer()
      reject(new OperatingError('anvil_failed', `${reason} ${complaint}`.trim(), { cause }))
    }
    const cancelTimer = clock.after(START_MS_MAX, () =>
      fail(`anvil did not listen within ${START_MS_MAX} ms`),
    )
    child.once('error', (cause) => fail('anvil could not be started', cause))
    child.once('exit', (code) => fail(`anvil exited with code ${code}`))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, COMPLAINT_CHARS_MAX)
    })
    if (child.stdout === null) return
    // The reader stays, because a full pipe would stop the chain.
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /^Listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1]
      if (address === undefined) return
      cancelTimer()
      resolve(address)
    })
  })
}

async function stop(child: ChildProcess, clock: Clock, killAtExit: () => void): Promise<void> {
  process.removeListener('exit', killAtExit)
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    const cancelTimer = clock.after(STOP_MS_MAX, () => child.kill('SIGKILL'))
    child.once('exit', () => {
      cancelTimer()
      resolve()
    })
    child.kill('SIGTERM')
  })
}

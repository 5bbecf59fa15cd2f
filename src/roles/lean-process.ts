import { execPath } from 'node:process'
import { fullEnv } from '../config/environment.ts'

/**
 * V8 sizes both generations of a thread by the machine. The young one may be 128 MB. The old one may grow to four times
 * what lives in it before it is collected, and to less than twice under a limit below 2 GB; what it has grown to once, it
 * keeps. The limit is eight times what lives in the engine with 180 coins. Smaller steps (`--heap-growing-percent=30`)
 * make ingest a third slower: `docs/memory.md`.
 */
const V8_FLAGS = [
  ['--max-semi-space-size', 4],
  ['--max-old-space-size', 1024],
] as const

/**
 * glibc keeps what is freed: in a heap for every thread, and, once a block of some megabytes was freed, in ever larger
 * pieces. https://man7.org/linux/man-pages/man3/mallopt.3.html
 */
const MALLOC = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
}

/**
 * Both are read when a process starts and never again, so the process is replaced by itself, with its id and its
 * streams. Returns where that has happened, where the operator has set the variable, and where it cannot be done:
 * on Windows, before Node 22.15, and under a parent that talks to this process over a channel.
 */
export function becomeLean(): void {
  const env = fullEnv()
  if ('MALLOC_ARENA_MAX' in env || process.execve === undefined || process.send !== undefined)
    return
  if (process.platform === 'win32') return
  // What stands in NODE_OPTIONS would be overruled by the same flag beside it.
  const chosen = (env['NODE_OPTIONS'] ?? '').replaceAll('_', '-')
  const flags = V8_FLAGS.filter(([name]) => !chosen.includes(name)).map(
    ([name, mb]) => `${name}=${mb}`,
  )
  process.execve(execPath, [execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)], {
    ...env,
    ...MALLOC,
  })
}

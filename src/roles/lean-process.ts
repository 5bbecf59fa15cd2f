import { execPath } from 'node:process'
import { fullEnv } from '../config/environment.ts'

/**
 * On a machine with much memory V8 lets the young generation of each of the larger threads grow to 128 MB. Smaller old
 * generations (`--heap-growing-percent=30`) make ingest a third slower: `docs/memory.md`.
 */
const V8_FLAGS = ['--max-semi-space-size=4']

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
  process.execve(execPath, [execPath, ...V8_FLAGS, ...process.execArgv, ...process.argv.slice(1)], {
    ...env,
    ...MALLOC,
  })
}

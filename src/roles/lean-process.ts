import { execPath } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { fullEnv } from '../config/environment.ts'
import type { Clock } from '../domain/clock.ts'

/** Twice this is the young generation of a thread. A smaller one is collected more often. */
const SEMI_SPACE_MIB = { gateway: 2, engine: 4, worker: 1 } as const

/**
 * V8 sizes both generations of a thread by the machine. The young one may be 128 MB. The old one may grow to four times
 * what lives in it before it is collected, and to less than twice under a limit below 2 GB; what it has grown to once, it
 * keeps. The limit is 13 times what lives in the engine with 230 coins. Smaller steps (`--heap-growing-percent=30`) make
 * ingest a third slower: `docs/memory.md`. `gc` is for {@link collectWhenLoaded}.
 *
 * By what survives while history is loaded, V8 would allocate the views and inputs of documents in the old generation,
 * where they wait for a major collection, and with them all that they refer to.
 */
const V8_FLAGS = [
  semiSpace('gateway'),
  '--max-old-space-size=1024',
  '--expose-gc',
  '--no-allocation-site-pretenuring',
]

/** By then the files are read (on a slow machine by the second), and after a cold start the history of the venue is loaded. */
const LOADED_MS = [2, 4, 20].map((minutes) => minutes * 60_000)

/**
 * glibc keeps what is freed: in a heap for every thread, and, once a block of some megabytes was freed, in ever larger
 * pieces. https://man7.org/linux/man-pages/man3/mallopt.3.html
 */
const MALLOC = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '32768',
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
  // A flag of ours would override the same flag in NODE_OPTIONS.
  const chosen = (env['NODE_OPTIONS'] ?? '').replaceAll('_', '-')
  const flags = V8_FLAGS.filter((flag) => !chosen.includes(flag.replace(/=.*/, '')))
  process.execve(execPath, [execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)], {
    ...env,
    ...MALLOC,
  })
}

/**
 * Call before a thread is started: V8 reads the flag then. Does nothing where {@link becomeLean} has done nothing, and
 * where the operator has set the flag.
 */
export function sizeNextThread(thread: 'engine' | 'worker'): void {
  if (process.execArgv.includes(semiSpace('gateway'))) setFlagsFromString(semiSpace(thread))
}

function semiSpace(thread: keyof typeof SEMI_SPACE_MIB): string {
  return `--max-semi-space-size=${SEMI_SPACE_MIB[thread]}`
}

/**
 * Loading history takes twice the memory that is needed afterwards, and V8 gives it back after no other kind of
 * collection. It holds the engine's thread for a fifth of a second, and the gateway's for less. Does nothing where
 * {@link becomeLean} has done nothing.
 * @returns cancels it
 */
export function collectWhenLoaded(clock: Clock): () => void {
  const collect = () => globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const cancels = LOADED_MS.map((ms) => clock.after(ms, collect))
  return () => {
    for (const cancel of cancels) cancel()
  }
}

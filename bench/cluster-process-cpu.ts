import { readdirSync, readFileSync } from 'node:fs'
import { childrenOf } from '../test/support/service.ts'

/** Microseconds of a clock tick, in which `/proc/<pid>/stat` counts. */
const TICK_MICROSECONDS = 10_000
/** Threads that serve requests: event loop, libuv pool, helpers of V8. The engine of `--role all` has its own. */
const GATEWAY_THREADS: ReadonlySet<string> = new Set(['MainThread', 'libuv-worker', 'V8Worker'])

/** User and system CPU of the threads that serve requests, microseconds. */
export function gatewayCpuMicroseconds(pid: number): number {
  return [...cpuByThread(pid)]
    .filter(([name]) => GATEWAY_THREADS.has(name))
    .reduce((sum, [, microseconds]) => sum + microseconds, 0)
}

/** User and system CPU of the threads that exist, microseconds by name; threads of one name are added. */
export function cpuByThread(pid: number): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`
    try {
      const [nanoseconds] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ')
      const name = readFileSync(`${folder}/comm`, 'utf8').trim()
      sums.set(name, (sums.get(name) ?? 0) + Number(nanoseconds) / 1_000)
    } catch {
      // The thread has ended.
    }
  }
  return sums
}

/** User and system CPU of a server and of its processes, microseconds; those that have ended count as well. */
export function familyCpuMicroseconds(pid: number): number {
  const [own, ended] = ticksOf(pid)
  const children = childrenOf(pid).map((child) => ticksOf(child.pid)[0])
  return TICK_MICROSECONDS * children.reduce((sum, ticks) => sum + ticks, own + ended)
}

/** Of a process, and of its ended children; zero for a process that has ended. */
function ticksOf(pid: number): readonly [own: number, ended: number] {
  try {
    // The name, in parentheses, can contain spaces.
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (?=\S )/)
    const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields
      .split(' ')
      .slice(11, 15)
      .map(Number)
    return [utime + stime, cutime + cstime]
  } catch {
    return [0, 0]
  }
}

/**
 * CPU per message from a frame on a real socket to updated indicators, compared with a floor that only uses `ws` and
 * `JSON.parse`. Both are separate processes, bundled like the service, and process the same frames in turns at full
 * speed, so that other load of the machine affects both. Every round starts new processes.
 *
 * `tsx bench/ingest.ts` measures and exits with 1 when the bar is missed; `--quick` only checks that all frames arrive.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import { build } from 'esbuild'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import { shipped } from '../shipped.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Candidate, Orders, Report } from './ingest-candidates.ts'
import { candidates } from './ingest-candidates.ts'
import { venueFrames } from './venue-frames.ts'

const BAR = 1.35
/** About 50 ms, long enough to refill the CPU caches after the other process's turn. */
const SHARE = 5_000
/** Excludes V8's compilation: 3 to 5 % of the engine's CPU after 200,000 messages, none after 600,000. */
const WARM_UP_PART = 2 / 3

const fullMode = { seconds: 900, rounds: 7 }
const quickMode = { seconds: 12, rounds: 1 }
const UNSENT_BYTES_MAX = 4e6

type Candidates<T> = { readonly [Name in Candidate]: T }

const isQuick = process.argv.includes('--quick')
const { seconds, rounds } = isQuick ? quickMode : fullMode
const taken = venueFrames({ startMs: systemClock.nowMs() - seconds * 1_000, seconds })

async function measure(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'perpscope-ingest-'))
  try {
    const module = join(dir, 'candidates.mjs')
    const entry = join(import.meta.dirname, 'ingest-candidates.ts')
    await build({ ...shipped, entryPoints: [entry], outfile: module, logLevel: 'warning' })
    const costs: Candidates<number>[] = []
    const checksums = new Set<string>()
    for (let round = 0; round < rounds; round += 1) {
      const { cost, checksum } = await oneRound(module, round % 2 === 1)
      costs.push(cost)
      checksums.add(checksum)
      process.stderr.write(`${round + 1} of ${rounds} rounds\n`)
    }
    assert.equal(checksums.size, 1, 'every round has computed the same')
    console.log(`checksum of all indicators: ${[...checksums].join()}`)
    if (isQuick) console.log('quick: all frames arrived; nothing was measured')
    else report(costs)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function report(costs: readonly Candidates<number>[]): void {
  const ratios = costs.map(({ engine, floor }) => engine / floor)
  const ratio = median(ratios)
  const head = ['path', 'CPU µs/message', 'against the floor', 'of all rounds', 'bar']
  const table = new Table({ head, style: { head: [], border: [] } })
  table.push([
    'ws + JSON.parse',
    median(costs.map(({ floor }) => floor)).toFixed(2),
    '1.00',
    '',
    '',
  ])
  table.push([
    'ws + RxJS + decode + indicators',
    median(costs.map(({ engine }) => engine)).toFixed(2),
    ratio.toFixed(2),
    `${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}`,
    `<= ${BAR} ${ratio <= BAR ? 'met' : 'MISSED'}`,
  ])
  if (ratio > BAR) process.exitCode = 1
  const { frames } = taken
  const bytes = frames.reduce((sum, text) => sum + text.length, 0)
  console.log(table.toString())
  console.log(`${frames.length} messages, ${Math.round(bytes / frames.length)} bytes each`)
}

/** CPU microseconds per message after the warm-up, and the checksum of the engine. */
async function oneRound(
  module: string,
  isReversed: boolean,
): Promise<{ readonly cost: Candidates<number>; readonly checksum: string }> {
  const runs: Run[] = []
  try {
    for (const candidate of isReversed ? candidates.toReversed() : candidates) {
      const run = new Run(candidate, module)
      runs.push(run)
      await run.start()
    }
    const { length } = taken.frames
    const warmUp = Math.floor((length * WARM_UP_PART) / SHARE) * SHARE
    const cost = { floor: 0, engine: 0 }
    for (let from = 0; from < length; from += SHARE)
      for (const run of runs) {
        const cpuMicroseconds = await run.take(taken.frames.slice(from, from + SHARE))
        if (from >= warmUp) cost[run.candidate] += cpuMicroseconds / (length - warmUp)
      }
    const checksum = runs.find(({ candidate }) => candidate === 'engine')?.checksum
    assert(checksum, 'the engine has told what it computed')
    return { cost, checksum }
  } finally {
    for (const run of runs) run.end()
  }
}

/** One candidate process, and the WebSocket server that sends its frames. */
class Run {
  readonly candidate: Candidate
  readonly #child: ChildProcess
  readonly #ended: Promise<never>
  readonly #server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    perMessageDeflate: false,
  })
  #socket: WebSocket | null = null
  #checksum = ''

  constructor(candidate: Candidate, module: string) {
    this.candidate = candidate
    this.#child = fork(module, [candidate])
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`${candidate} ended with code ${String(code)}`)
    })
    // An exit while no report is awaited is normal.
    this.#ended.catch(() => {})
  }

  /** Checksum after all frames; empty before. */
  get checksum(): string {
    return this.#checksum
  }

  async start(): Promise<void> {
    await once(this.#server, 'listening')
    const address = this.#server.address()
    assert(typeof address === 'object' && address !== null, 'a TCP address')
    const { startMs, timesMs, replies } = taken
    const { port } = address
    const orders: Orders = { port, startMs, timesMs, replies: [...replies], share: SHARE }
    // The first frame is the pong. Without a ping before it, the next frame would count as 20 s late.
    const asked = once(this.#server, 'connection').then(async ([socket]: WebSocket[]) => {
      assert(socket !== undefined)
      await once(socket, 'message')
      return socket
    })
    this.#child.send(orders)
    await this.#reported('ready')
    this.#socket = await asked
  }

  /** @returns the CPU time for these frames, microseconds */
  async take(frames: readonly string[]): Promise<number> {
    const done = this.#reported('share')
    for (const text of frames) {
      this.#socket?.send(text)
      if ((this.#socket?.bufferedAmount ?? 0) > UNSENT_BYTES_MAX)
        await new Promise((resolve) => setImmediate(resolve))
    }
    const { cpuMicroseconds, checksum } = await done
    this.#checksum = checksum ?? ''
    return cpuMicroseconds
  }

  end(): void {
    this.#child.kill()
    this.#socket?.terminate()
    this.#server.close()
  }

  async #reported<Kind extends Report['kind']>(
    kind: Kind,
  ): Promise<Extract<Report, { kind: Kind }>> {
    const [report] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [Report]
    assert.equal(report.kind, kind)
    return report as Extract<Report, { kind: Kind }>
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

await measure()

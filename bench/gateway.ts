import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import Table from 'cli-table3'
import Fastify from 'fastify'
import pino from 'pino'
import { fillDocument } from '../src/api/fill-document.ts'
import { MaintenanceSwitch } from '../src/api/maintenance-switch.ts'
import { freeDocument } from '../src/api/send-document.ts'
import type { ServerOptions } from '../src/api/server.ts'
import { buildServer } from '../src/api/server.ts'
import {
  listing,
  pulseLike,
  pulseLikeDocument,
  trackRecordLike,
} from '../src/api/testing/pulse-like.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import { quoteLimit } from '../src/payment/quote-limit.ts'
import { steadySystemClock } from '../src/roles/system-clock.ts'

/**
 * Server CPU per request for a prepared document, compared with servers that only send the same bytes.
 * Every server is a separate process; rounds are interleaved, so that other load of the machine affects all
 * of them alike. Only the ratios are meaningful.
 *
 * `tsx bench/gateway.ts` measures and exits with 1 when a bar is missed; `--quick` only checks that
 * all four send the same answer.
 */
const candidates = [
  { id: 'fastify', title: 'bare Fastify, with our headers', bar: null },
  { id: 'plain', title: 'bare Fastify, prebuilt Buffer', bar: null },
  { id: 'http', title: 'raw node:http, prebuilt Buffer', bar: null },
  { id: 'open', title: 'perpscope, open, no access log', bar: 1.25 },
  { id: 'production', title: 'perpscope, access log and limit', bar: 2.2 },
] as const

type Candidate = (typeof candidates)[number]['id']

const PATH = '/pulse/BTC?timeframes=1h,4h'
const BODY_BYTES_MIN = 2_500
const BODY_BYTES_MAX = 3_500
const JSON_TYPE = 'application/json; charset=utf-8'
const CONNECTIONS = 32
const SERVER_CORE = '0'
const LOAD_CORE = '1'
const REFERENCE: Candidate = 'plain'

/** The clock of the service. */
const clock = steadySystemClock()

type Plan = {
  readonly rounds: number
  readonly warmUpRequests: number
  readonly requests: number
}

/**
 * After fewer requests V8 is still compiling: the bare servers settle after 40,000, ours after some 100,000, and a
 * service runs for weeks.
 */
const fullMode = { generations: 5, rounds: 4, warmUpRequests: 150_000, requests: 20_000 }
const quickMode = { generations: 1, rounds: 1, warmUpRequests: 100, requests: 500 }

type Report =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'cpu'; readonly microseconds: number }

const [mode, logFile] = process.argv.slice(2)
const served = candidates.find(({ id }) => `serve-${id}` === mode)
if (served === undefined) await measure(mode === '--quick')
else await serve(served.id, logFile ?? '')

async function measure(isQuick: boolean): Promise<void> {
  // Servers on one core, the load on another: otherwise the scheduler decides the result.
  const isPinned = spawnSync('taskset', ['-cp', LOAD_CORE, String(process.pid)]).status === 0
  if (!isPinned) console.log('taskset is missing or there is one core: nothing is pinned')
  const { generations, ...plan } = isQuick ? quickMode : fullMode
  const costs: Costs[] = []
  for (let generation = 0; generation < generations; generation += 1) {
    costs.push(await measureGeneration(plan, generation === 0, isPinned))
    process.stderr.write(`${generation + 1} of ${generations} generations of processes measured\n`)
  }
  if (isQuick) console.log('quick: all servers agree; nothing was measured')
  else report(costs)
}

/** CPU per request of every candidate in one generation, microseconds. */
type Costs = Readonly<Record<Candidate, number>>

/**
 * New processes for every generation, because the cost of one process varies with V8's compilation and memory
 * layout by more than the measured differences.
 */
async function measureGeneration(plan: Plan, isFirst: boolean, isPinned: boolean): Promise<Costs> {
  const { rounds, warmUpRequests, requests } = plan
  const directory = mkdtempSync(join(tmpdir(), 'perpscope-bench-'))
  const accessLog = join(directory, 'access.log')
  const servers = await Promise.all(candidates.map(({ id }) => start(id, accessLog, isPinned)))
  try {
    const digests = await Promise.all(servers.map(({ url }) => digest(url)))
    assert.equal(new Set(digests).size, 1, `all servers send the same answer: ${digests.join(' ')}`)
    if (isFirst) console.log(`sha256 of the answer, ages left out: ${digests[0]}`)
    for (const server of servers) await load(server.url, warmUpRequests)
    for (let round = 0; round < rounds; round += 1) {
      for (const server of servers) {
        const before = await cpuMicroseconds(server.child)
        await load(server.url, requests)
        const after = await cpuMicroseconds(server.child)
        server.cpuMicroseconds.push((after - before) / requests)
      }
    }
    assert(statSync(accessLog).size > requests * rounds * 50, 'production wrote its access log')
    return Object.fromEntries(
      servers.map((server) => [server.id, Math.min(...server.cpuMicroseconds)]),
    ) as Costs
  } finally {
    for (const { child } of servers) child.kill()
    rmSync(directory, { recursive: true })
  }
}

type Server = {
  readonly id: Candidate
  readonly child: ChildProcess
  readonly url: string
  readonly cpuMicroseconds: number[]
}

async function start(id: Candidate, accessLog: string, isPinned: boolean): Promise<Server> {
  const execArgv = ['-c', SERVER_CORE, process.execPath, ...process.execArgv]
  const child = fork(
    import.meta.filename,
    [`serve-${id}`, accessLog],
    isPinned ? { execPath: 'taskset', execArgv } : {},
  )
  const report = await reply(child)
  assert(report.kind === 'listening', 'a server says first where it listens')
  const url = `http://127.0.0.1:${report.port}${PATH}`
  return { id, child, url, cpuMicroseconds: [] }
}

async function cpuMicroseconds(child: ChildProcess): Promise<number> {
  const answer = reply(child)
  child.send('cpu')
  const report = await answer
  assert(report.kind === 'cpu', 'a server answers with its CPU time')
  return report.microseconds
}

/** @throws when the child ends instead of reporting. */
async function reply(child: ChildProcess): Promise<Report> {
  const stop = new AbortController()
  const { signal } = stop
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`a server ended with code ${String(code)}`)
  })
  try {
    const [report] = await Promise.race([once(child, 'message', { signal }), ended])
    return report as Report
  } finally {
    stop.abort()
    ended.catch(() => undefined)
  }
}

async function load(url: string, amount: number): Promise<void> {
  const result = await autocannon({ url, amount, connections: CONNECTIONS })
  assert.equal(result['2xx'], amount, `every request is answered with 200: ${url}`)
}

async function digest(url: string): Promise<string> {
  const response = await fetch(url)
  assert.equal(response.status, 200)
  const body = await response.text()
  const { length } = Buffer.from(body)
  assert(length > BODY_BYTES_MIN && length < BODY_BYTES_MAX, `the answer has ${length} bytes`)
  JSON.parse(body)
  const ageless = body.replace(/(_seconds|execution_ms)":[\d.]+/g, '$1":0')
  return createHash('sha256').update(ageless).digest('hex')
}

function report(generations: readonly Costs[]): void {
  const head = ['server', 'CPU µs/request', `against ${REFERENCE}`, 'of all generations', 'bar']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const { id, title, bar } of candidates) {
    const ratios = generations.map((costs) => costs[id] / costs[REFERENCE])
    const ratio = median(ratios)
    const isMissed = bar !== null && ratio > bar
    if (isMissed) process.exitCode = 1
    table.push([
      title,
      median(generations.map((costs) => costs[id])).toFixed(1),
      ratio.toFixed(2),
      `${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}`,
      bar === null ? '' : `<= ${bar} ${isMissed ? 'MISSED' : 'met'}`,
    ])
  }
  console.log(table.toString())
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Runs in the child: one server, until the parent ends it. */
async function serve(id: Candidate, accessLog: string): Promise<void> {
  const port = await listen(id, accessLog)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    tell({ kind: 'cpu', microseconds: user + system })
  })
  process.on('disconnect', () => process.exit())
  tell({ kind: 'listening', port })
}

function tell(report: Report): void {
  process.send?.(report)
}

async function listen(id: Candidate, accessLog: string): Promise<number> {
  const address = { host: '127.0.0.1', port: 0 }
  switch (id) {
    case 'fastify':
    case 'plain': {
      const bytes = prebuilt()
      const headers = id === 'plain' ? { 'content-type': JSON_TYPE } : await headersOfOurs()
      const app = Fastify()
      app.get('/pulse/:coin', (_request, reply) => {
        void reply.headers(headers).send(bytes)
      })
      return portOf(await app.listen(address))
    }
    case 'http': {
      const bytes = prebuilt()
      const server = createServer((_request, response) => {
        response.writeHead(200, {
          'content-type': JSON_TYPE,
          'content-length': bytes.length,
        })
        response.end(bytes)
      })
      server.listen(address)
      await once(server, 'listening')
      const bound = server.address()
      assert(bound !== null && typeof bound === 'object', 'a TCP address')
      return bound.port
    }
    case 'open':
      return portOf(await gateway({}).listen(address))
    case 'production': {
      const destination = pino.destination({ dest: accessLog, sync: false, minLength: 4_096 })
      const app = gateway({
        logger: pino(destination),
        accessLog: true,
        quoteLimit: quoteLimit(1e9),
      })
      return portOf(await app.listen(address))
    }
    default:
      return id satisfies never
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

/** Our server with an engine that sends a heartbeat and new documents every second, as the real one does. */
function gateway(dress: Partial<ServerOptions>) {
  const engine = new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView })
  let version = 0
  const render = (): void => {
    const nowMs = clock.nowMs()
    version += 1
    const document = pulseLikeDocument({ coin: 'BTC', confirmedAtMs: nowMs, version })
    engine.apply({ kind: 'documents', documents: [document] }, nowMs)
  }
  engine.apply({ kind: 'universe', listings: [listing('BTC')] }, clock.nowMs())
  render()
  clock.every(1_000, render)
  return buildServer({
    console: null,
    contracts: [pulseLike],
    engine,
    maintenance: new MaintenanceSwitch(clock.nowMs()),
    clock,
    version: '0.0.0',
    status: { document: freeDocument('application/json; charset=utf-8', '{}') },
    exampleCoin: 'BTC',
    trackRecord: trackRecordLike,
    claimsOf: null,
    payment: null,
    quoteLimit: null,
    logger: null,
    accessLog: false,
    discovery: { publicUrl: 'https://api.example.com', waysToPay: [] },
    ...dress,
  })
}

/** The headers that our server sends, so that the reference sends exactly the same bytes. */
async function headersOfOurs(): Promise<Record<string, string>> {
  const app = gateway({})
  const { headers } = await app.inject(PATH)
  await app.close()
  const own = new Set(['content-length', 'date', 'connection', 'keep-alive'])
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !own.has(name))
      .map(([name, value]) => [name, String(value)]),
  )
}

/** The same answer, filled once. */
function prebuilt(): Buffer {
  const nowMs = clock.nowMs()
  const document = pulseLikeDocument({ coin: 'BTC', confirmedAtMs: nowMs - 437 })
  const answer = document.views[pulseLike.defaultView]
  assert(answer?.kind === 'answer', 'the default view is an answer')
  return fillDocument(document, answer, { nowMs, executionMs: 0, coinsAvailable: 1 })
}

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import Table from 'cli-table3'
import Fastify from 'fastify'
import { Pool } from 'undici'
import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { MaintenanceSwitch } from '../src/api/maintenance-switch.ts'
import { freeDocument } from '../src/api/send-document.ts'
import { buildServer } from '../src/api/server.ts'
import {
  listing,
  pulseLike,
  pulseLikeDocument,
  trackRecordLike,
} from '../src/api/testing/pulse-like.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { keyRecovery } from '../src/payment/evm/key-recovery.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import type { Facilitator } from '../src/payment/payment.ts'
import { payments } from '../src/payment/plugin.ts'
import { quoteLimit } from '../src/payment/quote-limit.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { quoteSecrets } from '../src/roles/quote-secrets.ts'
import { steadySystemClock, systemClock } from '../src/roles/system-clock.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { stockFacilitator, stockHost, stubbedStockFacilitator } from './stock-sdk.ts'
import { voucherCalls } from './voucher-calls.ts'

/**
 * Cost of payments compared with servers without our code. `quote`: a 402, against bare Fastify that sends the
 * same bytes. `paid`: a paid call with stubbed settlement, against the x402 packages, which check the same
 * signature. Both measure server CPU per request: every server is a separate process on its own core, and
 * rounds are interleaved. The x402 packages have no ledger; the cost of ours is the difference between the two
 * ledgers. `latency`: request to answer, alternately, on a chain with periodic blocks. `vouchers`: the same
 * for calls paid by payment channel, which wait for no block.
 *
 * `tsx bench/payment.ts` measures and exits with 1 when a bar is missed; `--quick` only checks the results.
 */
const candidates = [
  { id: 'quote-bare', title: 'bare Fastify, the same 402', peer: null, bar: null },
  { id: 'quote-ours', title: 'perpscope, unpaid', peer: 'quote-bare', bar: 0.75 },
  { id: 'paid-stock', title: 'Fastify with the x402 packages', peer: null, bar: null },
  { id: 'paid-memory', title: 'perpscope, paid, ledger in memory', peer: 'paid-stock', bar: null },
  { id: 'paid-ours', title: 'perpscope, paid, ledger on disk', peer: 'paid-stock', bar: 2.5 },
] as const

type Candidate = (typeof candidates)[number]['id']

const PATH = '/pulse/BTC'
const PRICE = pulseLike.priceUsdcAtomic
const PAY_TO = '0x00000000000000000000000000000000000000A1'
const GAS_KEY = `0x${'11'.repeat(32)}` as const
const CONNECTIONS = 16
const SERVER_CORE = '0'
const LOAD_CORE = '1'
const ANSWER_BYTES = 3_000
const TRANSACTION = `0x${'ab'.repeat(32)}`

const fullMode = { rounds: 4, quotes: 20_000, paid: 1_000, warmUpRounds: 1 }
const quickMode = { rounds: 1, quotes: 300, paid: 20, warmUpRounds: 0 }
const blockTimes = [
  { blockMs: 200, calls: 24 },
  { blockMs: 2_000, calls: 8 },
]

/** A facilitator that accepts every payment immediately, so that only our own code is measured. */
const stubbed: Facilitator<ExactEvmPayment> = {
  verify: async () => ({ kind: 'valid' }),
  settle: async () => ({ kind: 'settled', transaction: TRANSACTION }),
  outcome: async () => ({ kind: 'unused', asOfSeconds: 0 }),
}

type Report =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'cpu'; readonly microseconds: number }

const mode = process.argv[2]
const served = candidates.find(({ id }) => `serve-${id}` === mode)
if (served === undefined) await measure(mode === '--quick')
else await serve(served.id)

async function measure(isQuick: boolean): Promise<void> {
  const isPinned = spawnSync('taskset', ['-cp', LOAD_CORE, String(process.pid)]).status === 0
  if (!isPinned) console.log('taskset is missing or there is one core: nothing is pinned')
  console.log(`signatures are checked by: ${keyRecovery.name}`)
  await measureServers(isQuick ? quickMode : fullMode, isPinned, isQuick)
  await measureLatency(isQuick ? [{ blockMs: 50, calls: 2 }] : blockTimes, isQuick)
  await measureVouchers(isQuick)
}

type Server = {
  readonly id: Candidate
  readonly child: ChildProcess
  readonly url: string
  readonly cpuMicroseconds: number[]
}

async function measureServers(
  { rounds, quotes, paid, warmUpRounds }: typeof fullMode,
  isPinned: boolean,
  isQuick: boolean,
): Promise<void> {
  const servers = await Promise.all(candidates.map(({ id }) => start(id, isPinned)))
  try {
    const [bare, ours] = await Promise.all(servers.slice(0, 2).map(({ url }) => quoteDigest(url)))
    assert.equal(ours, bare, 'both quotes are the same, headers and all')
    console.log(`sha256 of the quote, ages left out: ${ours}`)
    for (let round = -warmUpRounds; round < rounds; round += 1) {
      for (const server of servers) {
        const amount = server.id.startsWith('quote') ? quotes : paid
        const headers = server.id.startsWith('paid') ? await paymentHeaders(paid) : []
        const before = await cpuMicroseconds(server.child)
        await (headers.length === 0
          ? loadQuotes(server.url, amount)
          : loadPaid(server.url, headers))
        const after = await cpuMicroseconds(server.child)
        if (round >= 0) server.cpuMicroseconds.push((after - before) / amount)
      }
      process.stderr.write(`round ${round + warmUpRounds + 1} of ${rounds + warmUpRounds}\n`)
    }
  } finally {
    for (const { child } of servers) child.kill()
  }
  if (isQuick)
    console.log('quick: quotes agree and all payments were accepted; nothing was measured')
  else reportServers(servers)
}

async function start(id: Candidate, isPinned: boolean): Promise<Server> {
  const execArgv = ['-c', SERVER_CORE, process.execPath, ...process.execArgv]
  const options = isPinned ? { execPath: 'taskset', execArgv } : {}
  const child = fork(import.meta.filename, [`serve-${id}`], options)
  const report = await reply(child)
  assert(report.kind === 'listening', 'a server says first where it listens')
  return { id, child, url: `http://127.0.0.1:${report.port}`, cpuMicroseconds: [] }
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

async function loadQuotes(url: string, amount: number): Promise<void> {
  const result = await autocannon({ url: url + PATH, amount, connections: CONNECTIONS })
  assert.equal(result['4xx'], amount, `every request is quoted: ${url}`)
}

/** One payment per new buyer, so that no server can answer from a cache. */
async function paymentHeaders(count: number): Promise<string[]> {
  const nowMs = systemClock.nowMs()
  return Promise.all(
    Array.from({ length: count }, async () =>
      encodedPayment(await signedPayload(newBuyer(), { amount: PRICE, payTo: PAY_TO, nowMs })),
    ),
  )
}

async function loadPaid(url: string, headers: readonly string[]): Promise<void> {
  const pool = new Pool(url, { connections: CONNECTIONS })
  const waiting = [...headers]
  const worker = async () => {
    for (let header = waiting.pop(); header !== undefined; header = waiting.pop()) {
      const answer = await pool.request({
        path: PATH,
        method: 'GET',
        headers: { 'payment-signature': header },
      })
      const body = await answer.body.text()
      assert.equal(answer.statusCode, 200, `every payment is taken: ${url} ${body}`)
      assert.equal(body.length, ANSWER_BYTES)
      assert(answer.headers['payment-response'] !== undefined, 'with a receipt')
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  await pool.close()
}

async function quoteDigest(url: string): Promise<string> {
  const response = await fetch(url + PATH)
  assert.equal(response.status, 402)
  const names = [...response.headers.keys()].filter((name) => name !== 'date')
  const body = await response.text()
  const ageless = JSON.stringify([names, body]).replace(/\d+/g, '0')
  return createHash('sha256').update(ageless).digest('hex')
}

function reportServers(servers: readonly Server[]): void {
  const cost = (id: Candidate) =>
    median(servers.find((server) => server.id === id)?.cpuMicroseconds ?? [])
  const head = ['server', 'CPU µs/request', 'requests a CPU second', 'times the peer', 'bar']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const { id, title, peer, bar } of candidates) {
    const ratio = peer === null ? null : cost(peer) / cost(id)
    const isMissed = ratio !== null && bar !== null && ratio < bar
    if (isMissed) process.exitCode = 1
    table.push([
      title,
      cost(id).toFixed(1),
      Math.round(1e6 / cost(id)),
      ratio === null ? '' : ratio.toFixed(2),
      bar === null ? '' : `>= ${bar} ${isMissed ? 'MISSED' : 'met'}`,
    ])
  }
  console.log(table.toString())
}

type Buying = { readonly title: string; readonly url: string; readonly tookMs: number[] }

/** Time from request to answer of sequential calls, on a chain with periodic blocks. */
async function measureLatency(
  plans: readonly { readonly blockMs: number; readonly calls: number }[],
  isQuick: boolean,
): Promise<void> {
  const head = ['blocks', 'server', 'p50 ms', 'p90 ms', 'of calls']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const { blockMs, calls } of plans) {
    for (const { title, tookMs } of await buyOnChain(blockMs, calls)) {
      const cells = [quantile(tookMs, 0.5), quantile(tookMs, 0.9)].map((ms) => ms.toFixed(0))
      table.push([`${blockMs} ms`, title, ...cells, tookMs.length])
    }
  }
  if (isQuick) console.log('quick: all calls were paid on a chain')
  else console.log(table.toString())
}

async function buyOnChain(blockMs: number, calls: number): Promise<readonly Buying[]> {
  const chain = await startEvmChain({ clock: systemClock })
  const { rpcUrl, accounts } = chain
  const { facilitator, merchant, buyer } = accounts
  const node = createTestClient({ mode: 'anvil', chain: baseChain, transport: http(rpcUrl) })
  await node.setAutomine(false)
  let mining: Promise<unknown> = Promise.resolve()
  const stopMining = systemClock.every(blockMs, () => {
    mining = mining.then(() => node.mine({ blocks: 1 }))
  })
  // Two accounts, so that the servers do not share nonces.
  const ours = paidServer(
    localFacilitator({
      network: base,
      rpcUrl,
      privateKey: facilitator.privateKey,
      clock: systemClock,
    }),
  )
  const stock = await stockHost({
    payTo: PAY_TO,
    path: PATH,
    priceUsdcAtomic: PRICE,
    body: answerBody(),
    facilitator: stockFacilitator(rpcUrl, privateKeyToAccount(merchant.privateKey)),
  })
  const address = { host: '127.0.0.1', port: 0 }
  const buyings: Buying[] = [
    { title: 'perpscope, confirmed', url: await ours.app.listen(address), tookMs: [] },
    { title: 'Fastify with the x402 packages', url: await stock.listen(address), tookMs: [] },
  ]
  try {
    const account = privateKeyToAccount(buyer.privateKey)
    // The first call of each opens connections and requests fees, and is not counted.
    for (let call = -1; call < calls; call += 1) {
      for (const { url, tookMs } of buyings) {
        const nowMs = systemClock.nowMs()
        // Blocks in quick succession move the chain's clock ahead of ours.
        const validBeforeSeconds = BigInt(Math.floor(nowMs / 1_000)) + 3_600n
        const choices = { amount: PRICE, payTo: PAY_TO, nowMs, validBeforeSeconds } as const
        const header = encodedPayment(await signedPayload(account, choices))
        const before = performance.now()
        const answer = await fetch(url + PATH, { headers: { 'payment-signature': header } })
        const body = await answer.text()
        if (call >= 0) tookMs.push(performance.now() - before)
        assert.equal(answer.status, 200, body)
      }
    }
    const paid = await chain.balanceOf(PAY_TO)
    assert.equal(paid, PRICE * BigInt(2 * (calls + 1)), 'every call was paid, and paid once')
  } finally {
    stopMining()
    await mining
    await Promise.all([ours.close(), stock.close()])
    await chain.close()
  }
  return buyings
}

async function measureVouchers(isQuick: boolean): Promise<void> {
  const tookMs = await voucherCalls(isQuick ? 20 : 1_000)
  const [p50, p90] = [quantile(tookMs, 0.5), quantile(tookMs, 0.9)].map((ms) => ms.toFixed(1))
  console.log(
    isQuick
      ? 'quick: all vouchers were taken, and claimed to the last millionth'
      : `perpscope, by voucher: p50 ${p50} ms, p90 ${p90} ms of ${tookMs.length} calls`,
  )
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN
}

/** Runs in the child: one server, until the parent ends it. */
async function serve(id: Candidate): Promise<void> {
  const url = await (await serverOf(id)).listen({ host: '127.0.0.1', port: 0 })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    tell({ kind: 'cpu', microseconds: user + system })
  })
  process.on('disconnect', () => process.exit())
  tell({ kind: 'listening', port: Number(new URL(url).port) })
}

function tell(report: Report): void {
  process.send?.(report)
}

async function serverOf(id: Candidate) {
  switch (id) {
    case 'quote-ours':
      return gateway()
    case 'quote-bare':
      return sameQuote()
    case 'paid-ours':
      return paidServer(stubbed).app
    case 'paid-memory':
      return paidServer(stubbed, ':memory:').app
    case 'paid-stock':
      return stockHost({
        payTo: PAY_TO,
        path: PATH,
        priceUsdcAtomic: PRICE,
        body: answerBody(),
        facilitator: stubbedStockFacilitator(privateKeyToAccount(GAS_KEY)),
      })
    default:
      return id satisfies never
  }
}

function answerBody(): Buffer {
  const filling = 'x'.repeat(ANSWER_BYTES - JSON.stringify({ answer: '' }).length)
  return Buffer.from(JSON.stringify({ answer: filling }))
}

/** A paid route with its ledger on disk, as in production, or in memory. */
function paidServer(facilitator: Facilitator<ExactEvmPayment>, ledgerPath?: ':memory:') {
  const directory = mkdtempSync(join(tmpdir(), 'perpscope-bench-'))
  const ledger = new SqliteLedger(ledgerPath ?? join(directory, 'ledger.db'), (task) =>
    setImmediate(task),
  )
  const app = Fastify()
  void app.register(payments, paymentOptions(ledger, facilitator))
  const body = answerBody()
  void app.register((routes, _options, done) => {
    const config = { x402: { priceUsdcAtomic: PRICE, description: 'pulse' } }
    routes.get(PATH, { config }, (_request, reply) =>
      reply.header('content-type', 'application/json; charset=utf-8').send(body),
    )
    done()
  })
  const remove = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  const close = async () => {
    await app.close()
    await ledger.close()
  }
  return { app, close }
}

function paymentOptions(ledger: SqliteLedger, facilitator: Facilitator<ExactEvmPayment>) {
  return {
    methods: [exactEvm({ network: base, payTo: PAY_TO, facilitator })],
    ledger,
    clock: systemClock,
    newSecret: quoteSecrets(),
    publicUrl: 'https://api.example.com',
    limits: {
      paidCallsPerWalletPerMinute: 1e9,
      failedPaymentsPerAddressPerMinute: 1e9,
      repeatedPaymentsPerAddressPerMinute: 1e9,
      identicalFailuresPerMinute: 1e9,
      unverifiedPaymentsPerAddressPerMinute: 1e9,
      unverifiedPaymentsPerSecond: 1e9,
    },
  }
}

/** Our gateway with an engine that re-renders every second, as the real one does. */
function gateway() {
  const clock = steadySystemClock()
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
  const options = paymentOptions(new SqliteLedger(':memory:'), stubbed)
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
    payment: async (paid) => {
      await paid.register(payments, options)
    },
    quoteLimit: quoteLimit(1e9),
    logger: null,
    accessLog: false,
    discovery: { publicUrl: options.publicUrl, waysToPay: [] },
  })
}

/** Bare Fastify that sends exactly the bytes of our gateway's 402. */
async function sameQuote() {
  const ours = gateway()
  const { headers, rawPayload } = await ours.inject(PATH)
  await ours.close()
  const own = new Set(['content-length', 'date', 'connection', 'keep-alive'])
  const same = Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !own.has(name))
      .map(([name, value]) => [name, String(value)]),
  )
  const app = Fastify()
  app.get(PATH, (_request, reply) => {
    void reply.code(402).headers(same).send(rawPayload)
  })
  return app
}
